import CPlatform
import CorestoneModel
import CorestoneValues

extension ArrowField {
    private static let nullable: Int64 = 2

    /// Writes the field and its children as a schema of the C data interface.
    ///
    /// - Parameter entity: The entity of the rows, for the metadata.
    func export(to out: UnsafeMutablePointer<platform_arrow_schema>, entity: Entity?) throws {
        let facts = metadata(entity)
        let made = facts.withUnsafeBytes { bytes in
            platform_arrow_make_schema(
                out, type.format(isLarge: isLarge), name, bytes.baseAddress, bytes.count,
                isRequired ? 0 : ArrowField.nullable, Int64(children.count))
        }
        guard made else {
            throw CoreError(
                .noMemory, "out of memory: cannot allocate an Arrow schema; free some memory", entity: entity?.name)
        }
        do {
            for (place, child) in children.enumerated() {
                try child.export(to: out.pointee.children[place]!, entity: entity)
            }
        } catch {
            out.pointee.release(out)
            throw error
        }
    }

    /// Returns the metadata of the field, encoded for the C data interface.
    ///
    /// It consists of the number of pairs, then the size and the bytes of each key and value. Empty without pairs.
    private func metadata(_ entity: Entity?) -> [UInt8] {
        var facts: [(String, String)] = []
        if case .row = source, let entity { facts.append(("corestone.entity", entity.name)) }
        if let property {
            let type = (property as? Attribute)?.type.displayName ?? "Relationship"
            facts += [
                ("corestone.entity", property.entity.name), ("corestone.type", type),
                ("corestone.optional", property.isOptional ? "true" : "false"),
            ]
            if let relationship = property as? Relationship {
                facts.append(("corestone.destination", relationship.destination.name))
            }
        }
        if type == .uuid { facts += [("ARROW:extension:name", "arrow.uuid"), ("ARROW:extension:metadata", "")] }
        if facts.isEmpty { return [] }
        var bytes: [UInt8] = []
        func add(_ number: Int) { withUnsafeBytes(of: Int32(number)) { bytes += $0 } }
        add(facts.count)
        for text in facts.flatMap({ [$0.0, $0.1] }) {
            add(text.utf8.count)
            bytes += text.utf8
        }
        return bytes
    }
}
