import CCorestone
import CorestoneGraph
import CorestoneModel
import CorestoneValues

private let allFlags = UInt64(
    CST_ARROW_IMPORT_NAIVE_UTC | CST_ARROW_IMPORT_IGNORE_UNKNOWN | CST_ARROW_IMPORT_NULL_IF_MISSING
        | CST_ARROW_IMPORT_VALIDATE | CST_ARROW_IMPORT_UPDATE)

/// Reads the options of an import. The progress function is called with the total number of rows at the end only.
private func importOptions(_ pointer: UnsafePointer<cst_arrow_import_options>?) throws
    -> (options: ArrowImportOptions, updates: Bool)
{
    let given = try options(pointer, cst_arrow_import_options(), "options")
    guard given.flags & ~allFlags == 0 else {
        throw CoreError(
            .unsupported, "options.flags is 0x\(String(given.flags, radix: 16)); use only CST_ARROW_IMPORT_ constants",
            key: "flags", value: .decimal(DecimalNumber(mantissa: UInt128(given.flags))))
    }
    func has(_ flag: Int) -> Bool { given.flags & UInt64(flag) != 0 }
    var result = ArrowImportOptions()
    for each in try array(given.columns, given.column_count, "options.columns") {
        let column = try each.column.string("options.columns.column")
        guard
            result.columns.updateValue(try each.property.optionalString("options.columns.property"), forKey: column)
                == nil
        else {
            throw CoreError(
                .invalidArgument, "options.columns lists the column \"\(column)\" twice; list it once", key: "columns",
                value: .string(column))
        }
    }
    result.keys = try strings(given.keys, given.key_count, "options.keys")
    result.treatsNaiveTimestampsAsUTC = has(CST_ARROW_IMPORT_NAIVE_UTC)
    result.ignoresUnknownColumns = has(CST_ARROW_IMPORT_IGNORE_UNKNOWN)
    result.ignoresMissingTargets = has(CST_ARROW_IMPORT_NULL_IF_MISSING)
    result.validates = has(CST_ARROW_IMPORT_VALIDATE)
    if let progress = given.progress {
        let userdata = Userdata(given.progress_userdata, nil)
        result.progress = { rows, isEnd in progress(userdata.pointer, UInt64(rows), isEnd ? UInt64(rows) : 0) }
    }
    return (result, has(CST_ARROW_IMPORT_UPDATE))
}

/// Runs the body of a function that takes a stream.
///
/// The stream is released even if the call is rejected, or if the body does not take it.
private func takingStream(
    _ stream: UnsafeMutablePointer<ArrowArrayStream>?, _ error: ErrorOut,
    _ body: (UnsafeMutableRawPointer) throws -> Void
) -> cst_status {
    let status = boundary(error) {
        guard let stream else {
            throw CoreError(.invalidArgument, "stream is NULL; pass the stream to be imported", key: "stream")
        }
        try body(UnsafeMutableRawPointer(stream))
    }
    if let stream, let release = stream.pointee.release { release(stream) }
    return status
}

private func imported(
    _ pointer: OpaquePointer?, _ entityPointer: OpaquePointer?,
    _ optionsPointer: UnsafePointer<cst_arrow_import_options>?,
    _ body: (Context, Entity, ArrowImportOptions) throws -> Void
) throws {
    let context = try onQueue(pointer).context
    let entity = try entity(entityPointer)
    let (options, updates) = try importOptions(optionsPointer)
    guard !updates else {
        throw CoreError(
            .unsupported,
            "CST_ARROW_IMPORT_UPDATE applies only to batch requests; call cst_context_upsert_arrow without this flag",
            entity: entity.name, key: "flags",
            value: optionsPointer.map { PropertyValue.decimal(DecimalNumber(mantissa: UInt128($0.pointee.flags))) })
    }
    try body(context, entity, options)
}

@_cdecl("cst_context_insert_arrow") @implementation
public func cst_context_insert_arrow(
    _ pointer: OpaquePointer?, _ entityPointer: OpaquePointer?, _ stream: UnsafeMutablePointer<ArrowArrayStream>?,
    _ options: UnsafePointer<cst_arrow_import_options>?, _ outInserted: UnsafeMutablePointer<UInt64>?,
    _ error: ErrorOut
) -> cst_status {
    takingStream(stream, error) { stream in
        outInserted?.pointee = 0
        try imported(pointer, entityPointer, options) { context, entity, options in
            let count = try context.insertArrow(entity, from: stream, options: options)
            outInserted?.pointee = UInt64(count)
        }
    }
}

@_cdecl("cst_context_upsert_arrow") @implementation
public func cst_context_upsert_arrow(
    _ pointer: OpaquePointer?, _ entityPointer: OpaquePointer?, _ stream: UnsafeMutablePointer<ArrowArrayStream>?,
    _ options: UnsafePointer<cst_arrow_import_options>?, _ outInserted: UnsafeMutablePointer<UInt64>?,
    _ outUpdated: UnsafeMutablePointer<UInt64>?, _ error: ErrorOut
) -> cst_status {
    takingStream(stream, error) { stream in
        outInserted?.pointee = 0
        outUpdated?.pointee = 0
        try imported(pointer, entityPointer, options) { context, entity, options in
            let result = try context.upsertArrow(entity, from: stream, options: options)
            outInserted?.pointee = UInt64(result.inserted)
            outUpdated?.pointee = UInt64(result.updated)
        }
    }
}

@_cdecl("cst_batch_insert_set_arrow") @implementation
public func cst_batch_insert_set_arrow(
    _ pointer: OpaquePointer?, _ stream: UnsafeMutablePointer<ArrowArrayStream>?,
    _ options: UnsafePointer<cst_arrow_import_options>?, _ error: ErrorOut
) -> cst_status {
    takingStream(stream, error) { stream in
        let request = try resolve(pointer, .batchRequest, as: BatchRequestBox.self)
        try request.requireInsertion()
        let (options, updates) = try importOptions(options)
        try request.replaceRequest(
            BatchInsertRequest(entity: request.entity(), arrow: stream, options: options, updatesExisting: updates))
    }
}
