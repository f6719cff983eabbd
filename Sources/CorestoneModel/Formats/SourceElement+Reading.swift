import CorestonePredicate
import CorestoneValues

extension SourceElement {
    /// Removes an attribute and returns its value. Attributes that remain after the reading are unknown.
    @discardableResult
    mutating func take(_ name: String) -> String? { attributes.removeValue(forKey: name) }

    /// Removes a flag and returns its value. An invalid flag is not removed, and counts as false.
    mutating func takeFlag(_ name: String) -> Bool {
        guard let flag = attributes[name].flatMap(SourceElement.flag) else { return false }
        take(name)
        return flag
    }

    /// Removes a number of members and returns it. An invalid number is not removed.
    mutating func takeCount(_ name: String) -> UInt32? {
        guard let count = attributes[name].flatMap({ UInt32($0) }) else { return nil }
        take(name)
        return count
    }

    func flag(_ name: String) -> Bool { attributes[name].flatMap(SourceElement.flag) ?? false }

    /// Parses YES and NO, and the forms of other writers; returns nil for other texts.
    static func flag(_ text: String) -> Bool? {
        switch text {
        case "YES", "true", "1": true
        case "NO", "false", "0": false
        default: nil
        }
    }

    /// Returns the value of a required attribute.
    ///
    /// - Parameters:
    ///   - entity: the entity that contains the element, for errors.
    ///   - place: the part that contains the element, for errors; nil for the entity.
    func required(_ name: String, of entity: Entity? = nil, in place: String? = nil) throws -> String {
        if let text = attributes[name] { return text }
        throw modelError(
            "the source model has an element <\(self.name)> \((place ?? entity?.name).map { "in \($0) " } ?? "")"
                + "without the XML attribute \"\(name)\"; add the attribute",
            entity: entity?.name, key: attributes["name"])
    }

    /// The entries of a `<userInfo>`.
    var entries: [(String, String)] {
        elements.compactMap { entry in
            guard entry.name == "entry" else { return nil }
            return entry.attributes["key"].map { ($0, entry.attributes["value"] ?? "") }
        }
    }

    /// Returns the type of an `<attribute>`; undefined if the element does not specify it.
    ///
    /// - Parameter composite: the composite attribute that contains the element, for errors.
    func attributeType(of entity: Entity, in composite: Attribute? = nil) throws -> AttributeType {
        guard let text = attributes["attributeType"] else { return .undefined }
        if let type = AttributeType(source: text) { return type }
        let name = (composite.map { "\($0.path)." } ?? "") + (attributes["name"] ?? "")
        let types = AttributeType.allCases.map(\.sourceName)
        let remedy = nearestName(to: text, among: types).map { "did you mean \"\($0)\"?" }
        throw modelError(
            "\(entity.name).\(name) has the unknown attribute type \"\(text)\"; "
                + (remedy ?? "use a type of Xcode's model editor, such as \"Integer 64\" or \"String\""),
            entity: entity.name, key: name, value: .string(text))
    }

    /// Removes the default value and returns it. A value that is invalid for the type is not removed.
    mutating func takeDefault(of type: AttributeType) -> PropertyValue? {
        let name = type == .date ? "defaultDateTimeInterval" : "defaultValueString"
        guard let text = attributes[name], let value = type.value(source: text) ?? type.leadingInteger(text) else {
            return nil
        }
        take(name)
        return value
    }

    /// Removes the bounds and the pattern of values, and returns them as validation rules with Core Data's codes.
    ///
    /// Invalid bounds are not removed.
    mutating func takeRules(of type: AttributeType) -> [ValidationRule] {
        var rules: [ValidationRule] = []
        let names =
            type == .date ? ("minDateTimeInterval", "maxDateTimeInterval") : ("minValueString", "maxValueString")
        let bound = type == .string ? AttributeType.integer64 : type
        for (name, isLeast) in [(names.0, true), (names.1, false)] {
            guard let value = attributes[name].flatMap(bound.value),
                let rule = ValidationRule.bound(value, isLeast: isLeast, of: type)
            else { continue }
            take(name)
            rules.append(rule)
        }
        if type == .string, let pattern = take("regularExpressionString") { rules.append(.pattern(pattern)) }
        return rules
    }
}

