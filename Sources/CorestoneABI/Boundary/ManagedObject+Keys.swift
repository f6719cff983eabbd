import CorestoneGraph
import CorestoneModel

extension ManagedObject {
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
