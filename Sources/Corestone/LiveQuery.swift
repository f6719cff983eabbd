import CorestoneGraph
import CorestoneValues

/// The differences of a request's results, for another task: they carry IDs, which may leave the context's queue.
///
/// What the reader did not take in time becomes one difference, from what it knows to what there is: it never has more to read
/// than the results themselves, and the context never waits for it.
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
    /// What a request finds, and how that changes, as a sequence for one reader: first insertions into nothing, then what each event
    /// made of it.
    ///
    ///     for await difference in try context.differences(of: request) { … }
    ///
    /// Called on the context's queue. The sequence ends when the context does, when following fails (the last difference has the
    /// error), when the task is cancelled or the iteration is left.
    /// - Parameters: as of `observe`.
    public func differences(
        of request: FetchRequest, sections: SectionNaming? = nil, dependencies: [String] = []
    ) throws -> ResultsDifferences {
        let waiting = DifferenceQueue()
        // One signal is enough for whatever waits.
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
