import CCorestone
import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

@_cdecl("cst_transformer_register") @implementation
public func cst_transformer_register(
    _ name: cst_string, _ callbacks: UnsafePointer<cst_transformer_callbacks>?, _ error: ErrorOut
) -> cst_status {
    boundary(error, taking: callbacks, cst_transformer_callbacks(), { Userdata($0.userdata, $0.destroy) }) {
        given, userdata in
        let name = try name.string("name")
        guard given.transform != nil, given.reverse != nil else {
            let missing = given.transform == nil ? "transform" : "reverse"
            throw CoreError(
                .invalidArgument,
                "callbacks.\(missing) of the transformer \"\(name)\" is NULL; set both transform and reverse",
                key: name)
        }
        ValueTransformers.register(HostTransformer(name, given, userdata), forName: name)
    }
}

@_cdecl("cst_transformer_register_functions") @implementation
public func cst_transformer_register_functions(
    _ name: cst_string, _ transform: cst_string, _ reverse: cst_string, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let name = try name.string("name")
        let transformer = NamedTransformer(name, try transform.string("transform"), try reverse.string("reverse"))
        ValueTransformers.register(transformer, forName: name)
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
        guard let host = try value as? HostValue ?? object.transformedValueAgain(key: key) as? HostValue else {
            throw object.notHostValueError(key: key, found: value)
        }
        out.pointee = host.pointer
    }
}

@_cdecl("cst_object_set_transformed") @implementation
public func cst_object_set_transformed(
    _ pointer: OpaquePointer?, _ key: cst_key, _ value: UnsafeMutableRawPointer?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let object = try object(pointer)
        guard let value else { return try object.setTransformedValue(nil, key: key) }
        guard let maker = try object.maker(key: key) else {
            throw object.notHostValueError(key: key, isSetting: true)
        }
        let held = try maker.wrapped(value)
        do { try object.setTransformedValue(held, key: key) } catch {
            if held.pointer == value { held.releaseOwnership() }
            throw error
        }
    }
}

extension ManagedObject {
    /// Returns the maker of the values that a transformable attribute accepts.
    ///
    /// It is the transformer that the host registered or, for archived values, the class that the model names.
    fileprivate func maker(key: UInt32) throws -> HostValueConverter? {
        let (transformer, className) = try registeredTransformer(key: key)
        if transformer is ArchiveTransformer { return className.flatMap(ArchivableClasses.named) as? HostClass }
        return transformer as? HostValueConverter
    }

    /// Creates the error for a property that does not accept host values.
    ///
    /// - Parameters:
    ///   - isSetting: Whether the caller sets a value. The class of a new value can only come from the model.
    ///   - found: The value of the attribute, if the caller reads it.
    fileprivate func notHostValueError(key: UInt32, isSetting: Bool = false, found: Any? = nil) -> CoreError {
        let name = propertyName(key: key) ?? ""
        let known = try? registeredTransformer(key: key)
        if let plain = found as? PropertyValue, let known, known.0 is ArchiveTransformer, !plain.isArchivedObject {
            return CoreError(
                .typeMismatch,
                "the value of \(objectID.entity.name).\(name) is plain data, not an object of the host; read its bytes "
                    + "with cst_object_get, and decode them with cst_archive_copy_json",
                entity: objectID.entity.name, key: name, objectURI: objectID.uri)
        }
        let remedy =
            if let known, known.0 is ArchiveTransformer {
                isSetting && known.valueClassName == nil
                    ? "name its class in the model with cst_attribute_set_value_class and register the class with "
                        + "cst_archive_register_class"
                    : "register its class\(quoted(archivedClass(of: found) ?? known.valueClassName)) with "
                        + "cst_archive_register_class"
            } else {
                "register its transformer\(quoted(transformerName(key: key))) with cst_transformer_register"
            }
        return CoreError(
            .typeMismatch,
            "\(objectID.entity.name).\(name) is not transformed by the host; \(remedy), or "
                + (isSetting ? "set its bytes with cst_object_set" : "read its bytes with cst_object_get"),
            entity: objectID.entity.name, key: name, objectURI: objectID.uri)
    }
}

