import CorestoneValues

/// What stands between the values of a transformable attribute and the bytes that a store keeps for them.
///
/// Values count as immutable. Called on whatever thread uses the object, on several at once.
public protocol ValueTransformer: Sendable {
    /// The bytes for a value that is there.
    func bytes(for value: Any) throws -> Bytes
    /// The value for bytes, which may come from a stranger's file.
    func value(for bytes: Bytes) throws -> Any
}

/// The transformers of the process, by name.
public enum ValueTransformers {
    private static let registered = Locked<[String: any ValueTransformer]>([:])

    /// Makes a transformer known, instead of a former one of that name. It hides a built-in one of the same name.
    public static func register(_ transformer: any ValueTransformer, forName name: String) {
        let former = registered.withLock { all in
            defer { all[name] = transformer }
            return all[name]
        }
        // Outside the lock: its end may be the host's.
        withExtendedLifetime(former) {}
    }

    /// Makes a transformer of two functions known.
    public static func register<Value>(
        _ name: String, transform: @escaping @Sendable (Value) throws -> Bytes,
        reverse: @escaping @Sendable (Bytes) throws -> Value
    ) {
        register(FunctionTransformer(transform: transform, reverse: reverse), forName: name)
    }

    /// Forgets a transformer that was registered; false when there was none of that name.
    @discardableResult
    public static func unregister(_ name: String) -> Bool {
        let former = registered.withLock { $0.removeValue(forKey: name) }
        return withExtendedLifetime(former) { former != nil }
    }

    /// Whether a transformer was registered under a name; built-in ones were not.
    package static func isRegistered(_ name: String) -> Bool { registered.withLock { $0[name] != nil } }

    /// The transformer of a name. Without one, and by the names of Apple's own, plain data in keyed archives; `JSON` is
    /// JSON. nil for a name that nobody registered.
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

/// One whose bytes are plain data, so that predicates can look into them.
package protocol PlainDataTransformer: ValueTransformer {
    func plainData(for bytes: Bytes) throws -> PropertyValue
}

/// Keyed archives of plain data and of objects of registered classes; see `decodeArchive` and `ArchivableClasses`.
package struct ArchiveTransformer: PlainDataTransformer {
    package func bytes(for value: Any) throws -> Bytes {
        Bytes(try encodeArchive(try ArchivableClasses.archived(value)))
    }
    package func value(for bytes: Bytes) throws -> Any { try ArchivableClasses.restored(try plainData(for: bytes)) }
    package func plainData(for bytes: Bytes) throws -> PropertyValue { try decodeArchive(bytes.array) }
}

/// Null, booleans, numbers, strings, arrays and dictionaries as JSON.
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
            throw CoreError(
                .typeMismatch,
                "the transformer does not support \(value.kindPhrase); convert it to a string or a finite number, or use "
                    + "another transformer",
                value: value)
        }
    }
}

private struct FunctionTransformer<Value>: ValueTransformer {
    let transform: @Sendable (Value) throws -> Bytes
    let reverse: @Sendable (Bytes) throws -> Value

    func bytes(for value: Any) throws -> Bytes {
        guard let value = value as? Value else {
            throw CoreError(
                .typeMismatch, "the transformer takes a value of type \(Value.self), not \(type(of: value))",
                value: value as? PropertyValue)
        }
        return try transform(value)
    }
    func value(for bytes: Bytes) throws -> Any { try reverse(bytes) }
}
