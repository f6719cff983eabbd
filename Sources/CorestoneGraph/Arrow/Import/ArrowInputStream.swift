import CPlatform
import CorestoneModel
import CorestoneValues
import Glibc

/// A C stream of another library, or of this one, whose record batches are imported.
///
/// It owns the struct, which it moved from the caller, and the current record batch. Both are released exactly once:
/// the batch when the next one is read, and the stream at its end, after a failure, or when this object is deallocated.
final class ArrowInputStream: @unchecked Sendable {
    /// The name of the entity of the objects, for errors.
    private let entity: String
    private let stream: UnsafeMutablePointer<platform_arrow_stream>
    private let batch: UnsafeMutablePointer<platform_arrow_array>

    /// Moves the C stream at an address. The struct at the address is then released, even if the initialiser throws.
    init(moving place: UnsafeMutableRawPointer, for entity: Entity) throws {
        self.entity = entity.name
        let source = place.assumingMemoryBound(to: platform_arrow_stream.self)
        guard source.pointee.release != nil else {
            throw CoreError(
                .invalidArgument, "stream was released or moved; pass an Arrow stream that was not read",
                entity: entity.name, key: "stream")
        }
        stream = .allocate(capacity: 1)
        stream.initialize(to: source.pointee)
        source.pointee.release = nil
        batch = .allocate(capacity: 1)
        batch.initialize(to: platform_arrow_array())
        guard stream.pointee.get_schema != nil, stream.pointee.get_next != nil else {
            throw CoreError(
                .invalidArgument, "stream does not have its callbacks; pass an Arrow stream of the C stream interface",
                entity: entity.name, key: "stream")
        }
    }

    deinit {
        close()
        batch.deallocate()
        stream.deallocate()
    }

    private func close() {
        releaseBatch()
        if let release = stream.pointee.release { release(stream) }
        stream.pointee.release = nil
    }

    private func releaseBatch() {
        if let release = batch.pointee.release { release(batch) }
        batch.pointee = platform_arrow_array()
    }

    /// Passes the schema to `body`, and releases it.
    func withSchema<Result>(_ body: (UnsafePointer<platform_arrow_schema>) throws -> Result) throws -> Result {
        var schema = platform_arrow_schema()
        let failure = stream.pointee.get_schema(stream, &schema)
        guard failure == 0 else { throw failed("did not return its schema", failure) }
        guard let release = schema.release else {
            throw CoreError(
                .invalidArgument,
                "the Arrow stream for \(entity) returned a released schema; report it as a defect of the library "
                    + "that exports the stream", entity: entity, key: "stream")
        }
        defer { release(&schema) }
        return try body(&schema)
    }

    /// Reads the next record batch, and releases the previous one.
    ///
    /// - Returns: The batch, which is valid until the next call; nil at the end.
    /// - Throws: `.callback` with the stream's message if the stream fails.
    func next() throws -> UnsafePointer<platform_arrow_array>? {
        releaseBatch()
        // The stream was closed.
        if stream.pointee.release == nil { return nil }
        let failure = stream.pointee.get_next(stream, batch)
        guard failure == 0 else {
            // The content of the batch is undefined.
            batch.pointee = platform_arrow_array()
            let error = failed("did not return the next record batch", failure)
            close()
            throw error
        }
        guard batch.pointee.release != nil else {
            close()
            return nil
        }
        return UnsafePointer(batch)
    }

    private func failed(_ what: String, _ number: Int32) -> CoreError {
        var cause = String(cString: strerror(number))
        if let text = stream.pointee.get_last_error?(stream) { cause = String(cString: text) }
        return CoreError(
            .callback, "the Arrow stream for \(entity) \(what): \(cause)", entity: entity, key: "stream",
            value: .int(Int64(number)))
    }
}
