import CPlatform
import CorestoneValues
import Synchronization

/// Who observes which objects of one context. On the context's queue, but for `mayTakeOut`.
///
/// What is observed is retained: a row that nobody else holds must not end and come back as another object, unobserved.
final class ObjectObservers: @unchecked Sendable {
    private var links: [ObjectIdentifier: ObserverLinks] = [:]
    /// Operations on both sides of a relationship that run, one within the other: what they change is told at their end, when
    /// both sides agree.
    private var operations = 0
    private var waiting: [(observer: ObjectObserver, change: ValueChange)] = []
    /// Where an operation gave objects other values at once.
    private var replaced: [ObserverLink] = []
    /// How many of those that wait were told.
    private var told = 0
    /// Whether an observer is looking at a relationship that is about to change.
    private(set) var isTellingPrior = false
    /// Objects that must outlive what observers do while their change runs; let go of at the next one.
    private var held: [ManagedObject] = []
    private var telling = 0
    /// Whether an observer is being told of a change.
    var isTelling: Bool { telling > 0 }

    /// Where the number of the context's thread stands; nil when the context ended.
    private let owner: Locked<UnsafeMutablePointer<UInt64>?>
    /// Somebody cancelled on another thread.
    private let hasCancelled = Atomic(false)

    init(_ owner: UnsafeMutablePointer<UInt64>) { self.owner = Locked(owner) }

    /// The context ends.
    func end() { owner.withLock { $0 = nil } }

    /// Whether the calling thread may take an observer out of the list; else that is put off.
    func mayTakeOut() -> Bool {
        if owner.withLock({ $0.map { platform_is_owner($0) } ?? false }) { return true }
        hasCancelled.store(true, ordering: .relaxed)
        return false
    }

    /// Takes out those that were cancelled on other threads.
    func sweep() {
        if telling == 0, operations == 0, !held.isEmpty { held = [] }
        guard hasCancelled.exchange(false, ordering: .relaxed) else { return }
        for links in links.values {
            for case let link? in links.all where link.observer.isCancelled { link.observer.cut(from: 0) }
        }
    }

    // MARK: Links

    func add(_ link: ObserverLink) {
        links[ObjectIdentifier(link.object), default: ObserverLinks()].append(link)
        link.object.state.insert(.observed)
    }

    func remove(_ link: ObserverLink) {
        let place = ObjectIdentifier(link.object)
        links[place]?.remove(link)
        if links[place]?.isEmpty == true {
            links[place] = nil
            link.object.endObservation()
        }
    }

    func isObserved(_ object: ManagedObject) -> Bool { links[ObjectIdentifier(object)] != nil }

    /// In the order in which they came; nil stands for one that went.
    func links(of object: ManagedObject) -> [ObserverLink?] { links[ObjectIdentifier(object)]?.all ?? [] }

    /// The object leaves the context: paths that lead through it end before it.
    func forget(_ object: ManagedObject) {
        for case let link? in links(of: object) { link.observer.cut(from: link.position) }
    }

    // MARK: Telling

    /// - Parameter object: the one that `body` changes; nil for several.
    func together<Result>(of object: ManagedObject? = nil, _ body: () throws -> Result) throws -> Result {
        guard !isTellingPrior else {
            let refused =
                object.map { "change relationships of \($0.entity.name) \($0.objectID.uri) or refresh it" }
                ?? "change relationships, refresh objects, undo or roll back"
            throw CoreError(
                .invalidArgument,
                "cannot \(refused) in an observer that runs before another change; do so after that change, or observe without "
                    + "CST_OBSERVE_PRIOR (prior)", entity: object?.entity.name, objectURI: object?.objectID.uri)
        }
        operations += 1
        defer { endOperation() }
        return try body()
    }

    private func endOperation() {
        if operations == 1 { compareReplaced() }
        operations -= 1
        if operations == 0 { tellWaiting() }
    }

    /// Runs what gives objects other values at once. They are compared with the former ones when the operation ends that runs: until
    /// then there may be more to come, and to read members would be too early.
    /// - Parameter slot: of the property that gets them; nil for all.
    func replacing<Result>(
        _ slot: Int? = nil, of objects: [ManagedObject], _ body: () throws -> Result
    ) rethrows -> Result {
        for case let link? in objects.flatMap(links(of:)) where slot.map(link.slots.contains) ?? true {
            link.observer.willReplace(link)
            replaced.append(link)
        }
        operations += 1
        defer { endOperation() }
        return try body()
    }

    private func compareReplaced() {
        while !replaced.isEmpty {
            // From the beginning of each path: where it leads elsewhere, its former links are no longer part of it.
            let links = replaced.sorted { $0.position < $1.position }
            replaced = []
            for link in links { link.observer.didChange(link, ifDifferent: true) }
        }
    }

    private func tellWaiting() {
        while operations == 0, told < waiting.count {
            let next = waiting[told]
            told += 1
            if told == waiting.count { (waiting, told) = ([], 0) }
            tellNow(next.change, next.observer)
        }
    }

    /// Tells of a change of `object`: at once, or when the operation that it is part of ends.
    func tell(_ change: ValueChange, of object: ManagedObject, to observer: ObjectObserver) {
        held.append(object)
        if change.isPrior {
            let outer = isTellingPrior
            isTellingPrior = isTellingPrior || operations > 0
            // Both sides are at hand to the operation, whatever the observer does to the context.
            if isTellingPrior, let context = object.context { held += context.everyObject }
            tellNow(change, observer)
            isTellingPrior = outer
        } else if operations > 0 {
            waiting.append((observer, change))
        } else {
            tellNow(change, observer)
        }
    }

    private func tellNow(_ change: ValueChange, _ observer: ObjectObserver) {
        telling += 1
        observer.tell(change)
        telling -= 1
    }
}
