import CorestoneValues

/// The evaluation of key paths through objects, dictionaries, collections and collection operators.
public enum KeyPathEvaluation {
    /// Returns the value at a key path. If a value on the path is nil, the result is nil.
    ///
    /// - Throws: `.predicate`, for example for an unknown key or collection operator.
    public static func value(of value: PropertyValue, atKeyPath path: String) throws -> PropertyValue {
        try self.value(of: value, keys: KeyPath(path).keys[...])
    }

    /// Returns the value at a parsed key path.
    public static func value(of value: PropertyValue, path: KeyPath) throws -> PropertyValue {
        try self.value(of: value, keys: path.keys[...])
    }

    static func value(of start: PropertyValue, keys: ArraySlice<KeyName>) throws -> PropertyValue {
        var current = start
        var index = keys.startIndex
        while index < keys.endIndex {
            let key = keys[index]
            index += 1
            switch current {
            case .null: return .null
            case .array(let elements):
                if key.isOperator {
                    return try CollectionOperation.value(key, of: elements, isSet: false, path: keys[index...])
                }
                if key.text == "self" { continue }
                current = .array(try values(of: elements, key: key))
            case .set(let elements):
                if key.isOperator {
                    return try CollectionOperation.value(key, of: Array(elements), isSet: true, path: keys[index...])
                }
                if key.text == "self" { continue }
                current = .set(Set(try values(of: Array(elements), key: key).filter { !$0.isNull }))
            case .object(let object):
                guard let object = object as? any KeyValueCoding else { throw unknown(key, current) }
                if index < keys.endIndex, keys[index].collectionOperator == .count,
                    let count = try object.memberCount(for: key)
                {
                    return .int(Int64(count))
                }
                current = key.text == "self" ? current : try object.value(for: key)
            default:
                current = try value(of: current, key: key)
            }
        }
        return current
    }

    /// Returns the values of the key for all elements.
    ///
    /// The members of a to-many relationship are appended one by one, so a path over several relationships returns the
    /// leaves.
    private static func values(of elements: [PropertyValue], key: KeyName) throws -> [PropertyValue] {
        var found: [PropertyValue] = []
        found.reserveCapacity(elements.count)
        for element in elements {
            let value = try value(of: element, key: key)
            if case .array(let members) = value, case .object(let object as any KeyValueCoding) = element,
                object.hasMembers(for: key)
            {
                found += members
            } else {
                found.append(value)
            }
        }
        return found
    }

    /// Returns the value for one key.
    private static func value(of value: PropertyValue, key: KeyName) throws -> PropertyValue {
        switch value {
        case .null: return .null
        case .dictionary(let values):
            if let value = values[key.text] { return value }
            switch key.text {
            case "self": return value
            case "@count": return .int(Int64(values.count))
            case "@allKeys": return .array(values.keys.sorted().map { .string($0) })
            case "@allValues": return .array(values.sorted { $0.key < $1.key }.map(\.value))
            default:
                if key.isOperator { throw unknown(key, value) }
                return .null
            }
        case .object, .array, .set: return try self.value(of: value, keys: [key])
        default:
            if let found = try value.property(key.text) { return found }
            throw unknown(key, value)
        }
    }

    private static func unknown(_ key: KeyName, _ value: PropertyValue) -> CoreError {
        let near = nearestName(to: key.text, among: value.knownKeys).map { "; did you mean \"\($0)\"?" } ?? ""
        return predicateError(
            "\(value.excerpt) is \(value.kind), which is not key value coding-compliant for the key "
                + "\"\(key.text)\"\(near)",
            key: key.text, value: value)
    }
}
