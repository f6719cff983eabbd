import CorestoneGraph
import CorestoneValues
import Glibc

/// Calls somebody when nothing was started anew for a while. There is a thread only while something is due.
final class AutosaveTimer: Sendable {
    private struct Due {
        var time = 0.0
        var work: (@Sendable () -> Void)?
        var isRunning = false
    }

    private let due = Locked(Due())
    private let queue = WorkQueue()
    /// How often the thread looks whether it is time, or nobody waits any more.
    private static let step = 0.05

    /// What was started before is put off.
    ///
    /// - Throws: `.noMemory` when the system gives no thread; nothing is due then.
    func start(after seconds: Double, _ work: @escaping @Sendable () -> Void) throws {
        let mustRun = due.withLock { due in
            (due.time, due.work) = (AutosaveTimer.now + seconds, work)
            defer { due.isRunning = true }
            return !due.isRunning
        }
        guard mustRun else { return }
        do { try queue.run { [weak self] in while self?.wait() == true {} } } catch {
            due.withLock { ($0.work, $0.isRunning) = (nil, false) }
            throw error
        }
    }

    func cancel() { due.withLock { $0.work = nil } }

    /// Whether to wait on.
    private func wait() -> Bool {
        let left = due.withLock { due -> Double in
            if due.work == nil { due.isRunning = false }
            return due.work == nil ? -1 : max(due.time - AutosaveTimer.now, 0)
        }
        if left < 0 { return false }
        if left > 0 {
            WorkQueue.sleep(seconds: min(left, AutosaveTimer.step))
            return true
        }
        let work = due.withLock { due in
            defer { (due.work, due.isRunning) = (nil, false) }
            return due.work
        }
        work?()
        return false
    }

    private static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
