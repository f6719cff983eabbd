import CorestoneValues

/// Plain data as NSKeyedArchiver writes it, so that Apple's framework reads it: what `decodeArchive` reads.
///
/// The same value always gives the same bytes.
/// - Throws: `.unsupported` for a managed object, and for what is nested more than 128 deep.
public func encodeArchive(_ value: PropertyValue) throws -> [UInt8] {
    let archiver = KeyedArchiver()
    return archiver.encoded(root: try archiver.plainData(value))
}

extension KeyedArchiver {
    /// - Throws: as `encodeArchive`.
    func plainData(_ value: PropertyValue, depth: Int = 0) throws -> PropertyListValue {
        guard depth <= PropertyListLimits().depth else {
            throw CoreError(
                .unsupported,
                "the value is nested more than \(PropertyListLimits().depth) levels deep, which is the limit; flatten it",
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
                    + "collections of these",
                value: value)
        default: return self.value(value)
        }
    }

    /// Numbers lie in an object's fields as they are, where `decodeDoubleForKey:` and its like look for them; all else is
    /// referred to.
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
