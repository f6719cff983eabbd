/// The link of an observer to one object on its path.
final class ObserverLink {
    let observer: ObjectObserver
    /// The number of objects that precede `object` on the path.
    let position: Int
    let object: ManagedObject
    /// The slot of the property at this position of the path.
    let slot: Int
    /// The slots whose change is a change of the property: those of the elements for a composite attribute.
    let slots: [Int]
    /// The nesting depth of running changes.
    var depth = 0
    /// The value before the running change.
    var former: FormerValue?
    /// The position among the links of `object`.
    fileprivate var place = 0

    init(_ observer: ObjectObserver, position: Int, object: ManagedObject, slot: Int, slots: [Int]) {
        self.observer = observer
        self.position = position
        self.object = object
        self.slot = slot
        self.slots = slots
    }
}

/// The links of one object, in the order of their addition.
struct ObserverLinks {
    /// The links; nil for a removed one. The list is compacted when more than half are removed.
    private(set) var all: [ObserverLink?] = []
    private var removedCount = 0

    var isEmpty: Bool { all.count == removedCount }

    mutating func append(_ link: ObserverLink) {
        link.place = all.count
        all.append(link)
    }

    mutating func remove(_ link: ObserverLink) {
        guard link.place < all.count, all[link.place] === link else { return }
        all[link.place] = nil
        removedCount += 1
        if removedCount * 2 > all.count { close() }
    }

    private mutating func close() {
        all.removeAll { $0 == nil }
        removedCount = 0
        for (place, link) in all.enumerated() { link?.place = place }
    }
}
