/// Objects, each once, in the order in which they came. Known by a mark on each, which `end` takes away.
struct DistinctObjects {
    private(set) var list: [ManagedObject] = []

    mutating func take(_ object: ManagedObject) { take(Unmanaged.passUnretained(object)) }

    @inline(__always)
    mutating func take(_ object: Unmanaged<ManagedObject>) {
        if object._withUnsafeGuaranteedRef({ $0.state.insert(.collected).inserted }) {
            list.append(object.takeUnretainedValue())
        }
    }

    func end() { for object in list { object.state.remove(.collected) } }
}
