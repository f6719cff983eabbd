import CPlatform
import CorestoneModel
import CorestoneValues
import Glibc
import Synchronization

/// Record batches for whoever understands the C data interface of Arrow.
///
/// It gives the state of the moment when it was made, whatever is saved or changed meanwhile. Any thread may use it, one at a time,
/// and let go of it: it needs neither the context nor its queue any more.
public final class ArrowStream: @unchecked Sendable {
    enum Source {
        /// Rows that are read when they are asked for.
        case rows(ArrowRows)
        case batches(ArraySlice<SharedArrowBatch>)
        case end
    }

    private let row: ArrowField
    private let entity: Entity?
    /// On which the entity and the properties of the columns depend.
    private let model: Model?
    private let batchSize: Int
    private var source: Source
    private var wasRead = false
    private let isInUse = Atomic(false)

    init(_ row: ArrowField, of entity: Entity?, _ source: Source, batchSize: Int) {
        (self.row, self.entity, self.source, self.batchSize) = (row, entity, source, batchSize)
        model = entity?.model
    }

    /// Writes the schema, which the caller owns and releases.
    /// - Parameter place: room for a `struct ArrowSchema`.
    public func exportSchema(to place: UnsafeMutableRawPointer) throws {
        try row.export(to: place.assumingMemoryBound(to: platform_arrow_schema.self), entity: entity)
    }

    /// Writes the next record batch, which the caller owns and releases. False at the end: then it is marked as released.
    /// - Parameter place: room for a `struct ArrowArray`.
    /// - Throws: `.invalidArgument` while another thread is at it, and what reading a store fails with: `.objectGone` when it was
    ///   removed from its coordinator.
    @discardableResult
    public func next(into place: UnsafeMutableRawPointer) throws -> Bool {
        let out = place.assumingMemoryBound(to: platform_arrow_array.self)
        out.initialize(to: platform_arrow_array())
        return try alone {
            wasRead = true
            do { return try nextBatch(out) } catch {
                // What failed would be missing without notice.
                source = .end
                throw error
            }
        }
    }

    /// A stream of its own over the same rows, of the same state. Any thread.
    /// - Throws: `.invalidArgument` when batches were read of this one, and while another thread is at it; what reading a store
    ///   fails with.
    public func copy() throws -> ArrowStream {
        try alone {
            guard !wasRead else {
                throw CoreError(
                    .invalidArgument,
                    "this Arrow stream\(entity.map { " of \($0.name)" } ?? "") was already read; copy it before the first read",
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
                "another thread is reading this Arrow stream\(entity.map { " of \($0.name)" } ?? ""); use it from one thread at a "
                    + "time", entity: entity?.name)
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

// MARK: - As the standard's stream

extension ArrowStream {
    /// The stream that `export` wrote to a place.
    /// - Throws: `.invalidArgument` for one that was released, and for one of somebody else.
    public static func exported(at place: UnsafeMutableRawPointer) throws -> ArrowStream {
        let stream = place.assumingMemoryBound(to: platform_arrow_stream.self)
        guard let release = stream.pointee.release, let exported = ExportedArrowStream.of(stream),
            unsafeBitCast(release, to: Int.self) == unsafeBitCast(ExportedArrowStream.release, to: Int.self)
        else {
            throw CoreError(
                .invalidArgument,
                "the pointer is not an open Arrow stream of this library; pass a stream that was not released")
        }
        return exported.stream
    }

    /// Writes the stream itself, which the caller owns and releases, on any thread. What is read here and there is given once.
    /// - Parameter place: room for a `struct ArrowArrayStream`.
    public func export(to place: UnsafeMutableRawPointer) {
        let out = place.assumingMemoryBound(to: platform_arrow_stream.self)
        out.initialize(
            to: platform_arrow_stream(
                get_schema: { stream, out in
                    out?.initialize(to: platform_arrow_schema())
                    return ExportedArrowStream.asked(stream, out) {
                        try $0.exportSchema(to: UnsafeMutableRawPointer($1))
                    }
                },
                get_next: { stream, out in
                    out?.initialize(to: platform_arrow_array())
                    return ExportedArrowStream.asked(stream, out) { try $0.next(into: UnsafeMutableRawPointer($1)) }
                },
                get_last_error: { stream in ExportedArrowStream.of(stream)?.message },
                release: ExportedArrowStream.release,
                private_data: Unmanaged.passRetained(ExportedArrowStream(self)).toOpaque()))
    }
}

/// What a consumer of a stream holds.
private final class ExportedArrowStream {
    let stream: ArrowStream
    /// What went wrong in the last call, for C.
    private(set) var message: UnsafePointer<CChar>?
    private var text: UnsafeMutablePointer<CChar>?

    init(_ stream: ArrowStream) { self.stream = stream }

    deinit { free(text) }

    static func of(_ stream: UnsafeMutablePointer<platform_arrow_stream>?) -> ExportedArrowStream? {
        guard let data = stream?.pointee.private_data else { return nil }
        return Unmanaged<ExportedArrowStream>.fromOpaque(data).takeUnretainedValue()
    }

    /// Runs a callback: 0, or the `errno` that comes nearest.
    static func asked<Out>(
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
            try asCall { try body(exported.stream, out) }
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

    /// Also how one of ours is told from another's.
    static let release: @convention(c) (UnsafeMutablePointer<platform_arrow_stream>?) -> Void = { stream in
        guard let stream, let data = stream.pointee.private_data else { return }
        stream.pointee.release = nil
        stream.pointee.private_data = nil
        // Locks and connections belong to the parent: what the child has of them stays where it is.
        if !platform_is_forked() { asCall { Unmanaged<ExportedArrowStream>.fromOpaque(data).release() } }
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
