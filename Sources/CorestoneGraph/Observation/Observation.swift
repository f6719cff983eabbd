import CPlatform
import CorestoneValues
import Synchronization

/// The token of an observer: it is told as long as the token lives and is not cancelled. Any thread may cancel it or let go of
/// it; a call that runs on another thread meanwhile still ends.
public final class Observation: Sendable {
    private let observer: any Observer

    init(_ observer: any Observer) { self.observer = observer }

    deinit { observer.cancel() }

    /// Ends the observation, and releases its handler. May be called again, and from within the observer.
    public func cancel() { observer.cancel() }
}

/// What a token stands for.
protocol Observer: AnyObject, Sendable {
    func cancel()
}

/// Whether an observer is still to be told, and how often it is being told at this moment: an observer may cause what it
/// observes, but not without end.
class ObserverState: @unchecked Sendable {
    /// How deep an observer may call itself by what it does.
    fileprivate static let deepest = 8

    private let cancelled = Atomic(false)
    /// On the context's queue.
    private var depth = 0

    var isCancelled: Bool { cancelled.load(ordering: .relaxed) }

    /// False when it was cancelled before.
    func cancel() -> Bool { !cancelled.exchange(true, ordering: .relaxed) }

    func tell(_ body: () -> Void) {
        if isCancelled || depth == ObserverState.deepest { return }
        depth += 1
        body()
        depth -= 1
    }
}

extension Locked {
    /// Releases a handler, outside of the lock: its end may run code of the host.
    func letGo<Handler>() where Value == Handler? {
        let former = withLock { value in
            defer { value = nil }
            return value
        }
        withExtendedLifetime(former) {}
    }
}

/// Of an observer that several threads may tell at once.
final class SharedObserverState: ObserverState, @unchecked Sendable {
    private let depths = Locked<[UInt64: Int]>([:])

    override func tell(_ body: () -> Void) {
        let thread = platform_thread_id()
        let mayTell = depths.withLock { depths in
            let depth = depths[thread, default: 0]
            if isCancelled || depth == ObserverState.deepest { return false }
            depths[thread] = depth + 1
            return true
        }
        guard mayTell else { return }
        body()
        depths.withLock { depths in
            let depth = depths[thread, default: 1] - 1
            depths[thread] = depth == 0 ? nil : depth
        }
    }
}
