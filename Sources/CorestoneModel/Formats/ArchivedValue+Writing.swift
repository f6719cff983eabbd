import CorestoneFormats
import CorestoneValues

/// Encodes plain data as NSKeyedArchiver does, so that Apple's framework and `decodeArchive` can read the archive.
///
/// The result is deterministic.
///
/// - Throws: `.unsupported` for an object other than an `ArchivedObject`, such as a managed object, or for a value that
///   is nested more than 128 levels deep.
public func encodeArchive(_ value: PropertyValue) throws -> [UInt8] {
    let archiver = KeyedArchiver()
    return archiver.encoded(root: try archiver.plainData(value))
}

extension KeyedArchiver {
    /// Returns the value as plain data for an archive.
    ///
    /// - Throws: as `encodeArchive`.
    func plainData(_ value: PropertyValue, depth: Int = 0) throws -> PropertyListValue {
        guard depth <= PropertyListLimits().depth else {
            throw CoreError(
                .unsupported,
                "the value for the archive is nested more than \(PropertyListLimits().depth) levels deep, which is the limit; "
                    + "flatten it",
                value: value)
        }
        switch value {
        case .null: return add(ClassName("NSNull"), [:])
        case .array(let values): return array(try values.map { try plainData($0, depth: depth + 1) })
        case .set(let values):
            return set(try JSONText.ordered(values).map { try plainData($0, depth: depth + 1) })
        case .dictionary(let entries):
            return dictionary(
                try sortedByBytes(entries.keys).map { ($0, try plainData(entries[$0] ?? .null, depth: depth + 1)) })
        case .object(let object as ArchivedObject): return try fields(of: object, depth: depth)
        case .object(let object):
            throw CoreError(
                .unsupported,
                "\(object.valueDescription) is not plain data and cannot be archived; use numbers, strings, dates, binary data or "
                    + "collections of these, or in a predicate a $variable",
                value: value, objectURI: value.objectURI)
        default: return self.value(value)
        }
    }

    /// Encodes the fields of an object.
    ///
    /// Booleans, integers and doubles are stored inline, where `decodeDoubleForKey:` and similar methods expect them.
    /// Other values are references.
    private func fields(of object: ArchivedObject, depth: Int) throws -> PropertyListValue {
        let number = reserve()
        var fields: [String: PropertyListValue] = [:]
        for name in sortedByBytes(object.fields.keys) where name != "$class" {
            switch object.fields[name] ?? .null {
            case .null: fields[name] = KeyedArchiver.null
            case .bool(let flag): fields[name] = .bool(flag)
            case .int(let number): fields[name] = .integer(number)
            case .double(let number): fields[name] = .real(number)
            case let value: fields[name] = try plainData(value, depth: depth + 1)
            }
        }
        fill(number, ClassName(whole: object.classes), fields)
        return .uid(number)
    }
}
