import CorestoneGraph
import CorestoneValues
import Glibc

/// Calls a function when nothing was started anew for a while.
final class AutosaveTimer: Sendable {
    private struct Due {
        var time = 0.0
        var work: (@Sendable () -> Void)?
    }

    private let due = Locked(Due())
    private let queue = WorkQueue()

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

    /// Begins the work if it is time. False when nothing is due any more.
    fileprivate func look() -> Bool {
        let (work, isWaiting) = due.withLock { due -> ((@Sendable () -> Void)?, Bool) in
            guard let work = due.work, due.time <= AutosaveTimer.now else { return (nil, due.work != nil) }
            due.work = nil
            return (work, false)
        }
        guard let work else { return isWaiting }
        // Without a thread for it, later.
        if (try? queue.run(work)) != nil { return false }
        due.withLock { if $0.work == nil { $0.work = work } }
        return true
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
        var all: [ObjectIdentifier: Timer] = [:]
        var isRunning = false
    }
    private struct Timer { weak var timer: AutosaveTimer? }

    private let timers = Locked(Timers())
    private let queue = WorkQueue()
    /// How often it looks whether it is time, or nothing is due any more.
    private static let step = 0.05

    func add(_ timer: AutosaveTimer) throws {
        let mustRun = timers.withLock { timers in
            timers.all[ObjectIdentifier(timer)] = Timer(timer: timer)
            defer { timers.isRunning = true }
            return !timers.isRunning
        }
        guard mustRun else { return }
        do { try queue.run { while self.look() { WorkQueue.sleep(seconds: AutosaveClock.step) } } } catch {
            timers.withLock { $0.isRunning = false }
            throw error
        }
    }

    /// False when no timer is left.
    private func look() -> Bool {
        for (id, entry) in timers.withLock({ $0.all }) where entry.timer?.look() != true {
            // One that was started meanwhile stays.
            timers.withLock { if entry.timer?.isDue != true { $0.all[id] = nil } }
        }
        return timers.withLock { timers in
            timers.isRunning = !timers.all.isEmpty
            return timers.isRunning
        }
    }
}