extension AttributeType {
    /// Creates a type from its name in source models.
    init?(source text: String) {
        guard let type = AttributeType.allCases.first(where: { $0.sourceName == text }) else { return nil }
        self = type
    }

    /// Parses a value of the type in a source model; returns nil for an invalid text.
    package func value(source text: String) -> PropertyValue? {
        switch self {
        case .integer16: Int16(text).map { .int(Int64($0)) }
        case .integer32: Int32(text).map { .int(Int64($0)) }
        case .integer64: Int64(text).map { .int($0) }
        case .decimal: (try? DecimalNumber(text)).map { .decimal($0) }
        case .double, .float:
            Double(text).flatMap { $0.isFinite ? .double(self == .float ? Double(Float($0)) : $0) : nil }
        case .boolean: text == "YES" || text == "1" ? .bool(true) : text == "NO" || text == "0" ? .bool(false) : nil
        case .string: .string(text)
        case .uri: .uri(Text(text))
        case .uuid: UUIDValue(text).map { .uuid($0) }
        case .date: Double(text).flatMap { $0.isFinite ? .date($0) : nil }
        case .undefined, .binary, .transformable, .objectID, .composite: nil
        }
    }

    /// Parses the number at the start of a text.
    ///
    /// Xcode's compiler does this for default values of integers: `0.0` and even `NO` are 0.
    fileprivate func leadingInteger(_ text: String) -> PropertyValue? {
        guard self == .integer16 || self == .integer32 || self == .integer64 else { return nil }
        let sign = text.hasPrefix("-") ? "-" : ""
        let digits = text.dropFirst(sign.count).prefix { $0.isASCII && $0.isNumber }
        return digits.isEmpty ? .int(0) : value(source: sign + digits)
    }

    fileprivate var value: (String) -> PropertyValue? { { self.value(source: $0) } }
}

extension DeleteRule {
    /// The name of the rule in source models.
    package var sourceText: String {
        switch self {
        case .noAction: "No Action"
        case .nullify: "Nullify"
        case .cascade: "Cascade"
        case .deny: "Deny"
        }
    }

    init?(source text: String) {
        guard let rule = DeleteRule.allCases.first(where: { $0.sourceText == text }) else { return nil }
        self = rule
    }
}

extension FetchRequestTemplate {
    init(_ element: SourceElement) {
        self.init(
            entityName: element.attributes["entity"] ?? "",
            predicate: element.attributes["predicateString"].map { PredicateText($0) })
        func number(_ name: String) -> Int { max(element.attributes[name].flatMap { Int($0) } ?? 0, 0) }
        // Missing flags have the defaults of a new request.
        func flag(_ name: String, _ fallback: Bool) -> Bool {
            element.attributes[name] == nil ? fallback : element.flag(name)
        }
        limit = number("fetchLimit")
        offset = number("fetchOffset")
        batchSize = number("fetchBatchSize")
        resultType = ResultType(rawValue: Int64(number("resultType"))) ?? .objects
        includesSubentities = flag("includeSubentities", true)
        includesPropertyValues = flag("includePropertyValues", true)
        returnsObjectsAsFaults = flag("returnObjectsAsFaults", true)
        returnsDistinctResults = flag("returnDistinctResults", false)
    }
}

extension FetchIndex {
    init(_ element: SourceElement, of entity: Entity) throws {
        let elements = element.elements.filter { $0.name == "fetchIndexElement" }.enumerated().map { place, child in
            let collation: Collation = child.attributes["type"] == "RTree" ? .rTree : .binary
            let isAscending = child.attributes["order"] != "descending"
            if let property = child.attributes["property"] {
                return Element(property: property, collation: collation, isAscending: isAscending)
            }
            return Element(
                expression: ExpressionText(child.attributes["expression"] ?? ""), named: "expression\(place + 1)",
                type: child.attributes["expressionType"].flatMap { AttributeType(source: $0) } ?? .undefined,
                collation: collation, isAscending: isAscending)
        }
        self.init(
            name: try element.required("name", of: entity), elements: elements,
            partialPredicate: element.attributes["partialIndexPredicate"].map { PredicateText($0) })
    }
}
