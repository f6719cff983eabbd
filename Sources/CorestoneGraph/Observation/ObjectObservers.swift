import CPlatform
import CorestoneValues
import Synchronization

// How a change of a property reaches its observers. Everything runs on the context's queue, except where a step names
// another thread. No lock is held while a handler runs.
//
// 1. `ManagedObject.observe` creates an `ObjectObserver` and its token. `ObjectObserver.begin` checks the key path and
//    adds an `ObserverLink` for each object on the path (`add`), which sets the flag `.observed` of the object. If
//    `begin` throws, the release of the token removes the links that were added.
// 2. Code that writes a property tests the flag. If the flag is set, the code calls `willChangeObserved` before the
//    write and `didChangeObserved` after it. An object without observers costs this one test.
// 3. `ObjectObserver.willChange` records the former value in the link. With `ObservationOptions.prior`, it notifies the
//    handler immediately. Nested changes of one link (`ObserverLink.depth`) count as one change.
// 4. `ObjectObserver.didChange` creates a `ValueChange` from the former and the new value. For values that were not set
//    individually, and for added and removed members, it does so only if they differ. If a target on the path has
//    changed, `relink` replaces the links after it. A value that cannot be read counts as null.
// 5. `together` surrounds an operation, for example a change of both sides of a relationship. `replacing` does so for
//    values that are replaced without being set, for example by a merge, and lists the links in `replaced`.
// 6. `notify(_:of:to:)` receives the `ValueChange`. Within an operation it appends the change to `pending`, otherwise
//    it notifies the handler. A prior notification never waits. While one runs within an operation, `together` throws
//    `.invalidArgument`, because the two sides of a relationship may differ.
// 7. `endOperation` ends an operation, even if its body threw. The outermost one first compares the replaced values
//    (`compareReplaced`, in path order), then notifies the handlers of all waiting changes in their order
//    (`notifyPending`). If a handler runs an operation, the end of that operation continues the list.
// 8. `notifyNow` calls the handler through `ObserverState.notify`, unless the observer is cancelled or already runs 8
//    times recursively. Handlers cannot throw. `isNotifying` makes `Context.unlock` fail in the meantime.
// 9. The changed objects stay in `held` until `sweep` runs outside notifications and operations: before the next change
//    of an observed object, or when pending changes are processed.
// 10. `ObjectObserver.cancel` may run on any thread. `mayRemoveObservers` compares the thread with the context's owner,
//     under the lock of `owner`. On another thread, the observer is only marked, and the next `sweep` removes its
//     links.
// 11. `forget` removes the links to an object that leaves the context, and the links after them. `end` clears `owner`
//     when the context is deallocated.
//
// The notifications of a context itself do not use these links. `Context.endEvent` posts `objectsDidChange`, and
// `SavePipeline` posts `willSave` and `didSave`, through `Context.post`.

/// The observers of the objects of one context. Used on the context's queue, except for `mayRemoveObservers` and `end`.
///
/// Observed objects are retained. Otherwise an unreferenced object could be deallocated, and a new object of its row
/// would not be observed.
final class ObjectObservers: @unchecked Sendable {
    private var links: [ObjectIdentifier: ObserverLinks] = [:]
    /// The nesting depth of operations, for example changes of both sides of a relationship.
    ///
    /// Changes are reported after the outermost operation, when both sides are consistent.
    private var operations = 0
    private var pending: [(observer: ObjectObserver, change: ValueChange)] = []
    /// The links whose values an operation replaced.
    private var replaced: [ObserverLink] = []
    /// The number of elements of `pending` that were already reported.
    private var notifiedCount = 0
    /// Whether a prior notification is running within an operation.
    private(set) var isNotifyingPrior = false
    /// The objects that are retained while observers are notified of their changes; released by the next `sweep`.
    private var held: [ManagedObject] = []
    private var notificationDepth = 0
    /// Whether an observer is being notified.
    var isNotifying: Bool { notificationDepth > 0 }

    /// The pointer to the context's owner thread ID; nil after the context was deallocated.
    private let owner: Locked<UnsafeMutablePointer<UInt64>?>
    /// Whether an observation was cancelled on another thread and is not removed yet.
    private let hasCancelled = Atomic(false)

