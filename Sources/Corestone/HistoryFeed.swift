import CorestoneGraph
import CorestoneValues

/// The transactions of a history as a sequence for one reader.
///
/// They are followed by the transactions that any process commits later.
///
/// A transaction is read when the reader requests it, so a slow reader does not delay other readers. Transactions are
/// delivered in order. A reader that stores the last token together with its results can resume after that token, in a
/// new sequence.
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

        /// The position after the last transaction; nil before the first.
        public var token: HistoryToken? { cursor?.token }

        /// Returns the next transaction; nil when the task is cancelled.
        public mutating func next() async throws -> HistoryTransaction? {
            let cursor = try self.cursor ?? start()
            while true {
                if let transaction = try cursor.next() { return transaction }
                guard await signal?.next() != nil else { return nil }
            }
        }

        private mutating func start() throws -> HistoryCursor {
            // One pending signal is enough for any number of transactions.
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
    /// Returns the transactions of a request, followed by those that are committed later, as an asynchronous sequence.
    ///
    /// The sequence throws the errors of `history(_:)`, and `.invalidArgument` for a request with a limit. After the
    /// last transaction of the limit, the sequence would wait forever.
    ///
    ///     for try await transaction in coordinator.historyFeed(HistoryRequest(after: .token(token))) { … }
    public func historyFeed(_ request: HistoryRequest = HistoryRequest()) -> HistoryFeed {
        HistoryFeed(coordinator: self, request: request)
    }
}
