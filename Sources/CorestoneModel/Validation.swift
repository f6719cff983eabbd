import CorestonePredicate
import CorestoneValues

/// A condition that the author of a model put on a property's value: a least or greatest value, a length, a pattern.
public struct ValidationRule: Hashable, Sendable {
    /// What a failure says: one of Core Data's error codes, or the author's own words.
    public enum Warning: Hashable, Sendable {
        case code(Int64)
        case text(String)
    }

    /// `SELF` is the value: `SELF >= 0`, `length <= 50`. Not asked about no value: that is for `isOptional`.
    public let predicate: PredicateText
    public let warning: Warning

    public init(_ predicate: PredicateText, warning: Warning) {
        self.predicate = predicate
        self.warning = warning
    }

    init(_ left: Expression, _ comparison: Comparison.Operator, _ right: PropertyValue, _ code: CocoaCode) {
        self.init(
            PredicateText(.comparison(Comparison(left, comparison, .constant(right)))),
            warning: .code(Int64(code.rawValue)))
    }
}

// MARK: - The rules that a model's editor knows by name

extension ValidationRule {
    /// The least or the greatest value of a number or a date, or length of a string; nil for a type that has no bounds.
    static func bound(_ value: PropertyValue, isLeast: Bool, of type: AttributeType) -> ValidationRule? {
        guard let (least, greatest) = type.boundCodes else { return nil }
        let subject: Expression = type == .string ? .key("length") : .selfObject
        return ValidationRule(
            subject, isLeast ? .greaterOrEqual : .lessOrEqual, value, isLeast ? least : greatest)
    }

    /// A regular expression that the whole of a string must match.
    static func pattern(_ pattern: String) -> ValidationRule {
        ValidationRule(.selfObject, .matches, .string(pattern), .validationStringPatternMatching)
    }
}

extension AttributeType {
    /// The codes of a value below the least and above the greatest one.
    var boundCodes: (least: CocoaCode, greatest: CocoaCode)? {
        switch self {
        case .integer16, .integer32, .integer64, .decimal, .double, .float:
            (.validationNumberTooSmall, .validationNumberTooLarge)
        case .date: (.validationDateTooSoon, .validationDateTooLate)
        case .string: (.validationStringTooShort, .validationStringTooLong)
        default: nil
        }
    }
}

extension AttributeType {
    /// The codes of the rules that a model's editor knows for the type.
    var ruleCodes: [CocoaCode] {
        let bounds = boundCodes.map { [$0.least, $0.greatest] } ?? []
        return self == .string ? bounds + [.validationStringPatternMatching] : bounds
    }
}

extension Attribute {
    /// Sets the least and the greatest value of a number or a date, or length of a string in UTF-16 code units, instead of
    /// those set before. nil is no bound.
    /// - Throws: `.model` for another type of attribute, and for bounds that no value meets.
    public func setBounds(least: PropertyValue?, greatest: PropertyValue?) throws {
        try change {
            guard let codes = type.boundCodes else {
                throw modelError(
                    "\(entity.name).\(path) is \(type.displayName), but only numbers, dates and strings (by length) can have "
                        + "a minimum or maximum", entity: entity.name, key: path,
                    value: [least, greatest].compactMap { $0 }.first { !$0.isNull })
            }
            let bounds = try [(least, true), (greatest, false)].compactMap { value, isLeast in
                try value.map { (value: try acceptBound($0), isLeast: isLeast) }
            }
            if bounds.count == 2, let order = bounds[0].value.ordered(against: bounds[1].value), order > 0 {
                throw modelError(
                    "the minimum of \(entity.name).\(path) (\(bounds[0].value.excerpt)) is greater than its maximum "
                        + "(\(bounds[1].value.excerpt)); raise the maximum or lower the minimum", entity: entity.name,
                    key: path, value: bounds[0].value)
            }
            replaceRules(
                of: [codes.least, codes.greatest],
                by: bounds.compactMap { .bound($0.value, isLeast: $0.isLeast, of: type) })
        }
    }

    /// The least and the greatest value, as `setBounds` takes them.
    public var bounds: (least: PropertyValue?, greatest: PropertyValue?) {
        func bound(_ code: CocoaCode?) -> PropertyValue? {
            let rule = code.flatMap { code in
                validationRules.first { $0.warning == .code(Int64(code.rawValue)) }
            }
            guard case .comparison(let comparison)? = rule?.predicate.predicate,
                case .constant(let value) = comparison.right
            else { return nil }
            return value
        }
        return (bound(type.boundCodes?.least), bound(type.boundCodes?.greatest))
    }

    private func acceptBound(_ value: PropertyValue) throws -> PropertyValue {
        guard type == .string else { return try accept(value) }
        guard case .int(let length) = value, length >= 0 else {
            throw modelError(
                "\(entity.name).\(path) is a string, so its bounds are lengths and must be integers from 0, not "
                    + value.kindPhrase,
                entity: entity.name, key: path, value: value)
        }
        return value
    }

    /// Sets the regular expression that the whole of a string must match, instead of the one set before; nil is none.
    /// - Throws: `.model` for another type of attribute; `.predicate` for a pattern that cannot be read.
    public func setPattern(_ pattern: String?) throws {
        try change {
            guard type == .string else {
                throw modelError(
                    "\(entity.name).\(path) is \(type.displayName), but only a string can have a pattern",
                    entity: entity.name, key: path, value: pattern.map { .string($0) })
            }
            let rule = pattern.map { ValidationRule.pattern($0) }
            // Evaluated once, so that a pattern that is none is refused here and not at the first save.
            do { _ = try rule?.predicate.required().evaluate(with: .string("")) } catch let error as CoreError {
                throw error.within(
                    "the pattern of \(entity.name).\(path) cannot be used", entity: entity.name, key: path,
                    value: pattern.map { .string($0) })
            }
            replaceRules(of: [.validationStringPatternMatching], by: rule.map { [$0] } ?? [])
        }
    }
}
