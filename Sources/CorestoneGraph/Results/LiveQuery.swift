import CorestoneModel
import CorestoneValues
import Synchronization

/// A live query: the tracked results of a request, whose differences are passed to a handler.
final class LiveQuery: ResultsClient, Observer, @unchecked Sendable {
    typealias Handler = (Context, ResultsDifference, [ManagedObject]) -> Void

    private let state = ObserverState()
    /// The function to be called; nil after the observation ended.
    private let handler: Locked<Handler?>
    private let ended: (@Sendable () -> Void)?
    /// The tracker, set before the query is shared.
    private var tracker: ResultsTracker?

    init(_ handler: @escaping Handler, ended: (@Sendable () -> Void)?) {
        (self.handler, self.ended) = (Locked(handler), ended)
    }

    func begin(_ tracker: ResultsTracker) throws {
        self.tracker = tracker
        try tracker.fetch()
        tracker.begin(ended: { [weak self] in self?.end() })
        try tracker.notifying { try notifyOfAll(tracker, isReset: false) }
    }

    private func notifyOfAll(_ tracker: ResultsTracker, isReset: Bool) throws {
        guard let snapshot = tracker.snapshot else { return }
        let difference = ResultsDifference(inserting: snapshot, isReset: isReset)
        notify(difference, try snapshot.rows.all.map { try tracker.object(of: $0) })
    }

    private func notify(_ difference: ResultsDifference, _ objects: [ManagedObject]) {
        guard let tracker, !state.isCancelled, let handler = handler.withLock({ $0 }) else { return }
        handler(tracker.context, difference, objects)
    }

    /// Ends the observation when the context is closed or deallocated, or tracking failed.
    private func end() {
        ended?()
        handler.releaseHandler()
    }

    var observesRenames: Bool { true }

    func resultsWillChange() {}

    func resultsDidNotChange() {}

    func resultsDidChange(_ difference: ResultsDifference, objects: [ManagedObject]) { notify(difference, objects) }

    func resultsWereLost(_ error: CoreError?) {
        guard let tracker else { return }
        var failure = error
        if failure == nil {
            do {
                try tracker.fetch()
                return try notifyOfAll(tracker, isReset: true)
            } catch { failure = error as? CoreError ?? CoreError(.callback, "\(error)") }
        }
        notify(ResultsDifference(inserting: ResultsSnapshot(), isReset: true, error: failure), [])
        if state.cancel() {
            tracker.cancel()
            end()
        }
    }

    func cancel() {
        guard state.cancel() else { return }
        tracker?.cancel()
        handler.releaseHandler()
    }
}

extension Context {
    /// Calls `handler` with the results of a request, and then with each difference.
    ///
    /// The results are reported as insertions before this function returns. Afterwards, differences are reported on the
    /// context's queue whenever pending changes were processed, until the token is cancelled or released. Saves, merges
    /// and refreshes of this context are included.
    ///
    /// The handler receives the objects of the difference's changes, in the same order. It may use the context without
    /// restrictions and is not called recursively: changes that it causes are reported afterwards. After a reset, the
    /// results are fetched again and reported as insertions with `isReset`. If tracking fails, the last difference
    /// contains the error.
    ///
    /// The token does not retain the context or its objects.
    ///
    /// - Parameters:
    ///   - request: The fetch request, which is copied. Without sort descriptors, objects are in the order of their
    ///     IDs.
    ///   - sections: The source of the section names; nil for a single section.
    ///   - dependencies: The key paths of related objects whose changes are updates of the request's objects that refer
    ///     to them.
    ///   - ended: Called once, on any thread, if the context is closed or deallocated before the token is cancelled or
    ///     released, or if tracking fails.
    /// - Throws: Errors of the fetch.
    ///   `.invalidArgument` for invalid dependency paths.
    public func observe(
        _ request: FetchRequest, sections: SectionNaming? = nil, dependencies: [String] = [],
        ended: (@Sendable () -> Void)? = nil,
        _ handler: @escaping (Context, ResultsDifference, [ManagedObject]) -> Void
    ) throws -> Observation {
        try checkQueue()
        let query = LiveQuery(handler, ended: ended)
        let tracker = try ResultsTracker(
            request, sections, dependencies: dependencies, in: self, holdsObjects: false, client: query)
        let token = Observation(query)
        try query.begin(tracker)
        return token
    }
}
