import CCorestone
import CorestoneGraph
import CorestoneModel
import CorestoneValues

@_cdecl("cst_transformer_register") @implementation
public func cst_transformer_register(
    _ name: cst_string, _ callbacks: UnsafePointer<cst_transformer_callbacks>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        guard callbacks != nil else {
            throw CoreError(.invalidArgument, "callbacks is NULL; there is nothing to register")
        }
        let given = try options(callbacks, cst_transformer_callbacks(), "callbacks")
        // Frees the userdata on failure too.
        let transformer = HostTransformer(given)
        guard given.transform != nil, given.reverse != nil else {
            throw CoreError(.invalidArgument, "callbacks lacks transform or reverse; a transformer needs both")
        }
        ValueTransformers.register(transformer, forName: try name.string("name"))
    }
}

@_cdecl("cst_transformer_unregister") @implementation
public func cst_transformer_unregister(_ name: cst_string, _ error: ErrorOut) -> cst_status {
    outcome(error) { ValueTransformers.unregister(try name.string("name")) ? .ok : .notFound }
}

@_cdecl("cst_object_get_transformed") @implementation
public func cst_object_get_transformed(
    _ pointer: OpaquePointer?, _ key: cst_key, _ out: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_value")
        out.pointee = nil
        let object = try object(pointer)
        guard let value = try object.transformedValue(key: key) else { return }
        guard let value = value as? HostValue else { throw object.isNoHostValue(key: key) }
        out.pointee = value.pointer
    }
}

@_cdecl("cst_object_set_transformed") @implementation
public func cst_object_set_transformed(
    _ pointer: OpaquePointer?, _ key: cst_key, _ value: UnsafeMutableRawPointer?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let object = try object(pointer)
        guard let value else { return try object.setTransformedValue(nil, key: key) }
        guard let transformer = try object.registeredTransformer(key: key) as? HostTransformer else {
            throw object.isNoHostValue(key: key)
        }
        let held = HostValue(value, transformer)
        do { try object.setTransformedValue(held, key: key) } catch {
            held.giveBack()
            throw error
        }
    }
}

extension ManagedObject {
    fileprivate func isNoHostValue(key: UInt32) -> CoreError {
        let name = propertyName(key: key) ?? ""
        return CoreError(
            .typeMismatch,
            "\(objectID.entity.name).\(name) goes through a transformer of the library, or of another language; use its "
                + "bytes", entity: objectID.entity.name, key: name, objectURI: objectID.uri)
    }
}

/// A transformer that a host registered.
private final class HostTransformer: ValueTransformer, @unchecked Sendable {
    private let callbacks: cst_transformer_callbacks
    private let userdata: Userdata

    init(_ callbacks: cst_transformer_callbacks) {
        self.callbacks = callbacks
        userdata = Userdata(callbacks.userdata, callbacks.destroy)
    }

    func free(_ value: UnsafeMutableRawPointer) { callbacks.free_value?(userdata.pointer, value) }

    func bytes(for value: Any) throws -> Bytes {
        guard let value = value as? HostValue, let transform = callbacks.transform else {
            throw CoreError(.typeMismatch, "a host's transformer takes a value of the host's")
        }
        var buffer = cst_buffer()
        defer { cst_buffer_dispose(&buffer) }
        try call { transform(userdata.pointer, value.pointer, &buffer, $0) }
        return Bytes(copying: UnsafeRawBufferPointer(start: buffer.data, count: buffer.data == nil ? 0 : buffer.size))
    }

    func value(for bytes: Bytes) throws -> Any {
        guard let reverse = callbacks.reverse else { throw CoreError(.internal, "there is no reverse") }
        var made: UnsafeMutableRawPointer?
        let view = cst_bytes(data: bytes.buffer.start, size: bytes.count)
        try call { reverse(userdata.pointer, view, &made, $0) }
        guard let made else { throw CoreError(.callback, "the host's reverse made no value and reported no failure") }
        return HostValue(made, self)
    }

    /// The host's failure with its own words.
    private func call(_ body: (ErrorOut) -> cst_status) throws {
        var failure: OpaquePointer?
        let status = body(&failure)
        defer { _ = HandleTable.releaseForHost(token(failure)) }
        guard status < 0 else { return }
        let detail = try? resolve(failure, .error, as: ErrorBox.self).error
        throw CoreError(
            .callback, detail?.message ?? "the host's callback failed with status \(status)",
            children: detail.map { [$0] } ?? [])
    }
}

/// A value of the host's: freed once, when the last that holds it lets go.
private final class HostValue {
    let pointer: UnsafeMutableRawPointer
    private let transformer: HostTransformer
    private var isOurs = true

    init(_ pointer: UnsafeMutableRawPointer, _ transformer: HostTransformer) {
        self.pointer = pointer
        self.transformer = transformer
    }

    /// The call failed: the value remains the host's.
    func giveBack() { isOurs = false }

    deinit { if isOurs { transformer.free(pointer) } }
}
