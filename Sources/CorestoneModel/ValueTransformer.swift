import CorestoneFormats
import CorestoneValues

/// A converter of the values of a transformable attribute to and from their stored bytes.
///
/// Values must be treated as immutable. The functions are called on the thread that uses the object, possibly on
/// several threads at the same time.
public protocol ValueTransformer: Sendable {
    /// Returns the bytes of a value. The value is never nil.
    func bytes(for value: Any) throws -> Bytes
    /// Returns the value for bytes, whose source may be an untrusted file.
    func value(for bytes: Bytes) throws -> Any
}

/// The process-wide registry of transformers, by name.
public enum ValueTransformers {
    private static let registered = Locked<[String: any ValueTransformer]>([:])

    /// Registers a transformer under a name, and replaces an existing one.
    ///
    /// It overrides a built-in transformer of that name.
    public static func register(_ transformer: any ValueTransformer, forName name: String) {
        let former = registered.withLock { all in
            defer { all[name] = transformer }
            return all[name]
        }
        // The former transformer is released outside the lock, because its deallocation can run code of the
        // application.
        withExtendedLifetime(former) {}
    }

    /// Registers a transformer that consists of two functions.
    public static func register<Value>(
        _ name: String, transform: @escaping @Sendable (Value) throws -> Bytes,
        reverse: @escaping @Sendable (Bytes) throws -> Value
    ) {
        register(FunctionTransformer(transform: transform, reverse: reverse), forName: name)
    }

    /// Deregisters a transformer. Returns false if the name was not registered.
    @discardableResult
    public static func unregister(_ name: String) -> Bool {
        let former = registered.withLock { $0.removeValue(forKey: name) }
        return withExtendedLifetime(former) { former != nil }
    }

    /// Whether a transformer is registered under a name. Built-in transformers are not registered.
    package static func isRegistered(_ name: String) -> Bool { registered.withLock { $0[name] != nil } }

    /// Returns the transformer of a name: a registered one, or else a built-in one.
    ///
    /// nil, `NSSecureUnarchiveFromData` and `NSKeyedUnarchiveFromData` (also with the suffix `Transformer`) select the
    /// transformer for keyed archives, and `JSON` selects that for JSON. Returns nil for an unknown name.
    public static func named(_ name: String?) -> (any ValueTransformer)? {
        guard let name else { return ArchiveTransformer() }
        if let known = registered.withLock({ $0[name] }) { return known }
        switch name {
        case "NSSecureUnarchiveFromData", "NSSecureUnarchiveFromDataTransformer", "NSKeyedUnarchiveFromData",
            "NSKeyedUnarchiveFromDataTransformer":
            return ArchiveTransformer()
        case "JSON": return JSONTransformer()
        default: return nil
        }
    }
}

/// A transformer whose bytes represent plain data, so that predicates can access the data.
package protocol PlainDataTransformer: ValueTransformer {
    func plainData(for bytes: Bytes) throws -> PropertyValue
}

/// The transformer for plain data and objects of registered classes as keyed archives.
///
/// See `decodeArchive` and `ArchivableClasses`.
package struct ArchiveTransformer: PlainDataTransformer {
    package func bytes(for value: Any) throws -> Bytes {
        Bytes(try encodeArchive(try ArchivableClasses.archived(value)))
    }
    package func value(for bytes: Bytes) throws -> Any { try ArchivableClasses.restored(try plainData(for: bytes)) }
    package func plainData(for bytes: Bytes) throws -> PropertyValue { try decodeArchive(bytes.array) }
}

/// The transformer for null, Booleans, integers, finite doubles, strings, arrays and dictionaries as JSON.
struct JSONTransformer: PlainDataTransformer {
    func bytes(for value: Any) throws -> Bytes {
        guard let value = value as? PropertyValue else {
            throw CoreError(
                .typeMismatch, "the transformer takes a PropertyValue, not a value of type \(type(of: value))")
        }
        try requireJSON(value)
        return Bytes(Array(JSONText(plain: value).text.utf8))
    }
    func value(for bytes: Bytes) throws -> Any { try plainData(for: bytes) }
    func plainData(for bytes: Bytes) throws -> PropertyValue { try decodeJSON(bytes.array) }

    private func requireJSON(_ value: PropertyValue) throws {
        switch value {
        case .null, .bool, .int, .text: break
        case .double(let number) where number.isFinite: break
        case .array(let values): try values.forEach(requireJSON)
        case .dictionary(let entries): try entries.values.forEach(requireJSON)
        default:
            let isSet = if case .set = value { true } else { false }
            throw CoreError(
                .typeMismatch,
                "the transformer does not support \(value.kindPhrase); convert it to "
                    + "\(isSet ? "a list" : "a string or a finite number"), or use another transformer",
                value: value)
        }
    }
}

private struct FunctionTransformer<Value>: ValueTransformer {
    let transform: @Sendable (Value) throws -> Bytes
    let reverse: @Sendable (Bytes) throws -> Value

    func bytes(for value: Any) throws -> Bytes {
        guard let value = value as? Value else {
            let plain = value as? PropertyValue
            throw CoreError(
                .typeMismatch,
                "the transformer takes a value of type \(Value.self), not \(plain?.kindPhrase ?? "\(type(of: value))")",
                value: plain)
        }
        return try transform(value)
    }
    func value(for bytes: Bytes) throws -> Any { try reverse(bytes) }
}
