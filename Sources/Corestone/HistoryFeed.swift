import CorestoneGraph
import CorestoneValues

/// The transactions of a history, and then those that any process commits, as a sequence for one reader.
///
/// A transaction is read when the reader asks for it, so a slow reader holds up no other. Each comes at least once and in order; a
/// reader that keeps the token of the last one with what it made of it goes on from there.
public struct HistoryFeed: AsyncSequence, Sendable {
    public typealias Element = HistoryTransaction
    fileprivate let coordinator: Coordinator
    fileprivate let request: HistoryRequest

    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    public struct Iterator: AsyncIteratorProtocol {
        private let feed: HistoryFeed
        private var cursor: HistoryCursor?
        private var signal: AsyncStream<Void>.AsyncIterator?
        private var observation: Observation?

        fileprivate init(_ feed: HistoryFeed) { self.feed = feed }

        /// The place after the last transaction; nil before the first.
        public var token: HistoryToken? { cursor?.token }

        /// Ends when the task is cancelled.
        public mutating func next() async throws -> HistoryTransaction? {
            let cursor = try self.cursor ?? start()
            while true {
                if let transaction = try cursor.next() { return transaction }
                guard await signal?.next() != nil else { return nil }
            }
        }

        private mutating func start() throws -> HistoryCursor {
            // One signal is enough for whatever waits.
            let (signal, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            observation = feed.coordinator.watchHistory { continuation.yield() }
            self.signal = signal.makeAsyncIterator()
            let cursor = try feed.coordinator.history(feed.request)
            try cursor.requireFollowable()
            self.cursor = cursor
            return cursor
        }
    }
}

extension Coordinator {
    /// The transactions of a request, and those that are committed later, as an asynchronous sequence.
    ///
    /// The sequence throws what `history(_:)` throws, and `.invalidArgument` for a request with a limit: it would wait after the
    /// last transaction of the limit.
    ///
    ///     for try await transaction in coordinator.historyFeed(HistoryRequest(after: .token(token))) { … }
    public func historyFeed(_ request: HistoryRequest = HistoryRequest()) -> HistoryFeed {
        HistoryFeed(coordinator: self, request: request)
    }
}
