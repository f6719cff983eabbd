import CPlatform
import CorestoneModel
import CorestoneValues
import Glibc
import Synchronization

/// A stream of record batches in Arrow's C data interface.
///
/// The rows are fixed at the stream's creation: later saves and changes do not affect them. Any thread can use the
/// stream, but only one at a time. Any thread can release it. It does not need the context or the context's queue.
public final class ArrowStream: @unchecked Sendable {
    enum Source {
        /// Rows that are read on demand.
        case rows(ArrowRows)
        case batches(ArraySlice<SharedArrowBatch>)
        case end
    }

    private let row: ArrowField
    private let entity: Entity?
    /// The model, which retains the entity and the properties of the columns.
    private let model: Model?
    private let batchSize: Int
    private var source: Source
    private var wasRead = false
    private let isInUse = Atomic(false)

    init(_ row: ArrowField, of entity: Entity?, _ source: Source, batchSize: Int) {
        (self.row, self.entity, self.source, self.batchSize) = (row, entity, source, batchSize)
        model = entity?.model
    }

    /// Writes the schema, which the caller owns and must release.
    ///
    /// - Parameter place: Memory for a `struct ArrowSchema`.
    public func exportSchema(to place: UnsafeMutableRawPointer) throws {
        try row.export(to: place.assumingMemoryBound(to: platform_arrow_schema.self), entity: entity)
    }

    /// Writes the next record batch, which the caller owns and must release.
    ///
    /// At the end, returns false and writes a released batch.
    ///
    /// - Parameter place: Memory for a `struct ArrowArray`.
    /// - Throws: `.invalidArgument` while another thread uses the stream.
    ///   `.objectGone` if the store was removed from its coordinator.
    ///   The errors of reading a store.
    @discardableResult
    public func next(into place: UnsafeMutableRawPointer) throws -> Bool {
        let out = place.assumingMemoryBound(to: platform_arrow_array.self)
        out.initialize(to: platform_arrow_array())
        return try alone {
            wasRead = true
            do { return try nextBatch(out) } catch {
                // The stream ends, because continuing would silently omit the rows of the failed batch.
                source = .end
                throw (error as? CoreError)?.with(entity: entity?.name, key: nil) ?? error
            }
        }
    }

    /// Returns an independent stream of the same rows. Can be called on any thread.
    ///
    /// - Throws: `.invalidArgument` if batches were already read from this stream, or while another thread uses it.
    ///   The errors of reading a store.
    public func copy() throws -> ArrowStream {
        try alone {
            guard !wasRead else {
                throw CoreError(
                    .invalidArgument,
                    "this Arrow stream\(entity.map { " of \($0.name)" } ?? "") was already read; call "
                        + "cst_arrow_stream_copy (copy) before the first read",
                    entity: entity?.name)
            }
            var source = source
            if case .rows(let rows) = source { source = try rows.copy().map { .rows($0) } ?? .end }
            return ArrowStream(row, of: entity, source, batchSize: batchSize)
        }
    }

    private func alone<Result>(_ body: () throws -> Result) throws -> Result {
        guard !isInUse.exchange(true, ordering: .acquiring) else {
            throw CoreError(
                .invalidArgument,
                "another call is using this Arrow stream\(entity.map { " of \($0.name)" } ?? ""); use it from "
                    + "one thread at a time", entity: entity?.name)
        }
        defer { isInUse.store(false, ordering: .releasing) }
        return try body()
    }

    private func nextBatch(_ out: UnsafeMutablePointer<platform_arrow_array>) throws -> Bool {
        switch source {
        case .end: return false
        case .batches(let batches):
            source = .batches(batches.dropFirst())
            guard let first = batches.first else { return false }
            try first.export(to: out)
        case .rows(let rows):
            let builder = ArrowBuilder(row)
            try rows.fill(builder, batchSize)
            guard builder.count > 0 else {
                source = .end
                return false
            }
            try builder.finish(into: out)
        }
        return true
    }
}

// MARK: - C stream interface

