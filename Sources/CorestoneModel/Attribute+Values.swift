import CorestoneValues

extension Attribute {
    /// Converts a value to the type of the attribute. The error states the accepted type.
    ///
    /// A double or float attribute also accepts an integer. A decimal attribute also accepts an integer, and a double
    /// in the range of decimals. A float attribute rounds to single precision. An integer attribute also accepts a
    /// whole double or a boolean, and a boolean attribute 0 and 1. A URI attribute also accepts a string. The elements
    /// of a composite attribute are converted in the same way. Null is accepted, and an attribute of undefined type
    /// accepts any value. Other values are rejected. Errors name `owner`, which may inherit the attribute.
    public func accept(_ value: PropertyValue, for owner: Entity? = nil) throws -> PropertyValue {
        let entityName = (owner ?? entity).name
        switch (type, value) {
        case (_, .null): return value
        case (.integer16, .int(let number)): return try inRange(number, Int64(Int16.min)...Int64(Int16.max), entityName)
        case (.integer32, .int(let number)): return try inRange(number, Int64(Int32.min)...Int64(Int32.max), entityName)
        case (.integer64, .int): return value
        case (.integer16, .double(let real)), (.integer32, .double(let real)), (.integer64, .double(let real)):
            guard let whole = Int64(exactly: real) else { throw notInteger(real, entityName) }
            return try accept(.int(whole), for: owner)
        case (.integer16, .bool(let flag)), (.integer32, .bool(let flag)), (.integer64, .bool(let flag)):
            return .int(flag ? 1 : 0)
        case (.boolean, .bool): return value
        case (.boolean, .int(let number)) where number == 0 || number == 1: return .bool(number == 1)
        case (.double, .double): return value
        case (.float, .double(let real)): return .double(Double(Float(real)))
        case (.double, .int(let number)): return .double(Double(number))
        case (.float, .int(let number)): return .double(Double(Float(number)))
        case (.decimal, .decimal): return value
        case (.decimal, .int(let number)): return .decimal(DecimalNumber(number))
        case (.decimal, .double(let real)):
            guard let decimal = DecimalNumber(real) else {
                throw real.isFinite ? beyondDecimals(real, entityName) : notFinite(real, entityName)
            }
            return .decimal(decimal)
        case (.string, .text), (.date, .date), (.binary, .bytes), (.uuid, .uuid), (.uri, .uri): return value
        case (.uri, .text(let text)): return .uri(text)
        case (.transformable, .bytes): return value
        case (.composite, .dictionary(let entries)): return try accept(elements: entries, for: owner)
        case (.undefined, _): return value
        default: throw mismatch(value, entityName)
        }
    }

    private func inRange(_ number: Int64, _ range: ClosedRange<Int64>, _ entityName: String) throws -> PropertyValue {
        if range.contains(number) { return .int(number) }
        let tooLarge = number > range.upperBound
        throw CoreError(
            .validation, code: tooLarge ? .validationNumberTooLarge : .validationNumberTooSmall,
            "\(entityName).\(path) takes \(range.lowerBound) to \(range.upperBound) (\(type.displayName)), "
                + "not \(number)", entity: entityName, key: path, value: .int(number))
    }

    private func mismatch(_ value: PropertyValue, _ entityName: String) -> CoreError {
        var taken = type == .transformable ? "binary data (Transformable)" : type.displayName
        if type == .boolean, case .int = value { taken += ", 0 or 1" }
        return CoreError(
            .typeMismatch, "\(entityName).\(path) takes \(taken), not \(value.kindPhrase)",
            entity: entityName, key: path, value: value)
    }

    private func notFinite(_ real: Double, _ entityName: String) -> CoreError {
        CoreError(
            .typeMismatch, "\(entityName).\(path) takes a finite number (\(type.displayName)), not \(real)",
            entity: entityName, key: path, value: .double(real))
    }

    private func beyondDecimals(_ real: Double, _ entityName: String) -> CoreError {
        CoreError(
            .typeMismatch,
            "\(entityName).\(path) takes a decimal with an exponent from -128 to 127, not \(real)",
            entity: entityName, key: path, value: .double(real))
    }

    private func notInteger(_ real: Double, _ entityName: String) -> CoreError {
        guard real.isFinite, real == real.rounded(), let range = type.integerRange else {
            return mismatch(.double(real), entityName)
        }
        return CoreError(
            .typeMismatch,
            "\(entityName).\(path) takes \(range.lowerBound) to \(range.upperBound) (\(type.displayName)), "
                + "not \(real)", entity: entityName, key: path, value: .double(real))
    }
}

extension PropertyValue {
    /// The type of the value with an article, for messages: "a string".
    package var kindPhrase: String {
        switch self {
        case .null, .bytes: kindName
        case .int, .object: "an \(kindName)"
        default: "a \(kindName)"
        }
    }

    /// The type of the value, for messages, with the value of an integer, a double or an object: "integer (5)".
    public var kindName: String {
        switch self {
        case .null: "null"
        case .bool: "boolean"
        case .int(let number): "integer (\(number))"
        case .double(let number): "floating-point number (\(number))"
        case .decimal: "decimal"
        case .text: "string"
        case .bytes: "binary data"
        case .date: "date"
        case .uuid: "UUID"
        case .uri: "URI"
        case .object(let object): "object (\(object.valueDescription))"
        case .array: "list"
        case .set: "set"
        case .dictionary: "dictionary"
        }
    }
}
