import CSQLite
import CorestoneValues

/// How much SQLite may work for one check: more than any sound file of that size needs. Pages of a damaged one may lead to
/// each other in circles, and reading them would not end.
final class CheckBudget {
    private let connection: Connection
    /// In portions.
    private var left: Int
    var isSpent: Bool { left <= 0 }

    /// Instructions of SQLite's machine between two looks at the budget.
    private static let portion: Int32 = 10_000
    private static let least = 50_000_000
    /// Each column of each row is looked at by a few statements of a few instructions, and takes at least a byte.
    private static let perByte = 100

    init(_ connection: Connection) {
        self.connection = connection
        // Pages that are not there take no work that a sound file would need.
        let bytes = min(connection.fileSize, connection.allocatedSize)
        left =
            bytes.multipliedClamped(by: CheckBudget.perByte).addingClamped(CheckBudget.least) / Int(CheckBudget.portion)
        sqlite3_progress_handler(
            connection.db, CheckBudget.portion,
            { pointer in
                guard let pointer else { return 0 }
                return Unmanaged<CheckBudget>.fromOpaque(pointer)._withUnsafeGuaranteedRef { budget in
                    budget.left -= 1
                    return budget.isSpent ? 1 : 0
                }
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Takes the limit away; must be called before the budget goes.
    func end() { sqlite3_progress_handler(connection.db, 0, nil, nil) }
}
