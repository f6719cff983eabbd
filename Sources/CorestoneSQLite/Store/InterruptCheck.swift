import CSQLite

/// Asks the host now and then whether a running request should stop.
final class InterruptCheck {
    private let check: () -> Bool
    private var lastAsked: UInt64 = 0
    private static let patience: UInt64 = 20_000_000

    private init(_ check: @escaping () -> Bool) { self.check = check }

    /// Hooks the check into a connection; nil takes it off. The returned object must live as long as the hook.
    static func install(_ check: (() -> Bool)?, on connection: Connection) -> InterruptCheck? {
        guard let check else {
            sqlite3_progress_handler(connection.db, 0, nil, nil)
            return nil
        }
        let hook = InterruptCheck(check)
        hook.lastAsked = monotonicNanoseconds()
        sqlite3_progress_handler(
            connection.db, 2000,
            { context in
                guard let context else { return 0 }
                return Unmanaged<InterruptCheck>.fromOpaque(context).takeUnretainedValue().ask() ? 1 : 0
            }, Unmanaged.passUnretained(hook).toOpaque())
        return hook
    }

    private func ask() -> Bool {
        let now = monotonicNanoseconds()
        if now - lastAsked < InterruptCheck.patience { return false }
        lastAsked = now
        return check()
    }
}
