import CorestoneModel
import CorestoneValues

extension ManagedObject {
    /// Sets an attribute or a to-one relationship and nothing else: the object does not count as changed by it, and an inverse
    /// stays as it is. A save writes the value once another change makes the object one to save; a refresh drops it.
    ///
    /// For values that the host derives from others when an object comes in, and for setters of the host's own.
    package func setPrimitive(_ value: PropertyValue, key: UInt32) throws {
        let prepared = try prepare(value, key: key)
        switch entity.layout.slots[prepared.slot].role {
        case .toOne:
            let relationship = entity.relationship(prepared.slot)
            placeTarget(try acceptTarget(prepared.value, relationship), relationship)
        case .composite:
            for (leaf, part) in entity.attribute(prepared.slot).decomposed(prepared.value) {
                overlayForWriting().set(part, Int(leaf.slot))
            }
        default: overlayForWriting().set(prepared.value, prepared.slot)
        }
    }
}
