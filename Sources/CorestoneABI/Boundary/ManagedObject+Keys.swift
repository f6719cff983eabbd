import CCorestone
import CorestoneGraph
import CorestoneModel
import CorestoneValues

extension ManagedObject {
    /// Reads a value that the host passed for a property. An error names the property.
    @inline(__always)
    func given(_ value: cst_value, key: UInt32) throws -> PropertyValue {
        try naming(entity.name, propertyName(key: key)) {
            try isUndefined(key: key) ? hostValue(value) : propertyValue(value)
        }
    }

    /// Reads a value that the host passed for a key path. An error names the path.
    func given(_ value: cst_value, path: String) throws -> PropertyValue {
        try naming(entity.name, path) {
            // The path may lead to another object, whose attribute may be undefined.
            if value.type >= CST_ARRAY, let (object, key) = try resolve(keyPath: path), object.isUndefined(key: key) {
                return try hostValue(value)
            }
            return try propertyValue(value)
        }
    }

    /// Whether a key from the host belongs to a transient attribute that accepts values of every type.
    @inline(__always)
    func isUndefined(key: UInt32) -> Bool { entity.hasUndefined && hasUndefinedSlot(of: key) }

    @inline(never)
    private func hasUndefinedSlot(of key: UInt32) -> Bool {
        guard let slot = try? slot(of: key), entity.layout.slots[slot].role == .transient else { return false }
        return (entity.properties[slot] as? Attribute)?.type == .undefined
    }

    /// Whether a key from the host belongs to a to-one relationship.
    func isToOne(key: UInt32) -> Bool {
        guard let slot = try? slot(of: key) else { return false }
        return entity.layout.slots[slot].role == .toOne
    }

    /// Returns the destination entity of a relationship by key, or nil for any other key.
    func destination(key: UInt32) -> Entity? {
        guard let slot = try? slot(of: key) else { return nil }
        return (entity.properties[slot] as? Relationship)?.destination
    }
}
