import Corestone

/// A reader of the fields of objects. It records values that cannot be read, so that all other values are printed.
///
/// Examples are a value whose backing file is missing, because the store was copied without its folder, and a value
/// whose type differs from its attribute's type.
final class FieldReader {
    /// Whether archives in transformable attributes are decoded.
    private let decodesArchives: Bool
    /// The first error of each property.
    private var failures: [(property: String, error: CoreError)] = []
    /// The attributes for which null was read.
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

    /// Returns the plain data in an archive, or nil for other values and for archives with other objects.
    private func decoded(_ value: PropertyValue, _ property: Property) -> PropertyValue? {
        guard decodesArchives, case .bytes(let bytes) = value, (property as? Attribute)?.type == .transformable else {
            return nil
        }
        return try? decodeArchive(bytes.array)
    }

    /// Throws an error that lists the properties with values that could not be read, if there are any.
    ///
    /// - Parameter isPrinted: Whether the objects were printed, with nulls for these values.
    func finish(isPrinted: Bool = true) throws {
        let misfits = stores.flatMap(\.attributesReadAsNull).filter { nulls.contains(ObjectIdentifier($0)) }
        let names = failures.map(\.property) + misfits.map { "\($0.entity.name).\($0.path)" }
        if names.isEmpty { return }
        let first = failures.first?.error
        let reason =
            first.map { ": \($0.message)" } ?? "; run \(Tool.name) check \(stores.first?.path ?? "STORE") to list them"
        throw CoreError(
            first?.status ?? .storeCorrupt,
            "cannot read some values of \(names.abridged)"
                + (isPrinted ? ", which are null in JSON and empty in other formats" : "") + reason,
            entity: first?.entity ?? misfits.first?.entity.name, key: first?.key ?? misfits.first?.path,
            value: first?.value, objectURI: first?.objectURI, sqliteCode: first?.sqliteCode ?? 0,
            file: first?.file ?? stores.first?.path)
    }
}
