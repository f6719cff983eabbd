import CorestoneModel
import CorestoneValues

/// The rows of one fetch, of the state that the store had when this was made. Any thread, one at a time.
final class ArrowRows {
    /// Closes its stores when nobody has it any more.
    private let coordinator: Coordinator
    private let fetch: StoreFetch
    private let source: ArrowRowSource
    /// Holds the state.
    private let pin: StorePin
    private var rows: (any StoreCursor)?

    /// Rows that are taken from the store at a time: their records stay within the processor's cache until they are columns.
    private static let block = 256
    /// A batch ends early when its columns have as many bytes.
    private static let batchBytes = 64 << 20

    /// nil when the store cannot do all of the fetch by itself.
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

    /// The same rows again, from the first one.
    func copy() throws -> ArrowRows? { try ArrowRows(fetch, of: pin, coordinator) }

    // A connection lets go of its state when nothing reads any more.
    deinit { rows = nil }

    /// Appends up to `count` rows. Fewer only at the end, or when they are very large; none at the end.
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
