import CPlatform
import CorestoneValues

// The watch: a thread that runs while queues wait for a worker, or for a thread of the application. An application's
// block may wait in ways that the library cannot see, for example for a mutex, a future or a reply from the network.
// The block may even wait for another block for which no worker is available.
extension Workers {
    private static let roundNanoseconds: UInt64 = 100_000_000
    /// A worker with less processor time than this per round is considered asleep.
    private static let awakeNanoseconds: UInt64 = 5_000_000
    /// The number of rounds after which workers are considered stalled.
    ///
    /// `patience` counts rounds in which no worker completes a block, and `longPatience` counts rounds in which a
    /// single worker runs the same block.
    private static let patience = 3, longPatience = 10
    /// The number of rounds without a waiting queue or a watched thread after which the watch ends.
    private static let idleRounds = 5

    /// Runs a round ten times per second until no queue waits and no thread must be watched.
    func runWatch() {
        var round = 0, unneeded = 0, quiet = 0, ended = 0
        while unneeded < Workers.idleRounds {
            platform_sleep(Workers.roundNanoseconds)
            if platform_is_forked() { return }
            round += 1
            if round % 5 == 0 { releaseEndedHolders() }
            withMutex {
                let sum = all.reduce(0) { $0 &+ $1.ended.load(ordering: .relaxed) }
                quiet = sum == ended ? quiet + 1 : 0
                ended = sum
                if !ready.isEmpty { markStalledWorkers(round, isQuiet: quiet >= Workers.patience) }
                unneeded = ready.isEmpty && held.isEmpty ? unneeded + 1 : 0
                if unneeded == Workers.idleRounds { isWatched = false }
            }
        }
    }

    /// Marks sleeping workers as stalled, so that other workers can run. Called with the mutex.
    private func markStalledWorkers(_ round: Int, isQuiet: Bool) {
        let candidates = all.filter(\.isActive)
        var sleeping: [Worker] = []
        for worker in candidates {
            let former = worker.lastSample
            worker.lastSample = Worker.Sample(
                round: round, ended: worker.ended.load(ordering: .relaxed),
                time: platform_thread_time(worker.number.load(ordering: .relaxed)),
                age: 0)
            guard former.round == round - 1, former.ended == worker.lastSample.ended else { continue }
            worker.lastSample.age = former.age + 1
            let wasRunning = worker.lastSample.time &- former.time >= Workers.awakeNanoseconds
            if !wasRunning, isQuiet || worker.lastSample.age >= Workers.longPatience, worker.sleeps {
                sleeping.append(worker)
            }
        }
        // A worker that is awake may wake other workers.
        let stalled =
            isQuiet && sleeping.count == candidates.count
            ? sleeping : sleeping.filter { $0.lastSample.age >= Workers.longPatience }
        for worker in stalled { worker.isStalled = true }
        active -= stalled.count
        dispatch()
    }

    /// Releases the queues of threads that have ended.
    private func releaseEndedHolders() {
        let queues = withMutex {
            defer { held = [] }
            return held
        }
        let left = queues.filter { $0.needsWatch() }
        withMutex { held += left }
    }
}

extension Worker {
    /// Whether the thread sleeps interruptibly, which excludes waiting for a device.
    fileprivate var sleeps: Bool {
        platform_thread_state(number.load(ordering: .relaxed)) == UInt8(ascii: "S")
    }
}
