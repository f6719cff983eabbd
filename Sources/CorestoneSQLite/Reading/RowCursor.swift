import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneSQL
import CorestoneValues

/// A cursor over the rows of a fetch. It keeps its statement open between batches.
///
/// At first, the cursor reads one state of the store. Before the store writes, or its connection reads a newer state,
/// the cursor records the remaining keys (8 bytes each). From then on, it reads the current state of those rows by
/// primary key. It therefore does not block writers, and does not keep other readers in an old state.
final class RowCursor: StoreCursor {
    private let reader: any SQLiteReading
    /// The connection of the statement.
    private let file: OpenFile
    private let fetch: StoreFetch
    private let plan: RowPlan
    /// The query, which keeps the bound bytes alive.
    private let query: SQLQuery
    /// The statement; nil after every row was read or its key was recorded.
    private var statement: Statement?
    private var readCount = 0
    /// The recorded keys in order; the rows before `place` were read.
    private var noted: [Int64] = []
    private var place = 0
    /// The error that occurred while keys were recorded.
    private var failure: CoreError?

    /// The number of bytes of rows at which a batch ends early.
    private static let batchBytes = 8 << 20

    /// Creates a cursor. Must be called by the thread that has acquired the connection.
    init(_ query: SQLQuery, _ fetch: StoreFetch, _ file: OpenFile, reader: any SQLiteReading) throws {
        self.reader = reader
        self.file = file
        self.fetch = fetch
        self.query = query
        plan = file.plan(for: fetch.entity, includesSubentities: fetch.includesSubentities, keys: fetch.keys)
        let statement = try file.connection.prepare("SELECT \(plan.selection)\(query.text)", RowCursor.purpose(fetch))
        for (place, value) in query.bindings.enumerated() { statement.bind(value, at: Int32(place + 1)) }
        self.statement = statement
        try file.register(self)
    }

    deinit {
        // The last reference may be released on any thread, but only the thread that has acquired the connection may
        // finalise a statement.
        if let statement { file.finalizeLater(statement) }
    }

    func next(_ count: Int) throws -> RowBatch {
        try reader.withFile(only: file) { file in
            if let failure { throw failure }
            guard let statement else { return try notedRows(count) }
            do {
                let batch = try readCount == 0 ? firstRows(statement, count, file) : rows(statement, count, file)
                // An empty batch ends the statement. If keys were recorded, their rows follow.
                return batch.records.isEmpty ? try notedRows(count) : batch
            } catch let error as CoreError {
                self.statement = nil
                throw file.functions.takeFailure() ?? error
            }
        }
    }

    /// Reads the first rows.
    ///
    /// The work is limited, because a sorted fetch reads all rows before it returns the first one.
    private func firstRows(_ statement: Statement, _ count: Int, _ file: OpenFile) throws -> RowBatch {
        try file.bounded(plan.table) {
            readCount = 0
            return try rows(statement, count, file)
        }
    }

    private func rows(_ statement: Statement, _ count: Int, _ file: OpenFile) throws -> RowBatch {
        var reader = RowReader(cursor: RecordCursor(first: 64 << 10))
        var batch = RowBatch()
        var bytes = 0
        batch.records.reserveCapacity(min(count, 1024))
        while batch.records.count < count, bytes < RowCursor.batchBytes {
            guard try statement.step(RowCursor.purpose(fetch)) else {
                self.statement = nil
                break
            }
            guard let record = try reader.read(statement.handle, plan) else { continue }
            readCount += 1
            if readCount > file.maximumRows { throw self.reader.pageCycleError(plan.table) }
            bytes += Int(record.header.pointee.size)
            batch.records.append(record)
        }
        batch.chunks = reader.cursor.flush()
        batch.ownsChunks = true
        return batch
    }

    /// Reads rows by their recorded keys. Deleted rows are left out.
    private func notedRows(_ count: Int) throws -> RowBatch {
        while place < noted.count {
            let keys = Array(noted[place..<min(place + count, noted.count)])
            place += keys.count
            var batch = try reader.rows(of: fetch.entity.root, primaryKeys: keys)
            let found = Dictionary(batch.records.map { ($0.primaryKey, $0) }) { first, _ in first }
            batch.records = ContiguousArray(keys.compactMap { found[$0] })
            if !batch.records.isEmpty { return batch }
        }
        return RowBatch()
    }

    /// Records the primary keys of the remaining rows, and ends the statement.
    func detachFromStatement() {
        guard let statement else { return }
        self.statement = nil
        do {
            while try statement.step(RowCursor.purpose(fetch)) { noted.append(statement.integer(0)) }
        } catch { failure = error as? CoreError }
    }

    /// Releases the statement when the file is closed.
    func end() { statement = nil }

    private static func purpose(_ fetch: StoreFetch) -> String { "fetch \(fetch.entity.name)" }
}

extension SQLiteReading {
    func cursor(_ fetch: StoreFetch) throws -> (rows: any StoreCursor, remainder: FetchRemainder?)? {
        try withFile { file in
            file.endReads()
            let compiled = try compiled(fetch, file)
            return (try RowCursor(compiled.query, fetch, file, reader: self), compiled.remainder)
        }
    }
}

/// The cursors of an open file, as weak references.
struct RowCursors {
    private struct Place { weak var cursor: RowCursor? }
    private var places: [Place] = []

    mutating func add(_ cursor: RowCursor) {
        places.removeAll { $0.cursor == nil }
        places.append(Place(cursor: cursor))
    }

    /// The existing cursors, as a copy for loops that run statements: a log callback may read or open cursors.
    var living: [RowCursor] { places.compactMap(\.cursor) }
}