extension ArrowStream {
    /// Returns the stream that `export` wrote to an address.
    ///
    /// - Throws: `.invalidArgument` if the stream was released, or if another library exported it.
    public static func exported(at place: UnsafeMutableRawPointer) throws -> ArrowStream {
        let stream = place.assumingMemoryBound(to: platform_arrow_stream.self)
        guard let release = stream.pointee.release, let exported = ExportedArrowStream.of(stream),
            unsafeBitCast(release, to: Int.self) == unsafeBitCast(ExportedArrowStream.release, to: Int.self)
        else {
            let fault = stream.pointee.release == nil ? "was released" : "was exported by another library"
            throw CoreError(
                .invalidArgument, "stream \(fault); pass an open Arrow stream of this library", key: "stream")
        }
        return exported.stream
    }

    /// Writes the stream as a C stream, which the caller owns and can release on any thread.
    ///
    /// Both streams share one position, so each batch is returned once.
    ///
    /// - Parameter place: Memory for a `struct ArrowArrayStream`.
    public func export(to place: UnsafeMutableRawPointer) {
        let out = place.assumingMemoryBound(to: platform_arrow_stream.self)
        out.initialize(
            to: platform_arrow_stream(
                get_schema: { stream, out in
                    out?.initialize(to: platform_arrow_schema())
                    return ExportedArrowStream.runCallback(stream, out) {
                        try $0.exportSchema(to: UnsafeMutableRawPointer($1))
                    }
                },
                get_next: { stream, out in
                    out?.initialize(to: platform_arrow_array())
                    return ExportedArrowStream.runCallback(stream, out) {
                        try $0.next(into: UnsafeMutableRawPointer($1))
                    }
                },
                get_last_error: { stream in ExportedArrowStream.of(stream)?.message },
                release: ExportedArrowStream.release,
                private_data: Unmanaged.passRetained(ExportedArrowStream(self)).toOpaque()))
    }
}

/// The private data of an exported C stream.
private final class ExportedArrowStream {
    let stream: ArrowStream
    /// The error message of the last callback, as a C string; nil if the callback succeeded.
    private(set) var message: UnsafePointer<CChar>?
    private var text: UnsafeMutablePointer<CChar>?

    init(_ stream: ArrowStream) { self.stream = stream }

    deinit { free(text) }

    static func of(_ stream: UnsafeMutablePointer<platform_arrow_stream>?) -> ExportedArrowStream? {
        guard let data = stream?.pointee.private_data else { return nil }
        return Unmanaged<ExportedArrowStream>.fromOpaque(data).takeUnretainedValue()
    }

    /// Runs the body of a callback. Returns 0, or the `errno` value that corresponds to the error.
    static func runCallback<Out>(
        _ stream: UnsafeMutablePointer<platform_arrow_stream>?, _ out: UnsafeMutablePointer<Out>?,
        _ body: (ArrowStream, UnsafeMutablePointer<Out>) throws -> Void
    ) -> Int32 {
        guard let exported = of(stream), let out else { return EINVAL }
        do {
            if platform_is_forked() {
                throw CoreError(
                    .forked,
                    "the process was forked, and an Arrow stream cannot be used in the child; read it in the parent")
            }
            try withCallScope { try body(exported.stream, out) }
            exported.note(nil)
            return 0
        } catch let error as CoreError {
            exported.note(error.message)
            return error.errorNumber
        } catch { return EIO }
    }

    private func note(_ text: String?) {
        if text == nil, message == nil { return }
        free(self.text)
        self.text = text.flatMap { strdup($0) }
        message = UnsafePointer(self.text)
    }

    /// The release callback. Its address also identifies the streams of this library.
    static let release: @convention(c) (UnsafeMutablePointer<platform_arrow_stream>?) -> Void = { stream in
        guard let stream, let data = stream.pointee.private_data else { return }
        stream.pointee.release = nil
        stream.pointee.private_data = nil
        // Locks and connections belong to the parent process, so a forked child leaks its copies.
        if !platform_is_forked() { withCallScope { Unmanaged<ExportedArrowStream>.fromOpaque(data).release() } }
    }
}

extension CoreError {
    fileprivate var errorNumber: Int32 {
        switch status {
        case .noMemory: ENOMEM
        case .invalidArgument, .typeMismatch, .unsupported: EINVAL
        case .cancelled: ECANCELED
        case .storeBusy: EBUSY
        default: EIO
        }
    }
}
