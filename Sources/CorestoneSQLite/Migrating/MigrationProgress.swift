import CSQLite
import CorestoneValues

/// The progress of a migration in rows. It stops a statement if the application cancels.
final class MigrationProgress {
    private static let maximumRows = 1 << 40
    private let path: String
    private let report: (Int, Int) -> Bool
    private let check: ProgressCheck
    private let rows: Int
    /// The rows that were completed before the steps. The remaining rows are divided equally among the steps.
    private var base = 0
    private var steps = 1
    private var done = 0
    private(set) var isCancelled = false

    /// Creates the progress of a migration.
    ///
    /// - Parameter former: The schema of the migrated store. Its highest primary keys serve as an estimate of the
    ///   number of rows.
    init(_ connection: Connection, _ former: StoreSchema, _ report: @escaping (_ done: Int, _ total: Int) -> Bool)
        throws
    {
        path = connection.path
        self.report = report
        var rows = 0
        for table in former.tables {
            let purpose = "count the rows of \(connection.path)"
            let statement = try connection.prepare("SELECT max(Z_PK) FROM \(table.name)", purpose)
            guard try statement.step(purpose) else { continue }
            // A key in the file may be any number.
            rows = min(rows.addingClamped(max(Int(clamping: statement.integer(0)), 0)), MigrationProgress.maximumRows)
        }
        self.rows = max(rows, 1)
        check = ProgressCheck(connection)
    }

    /// Sends the first report. `end` must be called afterwards, even if this function throws.
    func begin() throws {
        check.setHostCheck { [unowned self] in !self.reportProgress() }
        try require(reportProgress())
    }

    /// Reports the progress of a route, which counts as nine tenths of the migration.
    ///
    /// - Returns: false if the application cancels.
    func reportRoute(_ done: Int, of total: Int) -> Bool {
        let part = Double(min(max(done, 0), max(total, 1))) / Double(max(total, 1))
        base = Int(Double(rows) * 0.9 * part)
        return reportProgress()
    }

    /// Begins the part that consists of steps: the statements.
    func beginSteps(_ count: Int) { (steps, done) = (max(count, 1), 0) }

    private func reportProgress(isFinished: Bool = false) -> Bool {
        if isCancelled { return false }
        let rest = rows - base
        isCancelled = !report(isFinished ? rows : min(base + rest * done / (steps + 1), rows - 1), rows)
        return !isCancelled
    }

    func step() throws {
        done = min(done + 1, steps)
        try require(reportProgress())
    }

    /// Reports that everything except the commit is completed.
    func finish() throws { try require(reportProgress(isFinished: true)) }

    private func require(_ isWanted: Bool) throws {
        guard isWanted else { throw MigrationProgress.cancelled(path) }
    }

    func end() { check.end() }

    static func cancelled(_ path: String) -> CoreError {
        CoreError(
            .cancelled, code: .migrationCancelled, "cannot migrate \(path): cancelled by the application", file: path)
    }
}
