import CSQLite
import CorestoneValues

/// SQLite's progress handler, called every 2,000 instructions.
///
/// It stops a request if the application cancels it, if the request needs more work than an undamaged file of the same
/// size would need, or if a writing statement exceeds its limits.
final class ProgressCheck {
    private let connection: Connection
    private var hostCheck: (() -> Bool)?
    private var lastHostCheck: UInt64 = 0
    /// The remaining work of the request, in portions; nil without a limit.
    private var remaining: Int?
    private var isInstalled = false
    /// The limits of writing statements.
    private var writing: Writing?

    private struct Writing {
        /// The maximum work of one statement, in portions.
        let most: Int
        var remaining: Int
        /// The running statement, as a value of `Connection.runs`. The work of its triggers is part of it.
        var run: Int
        /// The maximum growth of SQLite's memory during one statement, in bytes; nil without triggers.
        let memory: Int?
        var memoryBefore: Int64
    }

    /// The limit that a writing statement exceeded.
    enum Excess { case steps, memory }
    private(set) var excess: Excess?

    private static let checkInterval: UInt64 = 20_000_000
    /// The number of instructions between two calls of the handler.
    private static let portion: Int32 = 2000

    init(_ connection: Connection) { self.connection = connection }

    /// Sets the application's cancellation check; nil removes it.
    func setHostCheck(_ hostCheck: (() -> Bool)?) {
        self.hostCheck = hostCheck
        lastHostCheck = monotonicNanoseconds()
        update()
    }

    /// Begins a request that may run at most `instructions`; nil ends it.
    func limit(to instructions: Int?) {
        remaining = instructions.map { $0 / Int(ProgressCheck.portion) }
        update()
    }

    /// Begins a transaction whose statements have limits.
    ///
    /// Each statement may run at most `steps` instructions. If the file has triggers, it may allocate at most `memory`
    /// bytes.
    func limitWriting(toSteps steps: Int, memory: Int?) {
        let most = max(steps / Int(ProgressCheck.portion), 1)
        excess = nil
        writing = Writing(
            most: most, remaining: most, run: connection.runs, memory: memory,
            memoryBefore: memory == nil ? 0 : memoryUsed)
        update()
    }

    func endWriting() {
        writing = nil
        update()
    }

    /// Whether the request reached its limit.
    var isSpent: Bool { remaining.map { $0 <= 0 } ?? false }

    /// Removes the handler. Must be called before the check is deallocated.
    func end() {
        (hostCheck, remaining, writing) = (nil, nil, nil)
        update()
    }

    private func update() {
        let isWanted = hostCheck != nil || remaining != nil || writing != nil
        if isWanted == isInstalled { return }
        isInstalled = isWanted
        guard isWanted else { return sqlite3_progress_handler(connection.db, 0, nil, nil) }
        sqlite3_progress_handler(
            connection.db, ProgressCheck.portion,
            { context in
                guard let context else { return 0 }
                return Unmanaged<ProgressCheck>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.shouldStop() ? 1 : 0 }
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// The bytes that SQLite has allocated, except for the page cache of this connection.
    private var memoryUsed: Int64 {
        var (pages, most): (Int32, Int32) = (0, 0)
        sqlite3_db_status(connection.db, SQLITE_DBSTATUS_CACHE_USED, &pages, &most, 0)
        return sqlite3_memory_used() - Int64(pages)
    }

    private func isExcessive() -> Bool {
        guard var state = writing else { return false }
        defer { writing = state }
        if connection.runs != state.run {
            state.run = connection.runs
            state.remaining = state.most
            if state.memory != nil { state.memoryBefore = memoryUsed }
            return false
        }
        state.remaining -= 1
        if state.remaining <= 0 {
            excess = .steps
        } else if let most = state.memory, memoryUsed - state.memoryBefore > Int64(clamping: most) {
            excess = .memory
        }
        return excess != nil
    }

    private func shouldStop() -> Bool {
        if let remaining {
            self.remaining = remaining - 1
            if remaining <= 1 { return true }
        }
        if isExcessive() { return true }
        guard let hostCheck else { return false }
        let now = monotonicNanoseconds()
        if now - lastHostCheck < ProgressCheck.checkInterval { return false }
        lastHostCheck = now
        return hostCheck()
    }
}