extension ManagedObject {
    private func transformerName(key: UInt32) -> String? {
        (try? slot(of: key)).flatMap { entity.properties[$0] as? Attribute }?.valueTransformerName
    }
}

/// Returns the class of an archived object; nil for other values.
private func archivedClass(of value: Any?) -> String? {
    guard let value = value as? PropertyValue, case .object(let object as ArchivedObject) = value else { return nil }
    return object.className
}

/// Returns a name in quotes after a space; an empty string for nil.
private func quoted(_ name: String?) -> String { name.map { " \"\($0)\"" } ?? "" }

extension PropertyValue {
    fileprivate var isArchivedObject: Bool { if case .object(is ArchivedObject) = self { true } else { false } }
}

private func onlyHostValuesError(_ name: String) -> CoreError {
    CoreError(
        .typeMismatch,
        "the transformer \"\(name)\" takes only values set with cst_object_set_transformed; pass the bytes of the "
            + "value", key: name)
}

/// A transformer that a host registered.
private final class HostTransformer: HostValueConverter, ValueTransformer, @unchecked Sendable {
    private let name: String
    private let callbacks: cst_transformer_callbacks

    init(_ name: String, _ callbacks: cst_transformer_callbacks, _ userdata: Userdata) {
        (self.name, self.callbacks) = (name, callbacks)
        super.init(userdata, free: callbacks.free_value)
    }

    func bytes(for value: Any) throws -> Bytes {
        guard let value = value as? HostValue, let transform = callbacks.transform else {
            throw onlyHostValuesError(name)
        }
        return try filled("transform of the transformer \"\(name)\"", key: name) {
            transform(userdata.pointer, value.pointer, $0, $1)
        } read: {
            Bytes(copying: $0)
        }
    }

    func value(for bytes: Bytes) throws -> Any {
        guard let reverse = callbacks.reverse else {
            throw CoreError(
                .internal,
                "the transformer \"\(name)\" does not have the callback reverse; report it as a defect of the library",
                key: name)
        }
        let view = cst_bytes(data: bytes.buffer.start, size: bytes.count)
        return try makeValue("reverse of the transformer \"\(name)\"", key: name) {
            reverse(userdata.pointer, view, $0, $1)
        }
    }
}

/// A transformer of two functions that are registered by name. Its values are `cst_value`s that the library owns.
private final class NamedTransformer: HostValueConverter, ValueTransformer, @unchecked Sendable {
    private let name, transform, reverse: String

    init(_ name: String, _ transform: String, _ reverse: String) {
        (self.name, self.transform, self.reverse) = (name, transform, reverse)
        super.init(Userdata(nil, nil)) { _, value in
            let cell = value?.assumingMemoryBound(to: cst_value.self)
            if let cell { dispose(cell) }
            cell?.deallocate()
        }
    }

    override func wrapped(_ value: UnsafeMutableRawPointer) throws -> HostValue {
        try copy(try hostValue(value.assumingMemoryBound(to: cst_value.self).pointee))
    }

    private func copy(_ value: PropertyValue) throws -> HostValue {
        let cell = UnsafeMutablePointer<cst_value>.allocate(capacity: 1)
        cell.initialize(to: cst_value())
        let held = HostValue(cell, self)
        try putOwned(value, cell)
        return held
    }

    func bytes(for value: Any) throws -> Bytes {
        guard let value = value as? HostValue else { throw onlyHostValuesError(name) }
        let answer = try callFunction(transform, try hostValue(value.pointer.load(as: cst_value.self)))
        switch answer {
        case .bytes(let bytes): return bytes
        case .text(let text): return Bytes(copying: text.utf8)
        default:
            throw CoreError(
                .typeMismatch,
                "the function \"\(transform)\" returned \(answer.kindPhrase) for a value, but must return binary data "
                    + "or a string",
                key: transform, value: answer)
        }
    }

    func value(for bytes: Bytes) throws -> Any { try copy(try callFunction(reverse, .bytes(bytes))) }
}
