import CZlib
import CorestoneValues

/// Compresses with raw DEFLATE, without a header: the form of `Z_MODELCACHE`.
///
/// - Throws: `.noMemory` if zlib cannot allocate memory.
public func deflateRaw(_ bytes: [UInt8]) throws -> [UInt8] {
    let stream = newStream()
    defer { stream.deallocate() }
    guard cst_deflate_raw_init(stream, Z_DEFAULT_COMPRESSION) == Z_OK else { throw outOfMemory("compress") }
    defer { deflateEnd(stream) }
    var output: [UInt8] = []
    let status = pump(stream, bytes, into: &output, limit: .max) { deflate($0, $1 ? Z_FINISH : Z_NO_FLUSH) }
    guard status == Z_STREAM_END else { throw outOfMemory("compress") }
    return output
}

/// Decompresses raw DEFLATE.
///
/// - Parameter limit: the maximum size of the result in bytes. The limit prevents a small file from exhausting memory.
/// - Throws: `.storeCorrupt` if the bytes are not DEFLATE, are truncated, or exceed the limit when decompressed.
///   `.noMemory` if zlib cannot allocate memory.
public func inflateRaw(_ bytes: [UInt8], limit: Int = 64 << 20) throws -> [UInt8] {
    let stream = newStream()
    defer { stream.deallocate() }
    guard cst_inflate_raw_init(stream) == Z_OK else { throw outOfMemory("decompress") }
    defer { inflateEnd(stream) }
    var output: [UInt8] = []
    let status = pump(stream, bytes, into: &output, limit: limit) { flow, _ in inflate(flow, Z_NO_FLUSH) }
    switch status {
    case Z_STREAM_END where output.count <= limit: return output
    case Z_MEM_ERROR: throw outOfMemory("decompress")
    case Z_OK, Z_BUF_ERROR, Z_STREAM_END:
        guard output.count > limit else {
            throw CoreError(
                .storeCorrupt, code: .persistentStoreOpen,
                "the compressed model in the store is truncated; pass the model that the store was written with")
        }
        throw CoreError(
            .storeCorrupt, code: .persistentStoreOpen,
            "the compressed model would expand to more than \(limit) bytes, which is the limit; split the model",
            value: .int(Int64(limit)))
    default:
        throw CoreError(
            .storeCorrupt, code: .persistentStoreOpen,
            "the model in the store is damaged, or not compressed with DEFLATE; pass the model that the store was "
                + "written with")
    }
}

/// Allocates a stream with a stable address, because zlib stores the address.
private func newStream() -> z_streamp {
    let stream = z_streamp.allocate(capacity: 1)
    stream.initialize(to: z_stream())
    return stream
}

/// Processes the input in pieces, because the stream's counters have 32 bits.
///
/// Stops when the stream ends, fails or stalls, or when the output exceeds the limit.
private func pump(
    _ stream: z_streamp, _ input: [UInt8], into output: inout [UInt8], limit: Int,
    _ step: (z_streamp, Bool) -> Int32
) -> Int32 {
    let pieceSize = 1 << 20
    return input.withUnsafeBufferPointer { source in
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 1 << 14) { chunk in
            var consumed = 0
            while true {
                let piece = min(pieceSize, source.count - consumed)
                stream.pointee.next_in = source.baseAddress.map { UnsafeMutablePointer(mutating: $0 + consumed) }
                stream.pointee.avail_in = UInt32(piece)
                stream.pointee.next_out = chunk.baseAddress
                stream.pointee.avail_out = UInt32(chunk.count)
                let status = step(stream, consumed + piece == source.count)
                let produced = chunk.count - Int(stream.pointee.avail_out)
                let taken = piece - Int(stream.pointee.avail_in)
                consumed += taken
                output.append(contentsOf: chunk[..<produced])
                if status != Z_OK || output.count > limit || (produced == 0 && taken == 0) { return status }
            }
        }
    }
}

private func outOfMemory(_ action: String) -> CoreError {
    CoreError(.noMemory, "out of memory: cannot \(action) the model; free some memory")
}
