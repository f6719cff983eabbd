import CPlatform
import CorestoneValues

/// A serial queue whose blocks run on a thread of the pool.
package final class WorkQueue: Sendable {
    private let queue = SerialQueue(ContextLabel(origin: nil, unnamed: "background work"))

    package init() {}

    /// Enqueues a block.
    ///
    /// - Throws: `.noMemory` if no thread can be created.
    package func run(_ work: @escaping @Sendable () -> Void) throws { try queue.enqueue { withCallScope(work) } }

    /// Sleeps within a block. Another worker may run in the meantime.
    package static func sleep(seconds: Double) {
        try? Workers.shared.whileWaiting { platform_sleep(UInt64(max(seconds, 0) * 1e9)) }
    }
}
