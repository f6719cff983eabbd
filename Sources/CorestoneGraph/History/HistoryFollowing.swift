import CPlatform
import CorestoneFileSystem
import CorestoneValues
import Glibc

/// The handlers that a coordinator calls when it may have written to a history.
///
/// Can be used on any thread.
final class HistorySignals: Sendable {
    private struct State {
        var next = 0
        var handlers: [Int: @Sendable () -> Void] = [:]
    }

    private let state = Locked(State(), .watches)

    func add(_ handler: @escaping @Sendable () -> Void) -> Int {
        state.withLock { state in
            state.next += 1
            state.handlers[state.next] = handler
            return state.next
        }
    }

    func remove(_ number: Int) { _ = state.withLock { $0.handlers.removeValue(forKey: number) } }

    /// Calls all handlers. Called after a write of the coordinator, and when a store or the coordinator was closed.
    func send() {
        for handler in state.withLock({ Array($0.handlers.values) }) { handler() }
    }
}

/// An observation that calls a handler after each write to the coordinator's stores.
///
/// Writes of any process count. The observation ends when it is cancelled or deallocated.
final class HistoryWatch: Observer, @unchecked Sendable {
    private let signals: HistorySignals
    private let number: Int
    /// The observation that keeps the watchers of the stores running.
    private let remote: Observation

    init(_ coordinator: Coordinator, _ handler: @escaping @Sendable () -> Void) {
        signals = coordinator.historySignals
        number = signals.add(handler)
        remote = coordinator.observe(.remoteChange) { _, _ in handler() }
    }

    deinit { cancel() }

    func cancel() {
        signals.remove(number)
        remote.cancel()
    }
}

// MARK: - Waiting

extension HistoryCursor {
    /// Waits until there may be new transactions.
    ///
    /// Call it after `next` returned nil. The first call returns immediately, because it only starts to watch the
    /// stores.
    ///
    /// - Parameter milliseconds: The longest wait; nil for no limit.
    /// - Returns: False after a time-out.
    /// - Throws: `.cancelled` after `cancel`.
    ///   `.invalidArgument` for a request with a limit.
    public func wait(milliseconds: Int? = nil) throws -> Bool {
        let (event, isNew) = try following()
        if isNew { return true }
        return try event.wait(milliseconds: milliseconds)
    }

    /// Ends the current wait of another thread and all later waits. Can be called on any thread.
    public func cancel() { waiting.cancel() }

    /// Returns a descriptor for an event loop.
    ///
    /// The descriptor is readable while there may be new transactions. `next` clears it before it returns nil. The
    /// descriptor is closed when the cursor is deallocated.
    package func descriptor() throws -> Int32 {
        let (event, isNew) = try following()
        if isNew { event.send() }
        return event.descriptor
    }

    /// Throws if the cursor has a limit, because it would end at the limit.
    package func requireFollowable() throws {
        guard hasLimit else { return }
        throw CoreError(
            .invalidArgument,
            "a request that follows the history has limit \(limit), but must not have one; leave the limit out, and "
                + "stop following after \(limit) transactions or changes",
            key: "limit", value: .int(Int64(limit)))
    }

    private func following() throws -> (event: HistoryEvent, isNew: Bool) {
        if let event = waiting.event { return (event, false) }
        try requireFollowable()
        let event = try HistoryEvent()
        waiting.follow(coordinator, event)
        return (event, true)
    }
}

/// The state of a waiting cursor. Any thread may cancel it.
final class HistoryWaiting: @unchecked Sendable {
    private struct State {
        var event: HistoryEvent?
        var watch: HistoryWatch?
        var isCancelled = false
    }

    private let state = Locked(State())

    var event: HistoryEvent? { state.withLock { $0.event } }

    func follow(_ coordinator: Coordinator, _ event: HistoryEvent) {
        let watch = HistoryWatch(coordinator) { event.send() }
        let isCancelled = state.withLock { state in
            (state.event, state.watch) = (event, watch)
            return state.isCancelled
        }
        if isCancelled { event.cancel() }
    }

    func cancel() {
        let event = state.withLock { state in
            state.isCancelled = true
            return state.event
        }
        event?.cancel()
    }

    deinit { state.withLock { $0.watch }?.cancel() }
}

/// A system event that is set when there may be new transactions.
final class HistoryEvent: @unchecked Sendable {
    let descriptor: Int32
    private let cancelled = Locked(false)

    init() throws {
        descriptor = platform_event_new()
        guard descriptor >= 0 else {
            let error = SystemError.last
            throw CoreError(
                .noMemory,
                "cannot create an event descriptor to follow a history: \(error.text)"
                    + error.remedyForDescriptors)
        }
    }

