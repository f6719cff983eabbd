/// Runs what it is given on a thread of its own, one after the other, in order. The thread ends when it has been idle for a while.
package final class WorkQueue: Sendable {
    private let queue = SerialQueue(ContextLabel(origin: nil))

    package init() {}

    /// - Throws: `.noMemory` when the system gives no thread.
    package func run(_ work: @escaping @Sendable () -> Void) throws { try queue.enqueue(work) }
}
