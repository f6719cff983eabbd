import CPlatform
import CorestoneModel
import CorestoneValues

/// The meaning of the columns of an Arrow stream for an entity, and the current record batch.
final class ArrowImportPlan {
    let entity: Entity
    var attributes: [ArrowColumn] = []
    var relationships: [ArrowRelationship] = []
    /// The column with the URIs of the objects to update, in an upsert.
    var identity: ArrowInput?
    /// The inputs of the columns that are not ignored, and their places.
    private(set) var inputs: [(place: Int, input: ArrowInput)] = []
    /// The number of columns, including the ignored ones.
    private let fieldCount: Int64
    /// The number of rows before the current batch.
    private(set) var base = 0
    /// The number of rows of the current batch.
    private(set) var count = 0

    /// Creates a plan from a schema, which is used during the call only.
    ///
    /// - Throws: `.invalidArgument` for a damaged schema, an unknown column, or a property with two columns.
    ///   `.typeMismatch` for a column whose type the property does not take.
    init(
        _ schema: UnsafePointer<platform_arrow_schema>, _ entity: Entity, _ options: ArrowImportOptions,
        isUpsert: Bool = false
    ) throws {
        self.entity = entity
        let root = schema.pointee
        guard let format = root.format, String(cString: format) == "+s" else {
            let name = root.format.map { arrowTypeName(String(cString: $0)) } ?? "a schema without a format"
            throw CoreError(
                .typeMismatch,
                "the Arrow stream for \(entity.name) has \(name) instead of record batches; pass a table with named "
                    + "columns", entity: entity.name, key: "stream")
        }
        guard 0...Int64(Int32.max) ~= root.n_children, root.n_children == 0 || root.children != nil else {
            throw ArrowImportPlan.damaged("states \(root.n_children) columns, but does not contain them", entity)
        }
        fieldCount = root.n_children
        let fields = try (0..<Int(fieldCount)).map { place in
            guard let field = root.children[place], field.pointee.release != nil else {
                throw ArrowImportPlan.damaged("does not contain the column with the index \(place)", entity)
            }
            return (name: field.pointee.name.map { String(cString: $0) } ?? "", schema: UnsafePointer(field))
        }
        let names = fields.map(\.name)
        for name in options.columns.keys.sorted() where !names.contains(name) {
            let hint = nearestName(to: name, among: names).map { "; did you mean \"\($0)\"?" } ?? ""
            throw CoreError(
                .invalidArgument, "the Arrow stream for \(entity.name) has no column \"\(name)\"\(hint)",
                entity: entity.name, key: name)
        }
        var builder = ArrowPlanBuilder(entity, options, isUpsert: isUpsert)
        for (place, field) in fields.enumerated() {
            if let input = try builder.add(field.name, field.schema) { inputs.append((place, input)) }
        }
        guard !inputs.isEmpty else {
            throw CoreError(
                .invalidArgument,
                "the Arrow import of \(entity.name) does not set a property; name columns after properties, or map "
                    + "columns to properties with the option columns", entity: entity.name, key: "columns")
        }
        (attributes, relationships, identity) = try builder.finish()
    }

    /// Refers to the values of a batch, which must stay valid until the next call.
    func load(_ batch: UnsafePointer<platform_arrow_array>) throws {
        let array = batch.pointee
        base += count
        count = 0
        let limit = Int64(Int32.max) << 16
        guard 0...limit ~= array.length, 0...limit ~= array.offset else {
            throw ArrowImportPlan.damagedBatch(
                "has the length \(array.length) and the offset \(array.offset), but both must be 0 to \(limit)", entity)
        }
        guard array.n_children == fieldCount else {
            throw ArrowImportPlan.damagedBatch(
                "has the column count \(array.n_children), but the column count of the schema is \(fieldCount)", entity)
        }
        guard fieldCount == 0 || array.children != nil else {
            throw ArrowImportPlan.damagedBatch("does not contain its columns", entity)
        }
        for (place, input) in inputs {
            do { try input.load(array.children[place], from: array.offset, count: array.length) } catch let error
                as CoreError
            { throw error.with(entity: entity.name, key: nil) }
        }
        if array.n_buffers > 0, let validity = array.buffers?[0], array.null_count != 0 {
            for row in 0..<Int(array.length) {
                let bit = Int(array.offset) + row
                if validity.load(fromByteOffset: bit >> 3, as: UInt8.self) >> UInt8(bit & 7) & 1 == 0 {
                    throw CoreError(
                        .invalidArgument, "the row is null; leave it out", entity: entity.name, key: "stream"
                    ).inArrowRow(base + row + 1)
                }
            }
        }
        count = Int(array.length)
    }

    private static func damagedBatch(_ problem: String, _ entity: Entity) -> CoreError {
        CoreError(
            .invalidArgument,
            "a record batch of the Arrow stream for \(entity.name) \(problem); report it as a defect of the library "
                + "that exports the stream", entity: entity.name, key: "stream")
    }

    private static func damaged(_ problem: String, _ entity: Entity) -> CoreError {
        CoreError(
            .invalidArgument,
            "the schema of the Arrow stream for \(entity.name) \(problem); report it as a defect of the library that "
                + "exports the stream", entity: entity.name, key: "stream")
    }
}

extension CoreError {
    /// Returns the same error with the number of the row in the Arrow stream, counted from 1.
    func inArrowRow(_ number: Int) -> CoreError { within("row \(number) of the Arrow stream") }
}
