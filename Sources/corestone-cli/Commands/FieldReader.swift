import Corestone

/// Reads what objects have for fields, and notes what of it cannot be read: a value whose file is missing, say, as in a store
/// that was copied without the folder beside it, or one of another type than its attribute's. The rest of the objects is still
/// worth printing.
final class FieldReader {
    /// Whether archives in transformable attributes are given as what they hold.
    private let decodesArchives: Bool
    /// By entity and property, the first error.
    private var failures: [(property: String, error: CoreError)] = []
    /// Attributes of which a null was read.
    private var nulls: Set<ObjectIdentifier> = []
    private let stores: [Store]

    init(_ stores: [Store], decodesArchives: Bool) { (self.stores, self.decodesArchives) = (stores, decodesArchives) }

    func value(of field: Field, in object: ManagedObject) throws -> FieldValue {
        switch field {
        case .id: return .target(object.objectID)
        case .entity: return .text(object.entityName)
        case .attribute(let name, _): return try attribute(name, of: object)
        case .toOne(let name):
            guard object.hasProperty(name), let target = ObjectID.from(try object.committedValue(name)) else {
                return .nothing
            }
            return .target(target)
        case .toMany(let name):
            return object.hasProperty(name) ? .members(try object.members(name).map(\.objectID)) : .nothing
        }
    }

    private func attribute(_ name: String, of object: ManagedObject) throws -> FieldValue {
        guard let property = object.objectID.entity.property(named: name) else { return .nothing }
        do {
            let value = try object.committedValue(name)
            if value.isNull {
                nulls.insert(ObjectIdentifier(property))
                return .nothing
            }
            return .value(decoded(value, property) ?? value)
        } catch let error as CoreError where error.key == name && [.storeIO, .unsupported].contains(error.status) {
            let property = "\(error.entity ?? object.entityName).\(name)"
            if !failures.contains(where: { $0.property == property }) { failures.append((property, error)) }
            return .nothing
        }
    }

    /// The plain data in an archive; nil for any other value, and for an archive that holds more than plain data.
    private func decoded(_ value: PropertyValue, _ property: Property) -> PropertyValue? {
        guard decodesArchives, case .bytes(let bytes) = value, (property as? Attribute)?.type == .transformable else {
            return nil
        }
        return try? decodeArchive(bytes.array)
    }

    /// Tells what could not be read.
    func finish() throws {
        let misfits = stores.flatMap(\.attributesReadAsNull).filter { nulls.contains(ObjectIdentifier($0)) }
        let names = failures.map(\.property) + misfits.map { "\($0.entity.name).\($0.path)" }
        if names.isEmpty { return }
        let first = failures.first?.error
        let reason =
            first.map { ": \($0.message)" } ?? "; run \(Tool.name) check \(stores.first?.path ?? "STORE") to list them"
        throw CoreError(
            first?.status ?? .storeCorrupt,
            "cannot read some values of \(names.joined(separator: ", ")), which are null in JSON and empty in other formats"
                + reason,
            entity: first?.entity ?? misfits.first?.entity.name, key: first?.key ?? misfits.first?.path,
            value: first?.value, objectURI: first?.objectURI, file: first?.file ?? stores.first?.path)
    }
}
