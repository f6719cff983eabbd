import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneSQL
import CorestoneValues

/// Rows of one fetch, read by a statement that goes on where it stopped.
///
/// What it reads is one state of the store. Before the store writes, or reads a newer state for somebody else, the cursor
/// notes the keys that are left, 8 bytes each, and reads those rows by key from then on: it never keeps a writer out, nor
/// a reader in the past.
final class RowCursor: StoreCursor {
    private let reader: any SQLiteReading
    /// The connection of the statement.
    private let file: OpenFile
    private let fetch: StoreFetch
    private let plan: RowPlan
    /// Holds the bytes that are bound.
    private let query: SQLQuery
    /// nil once every row was read or noted.
    private var statement: Statement?
    private var readCount = 0
    /// Keys of rows that were noted, in order; those before `place` were read.
    private var noted: [Int64] = []
    private var place = 0
    /// What went wrong while keys were noted.
    private var failure: CoreError?

    /// A batch ends early when its rows hold as many bytes, however few they are.
    private static let batchBytes = 8 << 20

    /// By whoever has the connection, as all else.
    init(_ query: SQLQuery, _ fetch: StoreFetch, _ file: OpenFile, reader: any SQLiteReading) throws {
        self.reader = reader
        self.file = file
        self.fetch = fetch
        self.query = query
        plan = file.plan(for: fetch.entity, includesSubentities: fetch.includesSubentities, keys: fetch.keys)
        let statement = try file.connection.prepare("SELECT \(plan.selection)\(query.text)", RowCursor.purpose(fetch))
        for (place, value) in query.bindings.enumerated() { statement.bind(value, at: Int32(place + 1)) }
        self.statement = statement
        try file.keep(self)
    }

    deinit {
        // SQLite's connection is not to be used by two threads, and the last reference may go on any.
        if let statement { file.finalizeLater(statement) }
    }

    func next(_ count: Int) throws -> RowBatch {
        try reader.withFile(only: file) { file in
            if let failure { throw failure }
            guard let statement else { return try notedRows(count) }
            do {
                let batch = try readCount == 0 ? firstRows(statement, count, file) : rows(statement, count, file)
                // Nothing is the end, or rows that are all gone by now.
                return batch.records.isEmpty ? try notedRows(count) : batch
            } catch let error as CoreError {
                self.statement = nil
                throw file.functions.takeFailure() ?? error
            }
        }
    }

    /// What has to be sorted is read whole before the first row comes.
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
            if readCount > file.mostRows { throw self.reader.endless(plan.table) }
            bytes += Int(record.header.pointee.size)
            batch.records.append(record)
        }
        batch.chunks = reader.cursor.flush()
        batch.ownsChunks = true
        return batch
    }

    /// Rows that are gone by now are left out.
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

    /// Notes the keys of the rows that are left, and ends the statement.
    func settle() {
        guard let statement else { return }
        self.statement = nil
        do {
            while try statement.step(RowCursor.purpose(fetch)) { noted.append(statement.integer(0)) }
        } catch { failure = error as? CoreError }
    }

    /// The file is closed: nothing can be read any more.
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

/// The cursors of an open file, which it does not keep alive.
struct RowCursors {
    private struct Place { weak var cursor: RowCursor? }
    private var places: [Place] = []

    mutating func add(_ cursor: RowCursor) {
        places.removeAll { $0.cursor == nil }
        places.append(Place(cursor: cursor))
    }

    /// Those that are still there, for loops in which a statement runs: the host may be told of it, and may read or open others.
    var living: [RowCursor] { places.compactMap(\.cursor) }
}
