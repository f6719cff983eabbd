import CPlatform
import CorestoneValues

// What one thread does while queues wait for threads, or for a thread of the host's: a host's function may wait in ways that we
// do not see, such as a mutex, a future or a reply from the network, maybe for the very work that finds no thread.
extension Workers {
    private static let roundNanoseconds: UInt64 = 100_000_000
    /// Less time on a processor within a round is sleep.
    private static let awakeNanoseconds: UInt64 = 5_000_000
    /// For how many rounds nothing ended anywhere, before those that sleep lose their places; and for how many a single one was at
    /// the same piece of work.
    private static let patience = 3, longPatience = 10
    /// For how many rounds nobody needed the watch, before it ends.
    private static let idleRounds = 5

    /// Looks around ten times in a second until there is nothing to look at.
    func keepWatch() {
        var round = 0, unneeded = 0, quiet = 0, ended = 0
        while unneeded < Workers.idleRounds {
            platform_sleep(Workers.roundNanoseconds)
            if platform_is_forked() { return }
            round += 1
            if round % 5 == 0 { lookAtHolders() }
            withMutex {
                let sum = all.reduce(0) { $0 &+ $1.ended.load(ordering: .relaxed) }
                quiet = sum == ended ? quiet + 1 : 0
                ended = sum
                if !ready.isEmpty { lookAtWorkers(round, isQuiet: quiet >= Workers.patience) }
                unneeded = ready.isEmpty && held.isEmpty ? unneeded + 1 : 0
                if unneeded == Workers.idleRounds { isWatched = false }
            }
        }
    }

    /// Gives the places of those that sleep to others. With the mutex.
    private func lookAtWorkers(_ round: Int, isQuiet: Bool) {
        let candidates = all.filter(\.isActive)
        var asleep: [Worker] = []
        for worker in candidates {
            let former = worker.seen
            worker.seen = Worker.Seen(
                round: round, ended: worker.ended.load(ordering: .relaxed),
                time: platform_thread_time(worker.number.load(ordering: .relaxed)),
                age: 0)
            guard former.round == round - 1, former.ended == worker.seen.ended else { continue }
            worker.seen.age = former.age + 1
            let wasAwake = worker.seen.time &- former.time >= Workers.awakeNanoseconds
            if !wasAwake, isQuiet || worker.seen.age >= Workers.longPatience, worker.sleeps { asleep.append(worker) }
        }
        // One that is awake may wake others.
        let stalled =
            isQuiet && asleep.count == candidates.count
            ? asleep : asleep.filter { $0.seen.age >= Workers.longPatience }
        for worker in stalled { worker.isStalled = true }
        active -= stalled.count
        dispatch()
    }

    /// Takes queues from threads that have ended.
    private func lookAtHolders() {
        let queues = withMutex {
            defer { held = [] }
            return held
        }
        let left = queues.filter { $0.needsWatch() }
        withMutex { held += left }
    }
}

extension Worker {
    /// Whether the system has it sleep, which for a device it does not.
    fileprivate var sleeps: Bool {
        platform_thread_state(number.load(ordering: .relaxed)) == UInt8(ascii: "S")
    }
}
