/// An observer's place at one object of its path.
final class ObserverLink {
    let observer: ObjectObserver
    /// How many objects of the path come before it.
    let position: Int
    let object: ManagedObject
    /// The property that the path names here.
    let slot: Int
    /// Those whose change is one of the property: more than one for a composite attribute.
    let slots: [Int]
    /// Changes of it that run, one within the other.
    var depth = 0
    /// While one does.
    var former: FormerValue?
    /// Where it stands among the links of its object.
    fileprivate var place = 0

    init(_ observer: ObjectObserver, position: Int, object: ManagedObject, slot: Int, slots: [Int]) {
        self.observer = observer
        self.position = position
        self.object = object
        self.slot = slot
        self.slots = slots
    }
}

/// The links of one object, in the order in which they came.
struct ObserverLinks {
    /// nil stands for one that went: those behind it stay where they are until half of all are gone.
    private(set) var all: [ObserverLink?] = []
    private var gone = 0

    var isEmpty: Bool { all.count == gone }

    mutating func append(_ link: ObserverLink) {
        link.place = all.count
        all.append(link)
    }

    mutating func remove(_ link: ObserverLink) {
        guard link.place < all.count, all[link.place] === link else { return }
        all[link.place] = nil
        gone += 1
        if gone * 2 > all.count { close() }
    }

    private mutating func close() {
        all.removeAll { $0 == nil }
        gone = 0
        for (place, link) in all.enumerated() { link?.place = place }
    }
}
