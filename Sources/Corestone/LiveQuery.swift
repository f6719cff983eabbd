import CorestoneGraph
import CorestoneValues

/// A sequence of the differences of a request's results, which any task can read.
///
/// The differences contain object IDs, which can be used outside of the context's queue.
///
/// Differences that the reader has not received yet are combined into one, from the reader's last state to the current
/// state. They therefore do not accumulate, and the context never waits for the reader.
public struct ResultsDifferences: AsyncSequence, Sendable {
    public typealias Element = ResultsDifference
    private let waiting: DifferenceQueue
    private let signal: AsyncStream<Void>

    fileprivate init(_ waiting: DifferenceQueue, _ signal: AsyncStream<Void>) {
        (self.waiting, self.signal) = (waiting, signal)
    }

    public func makeAsyncIterator() -> Iterator { Iterator(waiting, signal.makeAsyncIterator()) }

    public struct Iterator: AsyncIteratorProtocol {
        private let waiting: DifferenceQueue
        private var signal: AsyncStream<Void>.AsyncIterator

        fileprivate init(_ waiting: DifferenceQueue, _ signal: AsyncStream<Void>.AsyncIterator) {
            (self.waiting, self.signal) = (waiting, signal)
        }

        public mutating func next() async -> ResultsDifference? {
            while await signal.next() != nil { if let difference = waiting.take() { return difference } }
            return waiting.take()
        }
    }
}

extension Context {
    /// Returns the results of a request and their changes, as a sequence for one reader.
    ///
    /// The first difference inserts all results; each later one describes a change.
    ///
    ///     for await difference in try context.differences(of: request) { … }
    ///
    /// Call it on the context's queue. The sequence ends when the context is closed, when the task that reads it is
    /// cancelled, when the sequence and its iterator are released, or when an update fails. If an update fails, the
    /// last difference has the error.
    ///
    /// - Parameters: As for `observe`.
    public func differences(
        of request: FetchRequest, sections: SectionNaming? = nil, dependencies: [String] = []
    ) throws -> ResultsDifferences {
        let waiting = DifferenceQueue()
        // One pending signal is enough for any number of differences.
        let (signal, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let observation = try observe(
            request, sections: sections, dependencies: dependencies, ended: { continuation.finish() }
        ) { _, difference, _ in
            waiting.append(difference)
            continuation.yield()
        }
        continuation.onTermination = { _ in observation.cancel() }
        return ResultsDifferences(waiting, signal)
    }
}
