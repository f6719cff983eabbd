import Corestone

/// Reads what objects have for fields, and notes what of it cannot be read: a value whose file is missing, say, as in a store
/// that was copied without the folder beside it. The rest of the objects is worth printing all the same.
final class FieldReader {
    /// Whether archives in transformable attributes are given as what they hold.
    private let decodesArchives: Bool
    /// By entity and property, the first error.
    private var failures: [(property: String, error: CoreError)] = []

    init(decodesArchives: Bool) { self.decodesArchives = decodesArchives }

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
        guard object.hasProperty(name) else { return .nothing }
        do {
            let value = try object.committedValue(name)
            if value.isNull { return .nothing }
            return .value(decoded(value, object.objectID.entity.property(named: name)) ?? value)
        } catch let error as CoreError where error.key == name && [.storeIO, .unsupported].contains(error.status) {
            let property = "\(error.entity ?? object.entityName).\(name)"
            if !failures.contains(where: { $0.property == property }) { failures.append((property, error)) }
            return .nothing
        }
    }

    /// The plain data in an archive; nil for any other value, and for an archive that holds more than plain data.
    private func decoded(_ value: PropertyValue, _ property: Property?) -> PropertyValue? {
        guard decodesArchives, case .bytes(let bytes) = value, (property as? Attribute)?.type == .transformable else {
            return nil
        }
        return try? decodeArchive(bytes.array)
    }

    /// Tells what could not be read.
    func finish() throws {
        guard let first = failures.first?.error else { return }
        let list = failures.map(\.property).joined(separator: ", ")
        throw CoreError(
            first.status, "some values of \(list) cannot be read and are printed as null; the first: \(first.message)",
            file: first.file)
    }
}
