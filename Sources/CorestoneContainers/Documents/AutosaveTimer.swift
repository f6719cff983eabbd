import CorestoneGraph
import CorestoneValues
import Glibc
import Synchronization

/// A timer that calls a function after a delay. Each start restarts the delay.
final class AutosaveTimer: Sendable {
    private struct Due {
        var time = 0.0
        var work: (@Sendable () -> Void)?
    }

    private let due = Locked(Due())
    private let queue = WorkQueue()
    /// The unique number of this timer.
    fileprivate let number = lastNumber.add(1, ordering: .relaxed).newValue
    private static let lastNumber = Atomic<UInt64>(0)

    /// Starts the delay again, with a new function.
    ///
    /// - Throws: `.noMemory` if no thread can be created. The timer is then cancelled.
    func start(after seconds: Double, _ work: @escaping @Sendable () -> Void) throws {
        due.withLock { ($0.time, $0.work) = (AutosaveTimer.now + seconds, work) }
        do { try AutosaveClock.shared.add(self) } catch {
            cancel()
            throw error
        }
    }

    func cancel() { due.withLock { $0.work = nil } }

    /// Runs the function if it is due. Returns false if the timer is no longer needed.
    fileprivate func runIfDue() -> Bool {
        let isTime = due.withLock { due -> Bool? in due.work == nil ? nil : due.time <= AutosaveTimer.now }
        guard isTime == true else { return isTime != nil }
        // If no thread is available, the next check tries again.
        return (try? queue.run { [weak self] in self?.takeWork()?() }) == nil
    }

    /// Returns the due function; nil if it was postponed or cancelled.
    private func takeWork() -> (@Sendable () -> Void)? {
        due.withLock { due in
            guard due.time <= AutosaveTimer.now else { return nil }
            defer { due.work = nil }
            return due.work
        }
    }

    fileprivate var isDue: Bool { due.withLock { $0.work != nil } }

    private static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// A clock that checks the timers of all documents, on one thread of the pool while at least one timer is running.
private final class AutosaveClock: Sendable {
    static let shared = AutosaveClock()

    private struct Timers {
        var all: [UInt64: Entry] = [:]
        var isRunning = false
    }
    private struct Entry { weak var timer: AutosaveTimer? }

    private let timers = Locked(Timers())
    private let queue = WorkQueue()
    /// The interval between checks, in seconds.
    private static let step = 0.05

    func add(_ timer: AutosaveTimer) throws {
        let mustRun = timers.withLock { timers in
            timers.all[timer.number] = Entry(timer: timer)
            defer { timers.isRunning = true }
            return !timers.isRunning
        }
        if mustRun { try runAgain() }
    }

    /// Enqueues one check, which enqueues the next one.
    private func runAgain() throws {
        do {
            try queue.run {
                guard self.checkTimers() else { return }
                WorkQueue.sleep(seconds: AutosaveClock.step)
                // This block already runs on a thread of the pool, so enqueueing does not fail.
                try? self.runAgain()
            }
        } catch {
            timers.withLock { $0.isRunning = false }
            throw error
        }
    }

    /// Checks all timers. Returns false if no timer is left.
    private func checkTimers() -> Bool {
        for (number, entry) in timers.withLock({ $0.all }) where entry.timer?.runIfDue() != true {
            timers.withLock { $0.all[number] = nil }
            // The timer was started again meanwhile.
            if entry.timer?.isDue == true { timers.withLock { $0.all[number] = entry } }
        }
        return timers.withLock { timers in
            timers.isRunning = !timers.all.isEmpty
            return timers.isRunning
        }
    }
}
