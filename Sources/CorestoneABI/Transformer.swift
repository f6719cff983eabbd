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

@_cdecl("cst_transformer_is_registered") @implementation
public func cst_transformer_is_registered(
    _ name: cst_string, _ out: UnsafeMutablePointer<Bool>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        try required(out, "out_registered").pointee = ValueTransformers.isRegistered(try name.string("name"))
    }
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
        guard let maker = try object.maker(key: key) else { throw object.isNoHostValue(key: key) }
        let held = HostValue(value, maker)
        do { try object.setTransformedValue(held, key: key) } catch {
            held.giveBack()
            throw error
        }
    }
}

extension ManagedObject {
    /// Whose values a transformable attribute takes: the transformer's that the host registered, or, where archives stand
    /// for the values, the class's that the model names.
    fileprivate func maker(key: UInt32) throws -> HostValueMaker? {
        let (transformer, className) = try registeredTransformer(key: key)
        if transformer is ArchiveTransformer { return className.flatMap(ArchivableClasses.named) as? HostClass }
        return transformer as? HostTransformer
    }

    fileprivate func isNoHostValue(key: UInt32) -> CoreError {
        let name = propertyName(key: key) ?? ""
        return CoreError(
            .typeMismatch,
            "\(objectID.entity.name).\(name) goes through a transformer of the library or of another language, and its value "
                + "is of no class that cst_archive_register_class made known; use its bytes",
            entity: objectID.entity.name, key: name, objectURI: objectID.uri)
    }
}

/// A transformer that a host registered.
private final class HostTransformer: HostValueMaker, ValueTransformer, @unchecked Sendable {
    private let callbacks: cst_transformer_callbacks

    init(_ callbacks: cst_transformer_callbacks) {
        self.callbacks = callbacks
        super.init(Userdata(callbacks.userdata, callbacks.destroy), free: callbacks.free_value)
    }

    func bytes(for value: Any) throws -> Bytes {
        guard let value = value as? HostValue, let transform = callbacks.transform else {
            throw CoreError(.typeMismatch, "a host's transformer takes a value of the host's")
        }
        return try filled {
            transform(userdata.pointer, value.pointer, $0, $1)
        } read: {
            Bytes(copying: $0)
        }
    }

    func value(for bytes: Bytes) throws -> Any {
        guard let reverse = callbacks.reverse else { throw CoreError(.internal, "there is no reverse") }
        let view = cst_bytes(data: bytes.buffer.start, size: bytes.count)
        return try made("reverse") { reverse(userdata.pointer, view, $0, $1) }
    }
}
