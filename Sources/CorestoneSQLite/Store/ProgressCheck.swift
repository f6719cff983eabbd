import CSQLite
import CorestoneValues

/// What SQLite asks every few thousand instructions of its machine: whether a running request should stop, since the host
/// wants it to or since it takes more work than a sound file of that size should need.
final class ProgressCheck {
    private let connection: Connection
    private var host: (() -> Bool)?
    private var lastAsked: UInt64 = 0
    /// In portions; nil for a request that may take any.
    private var left: Int?
    private var isInstalled = false
    /// Of statements that write.
    private var writing: Writing?

    private struct Writing {
        /// In portions, for one statement.
        let most: Int
        var left: Int
        /// The statement that runs, by `Connection.runs`. What its triggers do belongs to it.
        var run: Int
        /// Bytes that SQLite may take more for one statement; nil where none is fired that could gather them.
        let memory: Int?
        var memoryBefore: Int64
    }

    /// What a statement that writes had too much of.
    enum Excess { case steps, memory }
    private(set) var excess: Excess?

    private static let patience: UInt64 = 20_000_000
    /// Instructions between two questions.
    private static let portion: Int32 = 2000

    init(_ connection: Connection) { self.connection = connection }

    /// nil takes the host's check off.
    func ask(_ host: (() -> Bool)?) {
        self.host = host
        lastAsked = monotonicNanoseconds()
        update()
    }

    /// Begins a request that may take that many instructions; nil ends it.
    func limit(to instructions: Int?) {
        left = instructions.map { $0 / Int(ProgressCheck.portion) }
        update()
    }

    /// Begins a transaction each of whose statements may take that many instructions, and that much memory, where a file's triggers
    /// may want more than the rows that are written need.
    func limitWriting(toSteps steps: Int, memory: Int?) {
        let most = max(steps / Int(ProgressCheck.portion), 1)
        excess = nil
        writing = Writing(
            most: most, left: most, run: connection.runs, memory: memory,
            memoryBefore: memory == nil ? 0 : memoryUsed)
        update()
    }

    func endWriting() {
        writing = nil
        update()
    }

    /// Whether the request was stopped by its limit.
    var isSpent: Bool { left.map { $0 <= 0 } ?? false }

    /// Takes every hook off; must be called before the check goes.
    func end() {
        (host, left, writing) = (nil, nil, nil)
        update()
    }

    private func update() {
        let isWanted = host != nil || left != nil || writing != nil
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

    /// Bytes that SQLite has taken, but for the pages that this connection keeps.
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
            state.left = state.most
            if state.memory != nil { state.memoryBefore = memoryUsed }
            return false
        }
        state.left -= 1
        if state.left <= 0 {
            excess = .steps
        } else if let most = state.memory, memoryUsed - state.memoryBefore > Int64(clamping: most) {
            excess = .memory
        }
        return excess != nil
    }

    private func shouldStop() -> Bool {
        if let left {
            self.left = left - 1
            if left <= 1 { return true }
        }
        if isExcessive() { return true }
        guard let host else { return false }
        let now = monotonicNanoseconds()
        if now - lastAsked < ProgressCheck.patience { return false }
        lastAsked = now
        return host()
    }
}
