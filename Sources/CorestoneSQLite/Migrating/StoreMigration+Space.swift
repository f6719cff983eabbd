import CSQLite
import CorestoneGraph
import CorestoneValues
import Glibc

/// The estimate of the required disk space.
extension StoreMigration {
    /// Throws if the disk space may be insufficient for an in-place migration.
    ///
    /// A recreated table needs its size a second time in the file and a third time in the log.
    func requireSpace(for plan: MigrationPlan) throws {
        let rebuilt = plan.tables.filter(\.isRebuilt).compactMap { $0.formerTable?.name }
        guard !rebuilt.isEmpty, let free else { return }
        // Counting the pages of tables reads them, so the size of the file is compared first.
        guard free < Double(connection.fileSize) * 2 else { return }
        try require(Double(size(of: rebuilt) ?? connection.fileSize) * 2, free)
    }

    /// Throws if the disk space may be insufficient for a recreated store.
    ///
    /// The recreated store needs its size in the work folder, and again in the file or its log.
    func requireSpaceForCopy() throws {
        guard let free else { return }
        var status = stat()
        let log = stat("\(place.path)-wal", &status) == 0 ? Double(status.st_size) : 0
        try require(Double(connection.fileSize) * 2 + log, free)
    }

    /// The free bytes in the store's folder; nil if they are unknown.
    private var free: Double? {
        var status = statvfs()
        guard statvfs(place.folder, &status) == 0 else { return nil }
        return Double(status.f_bavail) * Double(status.f_frsize)
    }

    private func require(_ needed: Double, _ free: Double) throws {
        guard free < needed else { return }
        throw CoreError(
            .storeIO, code: .migration,
            "cannot migrate \(place.given): the migration needs up to \(Int64((needed / 1_048_576).rounded(.up))) MB in "
                + "\(place.folder), but only \(Int64(free / 1_048_576)) MB is free; free some space", file: place.given
        )
    }

    /// Returns the size of tables in bytes, or nil if this SQLite library does not have `dbstat`.
    private func size(of tables: [String]) -> Int? {
        let names = tables.map { PropertyValue.string($0).literal }.joined(separator: ", ")
        guard
            let statement = try? connection.prepare(
                "SELECT sum(pgsize) FROM dbstat WHERE aggregate = TRUE AND name IN (\(names))", purpose),
            (try? statement.step(purpose)) == true
        else { return nil }
        return Int(clamping: statement.integer(0))
    }
}
