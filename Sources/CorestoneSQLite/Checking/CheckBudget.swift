import CSQLite
import CorestoneValues

/// The limit of SQLite's work for one check.
///
/// The limit is more than the check of an undamaged file of the same size needs. In a damaged file, pages may form a
/// cycle, so that reading would not end.
final class CheckBudget {
    private let connection: Connection
    /// The remaining work, in units of `portion` instructions.
    private var remaining: Int
    var isSpent: Bool { remaining <= 0 }

    /// The number of SQLite instructions between two checks of the budget.
    private static let portion: Int32 = 10_000
    private static let least = 50_000_000
    /// The number of instructions for each byte of the file. Each column of a row has at least one byte, and a few
    /// statements read it with a few instructions each.
    private static let perByte = 100

    init(_ connection: Connection) {
        self.connection = connection
        // Holes of a sparse file do not increase the work that an undamaged file needs.
        let bytes = min(connection.fileSize, connection.allocatedSize)
        remaining =
            bytes.multipliedClamped(by: CheckBudget.perByte).addingClamped(CheckBudget.least) / Int(CheckBudget.portion)
        sqlite3_progress_handler(
            connection.db, CheckBudget.portion,
            { pointer in
                guard let pointer else { return 0 }
                return Unmanaged<CheckBudget>.fromOpaque(pointer)._withUnsafeGuaranteedRef { budget in
                    budget.remaining -= 1
                    return budget.isSpent ? 1 : 0
                }
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Removes the limit. Must be called before the budget is deallocated.
    func end() { sqlite3_progress_handler(connection.db, 0, nil, nil) }
}
