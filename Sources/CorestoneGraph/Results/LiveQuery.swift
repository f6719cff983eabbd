import CorestoneModel
import CorestoneValues
import Synchronization

/// The results of a request that somebody watches.
final class LiveQuery: ResultsClient, Observer, @unchecked Sendable {
    typealias Handler = (Context, ResultsDifference, [ManagedObject]) -> Void

    private let state = ObserverState()
    /// nil after its last call.
    private let handler: Locked<Handler?>
    private let ended: (@Sendable () -> Void)?
    /// Set before anybody else knows the query.
    private var tracker: ResultsTracker?

    init(_ handler: @escaping Handler, ended: (@Sendable () -> Void)?) {
        (self.handler, self.ended) = (Locked(handler), ended)
    }

    func begin(_ tracker: ResultsTracker) throws {
        self.tracker = tracker
        try tracker.fetch()
        tracker.begin(ended: { [weak self] in self?.end() })
        try tracker.telling { try tellAll(tracker, isReset: false) }
    }

    private func tellAll(_ tracker: ResultsTracker, isReset: Bool) throws {
        guard let snapshot = tracker.snapshot else { return }
        let difference = ResultsDifference(inserting: snapshot, isReset: isReset)
        tell(difference, try snapshot.rows.all.map { try tracker.object(of: $0) })
    }

    private func tell(_ difference: ResultsDifference, _ objects: [ManagedObject]) {
        guard let tracker, !state.isCancelled, let handler = handler.withLock({ $0 }) else { return }
        handler(tracker.context, difference, objects)
    }

    /// The context ends.
    private func end() {
        ended?()
        handler.letGo()
    }

    var hearsRenames: Bool { true }

    func resultsWillChange() {}

    func resultsDidNotChange() {}

    func resultsDidChange(_ difference: ResultsDifference, objects: [ManagedObject]) { tell(difference, objects) }

    func resultsWereLost(_ error: CoreError?) {
        guard let tracker else { return }
        var failure = error
        if failure == nil {
            do {
                try tracker.fetch()
                return try tellAll(tracker, isReset: true)
            } catch { failure = error as? CoreError ?? CoreError(.callback, "\(error)") }
        }
        tell(ResultsDifference(inserting: ResultsSnapshot(), isReset: true, error: failure), [])
        if state.cancel() {
            tracker.cancel()
            end()
        }
    }

    func cancel() {
        guard state.cancel() else { return }
        tracker?.cancel()
        handler.letGo()
    }
}

extension Context {
    /// Calls `handler` with what a request finds, as insertions into nothing, before this returns, and from then on with each
    /// difference that an event makes, on the context's queue, until the token is cancelled or ends. What this context saves,
    /// merges and refreshes counts as well as what it changes.
    ///
    /// The handler gets the objects of the difference's changes, in the same order; it may use the context at will, and is not called
    /// within itself: what it causes is told afterwards. After a reset all is fetched again, and told as insertions with `isReset`.
    /// Where fetching fails, the last difference has the error.
    ///
    /// The token does not keep the context, nor the context's objects.
    /// - Parameters:
    ///   - request: what it is now counts. Without sort descriptors, objects come in the order of their IDs.
    ///   - sections: what gives the objects sections, if anything.
    ///   - dependencies: key paths to objects whose changes are updates of the request's objects that lead to them.
    ///   - ended: called once when the context ends before the token, or fetching failed, on any thread.
    /// - Throws: what fetching throws; `.invalidArgument` for paths that lead nowhere.
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
