import CPlatform
import CorestoneModel
import CorestoneValues

extension ArrowOptions {
    func check(_ entity: String?) throws {
        guard batchSize > 0 else {
            throw CoreError(
                .invalidArgument, "the batch size of an Arrow export is \(batchSize), but must be 1 or more",
                entity: entity, key: "batch_size", value: .int(Int64(batchSize)))
        }
    }
}

/// The record batches of an export whose rows are all appended before the first batch is returned.
final class ArrowBatches {
    let row: ArrowField
    let batchSize: Int
    private let entity: Entity?
    private var builders: [ArrowBuilder] = []

    init(_ row: ArrowField, of entity: Entity?, batchSize: Int) {
        (self.row, self.entity, self.batchSize) = (row, entity, batchSize)
    }

    /// Appends a row for each object, and a row of nulls for a missing one (`Context.isMissing`).
    ///
    /// - Parameter row: The index of the first object in its list, for error messages.
    func append(_ objects: [ManagedObject], from row: Int = 0, of context: Context?) throws {
        let present: [ManagedObject?] = try objects.enumerated().map { place, object in
            try context?.isMissing(object, row: row + place) == true ? nil : object
        }
        try context?.faultLoader.loadRows(of: present.compactMap { $0 })
        for object in present { try append { try $0.append(object) } }
    }

    /// Calls `body`, which must append one row, with the builder of the current batch.
    func append(_ body: (ArrowBuilder) throws -> Void) throws {
        if builders.last.map({ $0.count < batchSize }) != true { builders.append(ArrowBuilder(row)) }
        try naming { try body(builders[builders.count - 1]) }
    }

    /// Returns all batches, or one empty batch if there are no rows. Rows must not be appended afterwards.
    func finished() throws -> ArrowStream.Source {
        if builders.isEmpty { builders.append(ArrowBuilder(row)) }
        row.finaliseType()
        return .batches(try naming { try builders.map(SharedArrowBatch.init)[...] })
    }

    /// Adds the entity to an error without one.
    private func naming<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let error as CoreError { throw error.with(entity: entity?.name, key: nil) }
    }
}

/// A finished record batch, shared by the copies of a stream.
final class SharedArrowBatch {
    private let shared: OpaquePointer

    init(_ builder: ArrowBuilder) throws {
        var array = platform_arrow_array()
        try builder.finish(into: &array)
        guard let shared = platform_arrow_share(&array) else {
            array.release(&array)
            throw SharedArrowBatch.noMemory
        }
        self.shared = shared
    }

    deinit { platform_arrow_end_shared(shared) }

    func export(to out: UnsafeMutablePointer<platform_arrow_array>) throws {
        guard platform_arrow_export_shared(shared, out) else { throw SharedArrowBatch.noMemory }
    }

    private static var noMemory: CoreError {
        CoreError(
            .noMemory,
            "out of memory: cannot allocate a record batch of an Arrow export; export fewer rows or columns, or a "
                + "stream with a smaller batch_size (batchSize)")
    }
}

extension ArrowStream {
    convenience init(_ batches: ArrowBatches, of entity: Entity?) throws {
        self.init(batches.row, of: entity, try batches.finished(), batchSize: batches.batchSize)
    }
}