    init(_ owner: UnsafeMutablePointer<UInt64>) { self.owner = Locked(owner) }

    /// Clears the pointer to the owner thread ID, because the context is deallocated.
    func end() { owner.withLock { $0 = nil } }

    /// Whether the calling thread may remove an observer from the list. If not, the removal is deferred.
    func mayRemoveObservers() -> Bool {
        if owner.withLock({ $0.map { platform_is_owner($0) } ?? false }) { return true }
        hasCancelled.store(true, ordering: .relaxed)
        return false
    }

    /// Removes observers that were cancelled on other threads, and releases retained objects.
    func sweep() {
        if notificationDepth == 0, operations == 0, !held.isEmpty { held = [] }
        guard hasCancelled.exchange(false, ordering: .relaxed) else { return }
        for links in links.values {
            for case let link? in links.all where link.observer.isCancelled { link.observer.removeLinks(from: 0) }
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

    /// Returns the links of an object in the order of their addition; nil for a removed one.
    func links(of object: ManagedObject) -> [ObserverLink?] { links[ObjectIdentifier(object)]?.all ?? [] }

    /// Removes the links to an object and the links after them, because the object leaves the context.
    func forget(_ object: ManagedObject) {
        for case let link? in links(of: object) { link.observer.removeLinks(from: link.position) }
    }

    // MARK: Notifying

    /// Runs an operation, then notifies observers.
    ///
    /// - Parameters:
    ///   - purpose: Completes "cannot …", before the object if there is one.
    ///   - object: The object that `body` changes; nil for several objects.
    /// - Throws: `.invalidArgument` within a prior notification of another operation.
    ///   The error of `body`.
    func together<Result>(
        _ purpose: String, of object: ManagedObject? = nil, _ body: () throws -> Result
    ) throws -> Result {
        guard !isNotifyingPrior else {
            let subject = object.map { " \($0.entity.name) \($0.objectID.uri)" } ?? ""
            throw CoreError(
                .invalidArgument,
                "cannot \(purpose)\(subject) in an observer that runs before another change; do so after that change, "
                    + "or observe without CST_OBSERVE_PRIOR (prior)", entity: object?.entity.name,
                objectURI: object?.objectID.uri)
        }
        operations += 1
        defer { endOperation() }
        return try body()
    }

    private func endOperation() {
        if operations == 1 { compareReplaced() }
        operations -= 1
        if operations == 0 { notifyPending() }
    }

    /// Runs `body`, which replaces values of objects.
    ///
    /// The values are compared with the former values when the outermost operation ends. Until then, further changes
    /// may follow, and members must not be read.
    ///
    /// - Parameter slot: The slot of the replaced property; nil for all properties.
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
            // In path order, because the former links after a changed target are no longer part of the path.
            let links = replaced.sorted { $0.position < $1.position }
            replaced = []
            for link in links { link.observer.didChange(link, ifDifferent: true) }
        }
    }

    private func notifyPending() {
        while operations == 0, notifiedCount < pending.count {
            let next = pending[notifiedCount]
            notifiedCount += 1
            if notifiedCount == pending.count { (pending, notifiedCount) = ([], 0) }
            notifyNow(next.change, next.observer)
        }
    }

    /// Reports a change of `object`: immediately, or after the running operation.
    func notify(_ change: ValueChange, of object: ManagedObject, to observer: ObjectObserver) {
        held.append(object)
        if change.isPrior {
            let outer = isNotifyingPrior
            isNotifyingPrior = isNotifyingPrior || operations > 0
            // The operation requires both sides in memory, even if the observer resets the context.
            if isNotifyingPrior, let context = object.context { held += context.everyObject }
            notifyNow(change, observer)
            isNotifyingPrior = outer
        } else if operations > 0 {
            pending.append((observer, change))
        } else {
            notifyNow(change, observer)
        }
    }

    private func notifyNow(_ change: ValueChange, _ observer: ObjectObserver) {
        notificationDepth += 1
        observer.notify(change)
        notificationDepth -= 1
    }
}
