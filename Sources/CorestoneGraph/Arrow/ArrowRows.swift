import CorestoneModel
import CorestoneValues

/// The rows of one fetch, read from the snapshot of a pin.
///
/// Can be used on any thread, but only on one at a time.
final class ArrowRows {
    /// The coordinator, retained because it closes its stores when it is deallocated.
    private let coordinator: Coordinator
    private let fetch: StoreFetch
    private let source: ArrowRowSource
    /// The pin that keeps the snapshot available.
    private let pin: StorePin
    private var rows: (any StoreCursor)?

    /// The maximum number of rows per read. It is small, so that records are appended from the processor's cache.
    private static let block = 256
    /// The size of the columns, in bytes, at which a batch ends early.
    private static let batchBytes = 64 << 20

    /// Starts the fetch. Returns nil if the store cannot execute the whole fetch.
    init?(_ fetch: StoreFetch, of pin: StorePin, _ coordinator: Coordinator) throws {
        (self.coordinator, self.pin, self.fetch) = (coordinator, pin, fetch)
        let reader = pin.reader.makeReader()
        source = ArrowRowSource(pin.store, reader, model: coordinator.model)
        guard let (rows, remainder) = try pin.store.use({ try reader.cursor(fetch) }), remainder == nil else {
            return nil
        }
        self.rows = rows
        coordinator.count { $0.fetches += 1 }
    }

    /// Returns a copy that starts at the first row; nil if the store cannot execute the whole fetch.
    func copy() throws -> ArrowRows? { try ArrowRows(fetch, of: pin, coordinator) }

    // Closes the cursor before the pin is released, because a connection keeps its snapshot while a cursor is open.
    deinit { rows = nil }

    /// Appends up to `count` rows: fewer at the end or if the rows are very large, none after the last row.
    func fill(_ builder: ArrowBuilder, _ count: Int) throws {
        try pin.store.use {
            let start = monotonicNanoseconds()
            while let rows, builder.count < count, builder.size < ArrowRows.batchBytes {
                let batch = try rows.next(min(ArrowRows.block, count - builder.count))
                if batch.records.isEmpty {
                    self.rows = nil
                    break
                }
                try builder.append(batch.records.map { $0 } as [Record?], source)
                withExtendedLifetime(batch.chunks) {}
            }
            let duration = monotonicNanoseconds() - start
            coordinator.count { $0.fetched(builder.count, in: duration, requests: 0) }
        }
    }
}
