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

    /// Whether the request was stopped by its limit.
    var isSpent: Bool { left.map { $0 <= 0 } ?? false }

    /// Takes every hook off; must be called before the check goes.
    func end() {
        (host, left) = (nil, nil)
        update()
    }

    private func update() {
        let isWanted = host != nil || left != nil
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

    private func shouldStop() -> Bool {
        if let left {
            self.left = left - 1
            if left <= 1 { return true }
        }
        guard let host else { return false }
        let now = monotonicNanoseconds()
        if now - lastAsked < ProgressCheck.patience { return false }
        lastAsked = now
        return host()
    }
}
