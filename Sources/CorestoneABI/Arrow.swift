import CCorestone
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The batch size of an export as one array.
private let allRows = Int.max

private func arrowOptions(_ batchSize: Int, _ flags: UInt32) throws -> ArrowOptions {
    let known = UInt32(CST_ARROW_KEYS | CST_ARROW_DECIMAL_TEXT)
    guard flags & ~known == 0 else {
        throw CoreError(
            .unsupported,
            "flags is 0x\(String(flags, radix: 16)); use only CST_ARROW_KEYS and CST_ARROW_DECIMAL_TEXT", key: "flags",
            value: .int(Int64(flags)))
    }
    var options = ArrowOptions()
    // A size above Int.max arrives as a negative number.
    if batchSize != 0 { options.batchSize = batchSize < 0 ? allRows : batchSize }
    options.showsKeys = flags & UInt32(CST_ARROW_KEYS) != 0
    options.showsDecimalsAsText = flags & UInt32(CST_ARROW_DECIMAL_TEXT) != 0
    return options
}

/// Returns a required out parameter, after zeroing its Arrow struct.
///
/// The `release` of the struct is therefore NULL until the export succeeds.
private func emptied<Struct>(
    _ out: UnsafeMutablePointer<Struct>?, _ name: StaticString
) throws -> UnsafeMutablePointer<Struct> {
    let out = try required(out, name)
    UnsafeMutableRawPointer(out).initializeMemory(as: UInt8.self, repeating: 0, count: MemoryLayout<Struct>.size)
    return out
}

/// Exports the schema and the single batch of a stream that was created with `allRows`.
private func export(
    _ stream: ArrowStream, _ schema: UnsafeMutablePointer<ArrowSchema>, _ array: UnsafeMutablePointer<ArrowArray>
) throws {
    try stream.next(into: array)
    do { try stream.exportSchema(to: schema) } catch {
        array.pointee.release(array)
        throw error
    }
}

@_cdecl("cst_context_fetch_arrow") @implementation
public func cst_context_fetch_arrow(
    _ pointer: OpaquePointer?, _ requestPointer: OpaquePointer?, _ batchSize: Int, _ flags: UInt32, _ count: Int,
    _ keyPaths: UnsafePointer<cst_string>?, _ out: UnsafeMutablePointer<ArrowArrayStream>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try emptied(out, "out_stream")
        let context = try onQueue(pointer).context
        try context.fetchArrow(
            request(requestPointer), keyPaths: strings(keyPaths, count, "key_paths"),
            options: arrowOptions(batchSize, flags)
        ).export(to: out)
    }
}

@_cdecl("cst_results_export_arrow") @implementation
public func cst_results_export_arrow(
    _ pointer: OpaquePointer?, _ flags: UInt32, _ count: Int, _ keyPaths: UnsafePointer<cst_string>?,
    _ outSchema: UnsafeMutablePointer<ArrowSchema>?, _ outArray: UnsafeMutablePointer<ArrowArray>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let (schema, array) = (try emptied(outSchema, "out_schema"), try emptied(outArray, "out_array"))
        try export(stream(pointer, allRows, flags, count, keyPaths), schema, array)
    }
}

@_cdecl("cst_results_export_arrow_stream") @implementation
public func cst_results_export_arrow_stream(
    _ pointer: OpaquePointer?, _ batchSize: Int, _ flags: UInt32, _ count: Int, _ keyPaths: UnsafePointer<cst_string>?,
    _ out: UnsafeMutablePointer<ArrowArrayStream>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try emptied(out, "out_stream")
        try stream(pointer, batchSize, flags, count, keyPaths).export(to: out)
    }
}

private func stream(
    _ pointer: OpaquePointer?, _ batchSize: Int, _ flags: UInt32, _ count: Int, _ keyPaths: UnsafePointer<cst_string>?
) throws -> ArrowStream {
    let results = try objectsOnQueue(pointer)
    return try ArrowStream(
        results.results, in: results.nearBox?.takeUnretainedValue().context, of: results.entity,
        keyPaths: strings(keyPaths, count, "key_paths"), options: arrowOptions(batchSize, flags))
}

@_cdecl("cst_rows_export_arrow") @implementation
public func cst_rows_export_arrow(
    _ pointer: OpaquePointer?, _ flags: UInt32, _ outSchema: UnsafeMutablePointer<ArrowSchema>?,
    _ outArray: UnsafeMutablePointer<ArrowArray>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let (schema, array) = (try emptied(outSchema, "out_schema"), try emptied(outArray, "out_array"))
        try export(rowsBox(pointer).stream(arrowOptions(allRows, flags)), schema, array)
    }
}

@_cdecl("cst_rows_export_arrow_stream") @implementation
public func cst_rows_export_arrow_stream(
    _ pointer: OpaquePointer?, _ batchSize: Int, _ flags: UInt32, _ out: UnsafeMutablePointer<ArrowArrayStream>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try emptied(out, "out_stream")
        try rowsBox(pointer).stream(arrowOptions(batchSize, flags)).export(to: out)
    }
}

@_cdecl("cst_arrow_stream_copy") @implementation
public func cst_arrow_stream_copy(
    _ stream: UnsafePointer<ArrowArrayStream>?, _ out: UnsafeMutablePointer<ArrowArrayStream>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        guard let stream else {
            throw CoreError(.invalidArgument, "stream is NULL; pass the stream to be copied", key: "stream")
        }
        let out = try emptied(out, "out_stream")
        try ArrowStream.exported(at: UnsafeMutableRawPointer(mutating: stream)).copy().export(to: out)
    }
}

extension RowsBox {
    fileprivate func stream(_ options: ArrowOptions) throws -> ArrowStream {
        try enter()
        return try ArrowStream(rows, of: entity, columns: requested, options: options)
    }
}