    deinit { close(descriptor) }

    func send() { platform_event_signal(descriptor) }
    func clear() { if !cancelled.withLock({ $0 }) { platform_event_clear(descriptor) } }

    func cancel() {
        cancelled.withLock { $0 = true }
        send()
    }

    /// Waits for the event. Returns false after a time-out.
    func wait(milliseconds: Int?) throws -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        // Limits the wait to one year, to avoid an overflow.
        let end = milliseconds.map { monotonicNanoseconds() + UInt64(min(max($0, 0), 31_536_000_000)) * 1_000_000 }
        while true {
            var left: Int32 = -1
            if let end {
                let now = monotonicNanoseconds()
                left = now >= end ? 0 : Int32(clamping: (end - now + 999_999) / 1_000_000)
            }
            let found = poll(&entry, 1, left)
            if cancelled.withLock({ $0 }) {
                throw CoreError(
                    .cancelled,
                    "the history cursor was cancelled; create a new cursor with cst_coordinator_fetch_history "
                        + "(history) to wait for more transactions")
            }
            if found > 0 { return true }
            if found == 0, left == 0 { return false }
        }
    }
}

// MARK: - Following

extension Coordinator {
    /// Calls `handler` with each transaction of a request, then with new transactions of any process.
    ///
    /// The order is that of the transactions. The observation ends when it is cancelled or deallocated.
    ///
    /// The handler runs on a thread of the library, one call at a time, and the next transaction is read after the
    /// handler returns. Each transaction is delivered at least once: after a restart, the transactions after the
    /// application's last stored token are delivered again.
    ///
    /// - Parameters:
    ///   - ended: Called once if an error ends the observation, such as code 134301; not called after a cancellation.
    ///   - handler: Called with each transaction. An error ends the observation.
    /// - Throws: The errors of `history(_:)`.
    ///   `.invalidArgument` for a request with a limit.
    public func followHistory(
        _ request: HistoryRequest = HistoryRequest(), ended: @escaping @Sendable (any Error) -> Void = { _ in },
        _ handler: @escaping @Sendable (HistoryTransaction, HistoryCursor) throws -> Void
    ) throws -> Observation {
        let cursor = try history(request)
        try cursor.requireFollowable()
        let follower = HistoryFollower(cursor, handler, ended)
        follower.start(self)
        return Observation(follower)
    }
}

/// A reader that reads new transactions from a cursor on its own queue, when it is notified.
private final class HistoryFollower: Observer, @unchecked Sendable {
    private let state = ObserverState()
    private let queue = SerialQueue(ContextLabel(origin: nil, unnamed: "a history observation"))
    private let cursor: HistoryCursor
    private let handler: Locked<((HistoryTransaction, HistoryCursor) throws -> Void)?>
    private let ended: Locked<((any Error) -> Void)?>
    private let watch = Locked<HistoryWatch?>(nil)
    /// Whether a read is queued that has not started.
    private let isQueued = Locked(false)

    init(
        _ cursor: HistoryCursor, _ handler: @escaping (HistoryTransaction, HistoryCursor) throws -> Void,
        _ ended: @escaping (any Error) -> Void
    ) {
        self.cursor = cursor
        self.handler = Locked(handler)
        self.ended = Locked(ended)
    }

    func start(_ coordinator: Coordinator) {
        let watch = HistoryWatch(coordinator) { [weak self] in self?.read() }
        self.watch.withLock { $0 = watch }
        read()
    }

    func cancel() {
        guard state.cancel() else { return }
        watch.withLock { $0 }?.cancel()
        handler.releaseHandler()
        ended.releaseHandler()
    }

    private func read() {
        let isFirst = isQueued.withLock { isQueued in
            defer { isQueued = true }
            return !isQueued
        }
        guard isFirst, !state.isCancelled else { return }
        do {
            try queue.enqueue { [weak self] in
                guard let self else { return }
                isQueued.withLock { $0 = false }
                withCallScope { self.readAll() }
            }
        } catch { end(error) }
    }

    private func readAll() {
        do {
            while !state.isCancelled, let handler = handler.withLock({ $0 }), let transaction = try cursor.next() {
                try handler(transaction, cursor)
            }
        } catch { end(error) }
    }

    private func end(_ error: any Error) {
        let ended = ended.withLock { $0 }
        cancel()
        ended?(error)
    }
}

extension Coordinator {
    /// Calls `handler` after each write of any process to the stores, on the writing thread or the watcher's thread.
    package func watchHistory(_ handler: @escaping @Sendable () -> Void) -> Observation {
        Observation(HistoryWatch(self, handler))
    }
}
