/// Distinct objects in the order of their first appearance.
///
/// A flag on each object marks the objects in the list until `end` clears the flags.
struct DistinctObjects {
    private(set) var list: [ManagedObject] = []

    mutating func insert(_ object: ManagedObject) { insert(Unmanaged.passUnretained(object)) }

    @inline(__always)
    mutating func insert(_ object: Unmanaged<ManagedObject>) {
        if object._withUnsafeGuaranteedRef({ $0.state.insert(.collected).inserted }) {
            list.append(object.takeUnretainedValue())
        }
    }

    func end() { for object in list { object.state.remove(.collected) } }
}
