import CorestoneGraph
import CorestoneValues
import Glibc
import Synchronization

/// Calls a function after a delay, which each new start begins again.
final class AutosaveTimer: Sendable {
    private struct Due {
        var time = 0.0
        var work: (@Sendable () -> Void)?
    }

    private let due = Locked(Due())
    private let queue = WorkQueue()
    /// Of this timer alone.
    fileprivate let number = lastNumber.add(1, ordering: .relaxed).newValue
    private static let lastNumber = Atomic<UInt64>(0)

    /// What was started before is put off.
    ///
    /// - Throws: `.noMemory` when the system gives no thread; nothing is due then.
    func start(after seconds: Double, _ work: @escaping @Sendable () -> Void) throws {
        due.withLock { ($0.time, $0.work) = (AutosaveTimer.now + seconds, work) }
        do { try AutosaveClock.shared.add(self) } catch {
            cancel()
            throw error
        }
    }

    func cancel() { due.withLock { $0.work = nil } }

    /// Has the work done if it is time. False when there is nothing to wait for any more.
    fileprivate func look() -> Bool {
        let isTime = due.withLock { due -> Bool? in due.work == nil ? nil : due.time <= AutosaveTimer.now }
        guard isTime == true else { return isTime != nil }
        // Without a thread for it, later.
        return (try? queue.run { [weak self] in self?.takeWork()?() }) == nil
    }

    /// What is due; nil when it was put off or cancelled.
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

/// Looks after the timers of all documents, on one thread of the pool while something is due.
private final class AutosaveClock: Sendable {
    static let shared = AutosaveClock()

    private struct Timers {
        var all: [UInt64: Entry] = [:]
        var isRunning = false
    }
    private struct Entry { weak var timer: AutosaveTimer? }

    private let timers = Locked(Timers())
    private let queue = WorkQueue()
    /// How often it looks whether it is time, or nothing is due any more.
    private static let step = 0.05

    func add(_ timer: AutosaveTimer) throws {
        let mustRun = timers.withLock { timers in
            timers.all[timer.number] = Entry(timer: timer)
            defer { timers.isRunning = true }
            return !timers.isRunning
        }
        if mustRun { try runAgain() }
    }

    /// Looks, in a piece of work of its own each time.
    private func runAgain() throws {
        do {
            try queue.run {
                guard self.look() else { return }
                WorkQueue.sleep(seconds: AutosaveClock.step)
                // On a thread of the pool there is one.
                try? self.runAgain()
            }
        } catch {
            timers.withLock { $0.isRunning = false }
            throw error
        }
    }

    /// False when no timer is left.
    private func look() -> Bool {
        for (number, entry) in timers.withLock({ $0.all }) where entry.timer?.look() != true {
            timers.withLock { $0.all[number] = nil }
            // It was started meanwhile.
            if entry.timer?.isDue == true { timers.withLock { $0.all[number] = entry } }
        }
        return timers.withLock { timers in
            timers.isRunning = !timers.all.isEmpty
            return timers.isRunning
        }
    }
}
