import CCorestone
import CorestoneGraph
import CorestoneModel
import CorestoneValues

extension ManagedObject {
    /// The host's value for a property. An error names the property.
    @inline(__always)
    func given(_ value: cst_value, key: UInt32) throws -> PropertyValue {
        try naming(entity.name, propertyName(key: key)) { try propertyValue(value) }
    }

    /// The same for a key path.
    func given(_ value: cst_value, path: String) throws -> PropertyValue {
        try naming(entity.name, path) { try propertyValue(value) }
    }

    /// Whether a key of the host's is that of a to-one relationship.
    func isToOne(key: UInt32) -> Bool {
        guard let slot = try? slot(of: key) else { return false }
        return entity.layout.slots[slot].role == .toOne
    }

    /// The entity that the relationship of a key leads to.
    func destination(key: UInt32) -> Entity? {
        guard let slot = try? slot(of: key) else { return nil }
        return (entity.properties[slot] as? Relationship)?.destination
    }
}
