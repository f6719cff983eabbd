import CPlatform
import CorestoneValues

/// Runs what it is given on a thread of the pool, one after the other, in order.
package final class WorkQueue: Sendable {
    private let queue = SerialQueue(ContextLabel(origin: nil))

    package init() {}

    /// - Throws: `.noMemory` when the system gives no thread.
    package func run(_ work: @escaping @Sendable () -> Void) throws { try queue.enqueue { asCall(work) } }

    /// Sleeps within such work. Others have the thread's place meanwhile.
    package static func sleep(seconds: Double) {
        try? Workers.shared.whileWaiting { platform_sleep(UInt64(max(seconds, 0) * 1e9)) }
    }
}
