import CPlatform
import CorestoneValues
import Synchronization

/// The token of an observer. The observation ends when the token is cancelled or released.
///
/// The observation also ends with its subject. The token can be cancelled and released on any thread. A notification
/// that is running on another thread still completes.
public final class Observation: Sendable {
    private let observer: any Observer

    init(_ observer: any Observer) { self.observer = observer }

    deinit { observer.cancel() }

    /// Ends the observation. Idempotent, and allowed within the handler.
    ///
    /// The handler is released now, or later on the context's queue.
    public func cancel() { observer.cancel() }
}

/// The observation behind a token.
protocol Observer: AnyObject, Sendable {
    func cancel()
}

/// The state of an observer: whether it is cancelled, and its recursion depth.
///
/// A handler that causes the change that it observes is called recursively, up to a limited depth.
class ObserverState: @unchecked Sendable {
    /// The maximum recursion depth of an observer.
    fileprivate static let deepest = 8

    private let cancelled = Atomic(false)
    /// The current recursion depth. Used on the context's queue.
    private var depth = 0

    var isCancelled: Bool { cancelled.load(ordering: .relaxed) }

    /// Cancels the observer. Returns false if it was already cancelled.
    func cancel() -> Bool { !cancelled.exchange(true, ordering: .relaxed) }

    func notify(_ body: () -> Void) {
        if isCancelled || depth == ObserverState.deepest { return }
        depth += 1
        body()
        depth -= 1
    }
}

extension Locked {
    /// Releases a handler outside the lock, because its deallocation may run code of the application.
    func releaseHandler<Handler>() where Value == Handler? {
        let former = withLock { value in
            defer { value = nil }
            return value
        }
        withExtendedLifetime(former) {}
    }
}

/// The state of an observer that several threads may notify at the same time.
final class SharedObserverState: ObserverState, @unchecked Sendable {
    private let depths = Locked<[UInt64: Int]>([:])

    override func notify(_ body: () -> Void) {
        let thread = platform_thread_id()
        let mayNotify = depths.withLock { depths in
            let depth = depths[thread, default: 0]
            if isCancelled || depth == ObserverState.deepest { return false }
            depths[thread] = depth + 1
            return true
        }
        guard mayNotify else { return }
        body()
        depths.withLock { depths in
            let depth = depths[thread, default: 1] - 1
            depths[thread] = depth == 0 ? nil : depth
        }
    }
}
