import CorestonePredicate
import CorestoneValues

extension Property {
    /// Applies the settings that attributes and relationships share.
    func describe(_ definition: PropertyDefinition, _ place: TextPlace) throws {
        for (condition, warning) in definition.validation {
            let predicate = try place.naming { try Predicate.parse(format: condition) }
            try addValidation(PredicateText(predicate), warning: warning)
        }
        for (key, value) in definition.userInfo { try setUserInfo(value, forKey: key) }
        if let identifier = definition.renamingIdentifier { try setRenamingIdentifier(identifier) }
    }
}

extension Attribute {
    /// Applies a definition to a new attribute or element.
    func fill(_ definition: PropertyDefinition, _ place: TextPlace) throws {
        try setAllowsExternalStorage(definition.allowsExternalStorage)
        try setPreservesValueInHistory(definition.preservesValueInHistory)
        try setAllowsNaN(definition.allowsNaN)
        try setValueTransformerName(definition.transformer)
        if let derivation = definition.derivation {
            let expression = ExpressionText(derivation)
            let filter = definition.derivationFilter.map { PredicateText($0) }
            try readingDerivation {
                _ = try filter?.required()
                _ = try expression.required()
            }
            try setDerivation(Derivation(expression, filter: filter))
        }
        try addElements(definition, place)
        if definition.minimum != nil || definition.maximum != nil {
            try setBounds(
                least: try bound(definition.minimum, "minimum", place),
                greatest: try bound(definition.maximum, "maximum", place))
        }
        if let pattern = definition.pattern { try place.naming { try setPattern(pattern) } }
        try describe(definition, place)
    }

    /// Adds the elements of a composite attribute, and sets the default value of any attribute.
    ///
    /// The default of a composite attribute is an object with defaults of its elements. An element that is missing from
    /// this object keeps its own default.
    private func addElements(_ definition: PropertyDefinition, _ place: TextPlace) throws {
        guard let elements = definition.elements else {
            if let value = definition.defaultValue {
                try setDefaultValue(try value.read(as: type, place, orWrite: "default"))
            }
            return
        }
        var defaults: [String: PropertyValue] = [:]
        if case .json(.dictionary(let entries))? = definition.defaultValue {
            try requireElements(entries.keys.sorted(), elements.map(\.name), place)
            defaults = entries
        } else if let value = definition.defaultValue?.value, !value.isNull {
            throw place.error(
                " is composite, and its default must be an object with defaults of its elements, not \(value.excerpt)",
                value: value)
        }
        for (name, definition) in elements {
            var definition = definition
            if let value = defaults[name] { definition.defaultValue = .json(value) }
            let place = place.element(name)
            guard case .attribute(let type) = definition.kind else { continue }
            let element = try addNewElement(named: name, type: type, isOptional: definition.isOptional)
            try element.fill(definition, place)
        }
    }

    private func requireElements(_ names: [String], _ known: [String], _ place: TextPlace) throws {
        let all = Set(known)
        for name in names where !all.contains(name) {
            throw place.unknown(
                name, " has no element \"\(name)\"", among: known,
                remedy: known.isEmpty || known.count > 10 ? "add the element, or correct the name" : nil)
        }
    }

    /// Reads a bound. The bounds of a string are lengths.
    ///
    /// - Parameter name: "minimum" or "maximum", for errors.
    private func bound(
        _ value: PropertyDefinition.Value?, _ name: String, _ place: TextPlace
    ) throws -> PropertyValue? {
        // A type that does not support bounds cannot read the value; `setBounds` reports the error.
        guard type.boundCodes != nil else { return value.map { _ in .null } }
        if type == .string, case .written(let text)? = value, Int64(text) == nil {
            throw place.error(": the \(name) length \"\(text)\" is not a 64-bit integer", value: .string(text))
        }
        return try value?.read(as: type == .string ? .integer64 : type, place, orWrite: name)
    }
}

extension PropertyDefinition.Value {
    fileprivate var value: PropertyValue {
        switch self {
        case .written(let text): .string(text)
        case .json(let value): value
        }
    }

    /// The value as a number of members; nil for a text and for a JSON value out of range.
    var count: UInt32? { if case .json(.int(let number)) = self { UInt32(exactly: number) } else { nil } }

    /// Reads the value for an attribute of a type.
    ///
    /// - Parameter option: the option for the value in an object, for the error that a line cannot contain it.
    func read(as type: AttributeType, _ place: TextPlace, orWrite option: String) throws -> PropertyValue {
        switch self {
        case .written(let text):
            guard type.isWritable else {
                let remedy = type == .objectID ? "remove the value" : "write an object with \"\(option)\""
                throw place.error(
                    " is of type \(type.displayName), whose values cannot be written in a line; \(remedy)",
                    value: .string(text))
            }
            return try PropertyDefinition.Value.read(text, as: type, place)
        // A string represents a value of a type other than String only if JSON does not support the type.
        case .json(.text(let text)) where type.isTextInJSON:
            return try PropertyDefinition.Value.read(text.string, as: type, place)
        case .json(let value): return value
        }
    }

    private static func read(_ text: String, as type: AttributeType, _ place: TextPlace) throws -> PropertyValue {
        let found: PropertyValue?
        switch type {
        case .integer16, .integer32, .integer64: found = Int64(text).map { .int($0) }
        case .double, .float: found = Double(text).map { .double($0) }
        case .decimal: found = (try? DecimalNumber(text)).map { .decimal($0) }
        case .boolean:
            let flags = ["true": true, "yes": true, "1": true, "false": false, "no": false, "0": false]
            found = flags[text.lowercased()].map { .bool($0) }
        case .string, .uri: found = .string(unquoted(text))
        case .uuid: found = UUIDValue(text).map { .uuid($0) }
        case .date:
            do { found = .date(try ReferenceDate.parse(text)) } catch let error as CoreError {
                throw place.error(": \(error.message)", value: .string(text))
            }
        case .binary, .transformable: found = decodeBase64(Array(text.utf8)).map { .bytes(Bytes($0)) }
        case .undefined, .objectID, .composite: found = nil
        }
        guard let found else {
            throw place.error(
                ": \"\(text)\" is not a value of type \(type.displayName)\(type.form(missedBy: text))",
                value: .string(text))
        }
        return found
    }

    private static func unquoted(_ text: String) -> String {
        guard text.utf8.count >= 2, let first = text.utf8.first, first == text.utf8.last,
            first == UInt8(ascii: "\"") || first == UInt8(ascii: "'")
        else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.dropFirst().dropLast()))
    }
}

extension AttributeType {
    /// Whether a line can contain a value of the type.
    fileprivate var isWritable: Bool {
        switch self {
        case .binary, .transformable, .undefined, .objectID, .composite: false
        default: true
        }
    }

    /// Whether a JSON string must be parsed to a value of the type.
    fileprivate var isTextInJSON: Bool {
        switch self {
        case .decimal, .date, .uuid, .binary, .transformable: true
        default: false
        }
    }

    /// Returns the range or form that the text does not match, for an error message.
    ///
    /// Empty if the type implies the form.
    fileprivate func form(missedBy text: String) -> String {
        switch self {
        case .boolean: return "; write true or false"
        case .binary, .transformable: return "; write it in base64"
        default: break
        }
        let isInteger = Double(text) != nil && text.utf8.allSatisfy { 0x30...0x39 ~= $0 || $0 == 0x2B || $0 == 0x2D }
        guard isInteger, let range = integerRange else { return "" }
        return ": the range is \(range.lowerBound) to \(range.upperBound)"
    }
}
