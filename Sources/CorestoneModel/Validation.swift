import CorestonePredicate
import CorestoneValues

/// A validation rule for the value of a property, such as a minimum, a maximum, a length or a pattern.
public struct ValidationRule: Hashable, Sendable {
    /// The message of a failure: one of Core Data's error codes, or the author's text.
    public enum Warning: Hashable, Sendable {
        case code(Int64)
        case text(String)
    }

    /// The predicate, in which `SELF` is the value: `SELF >= 0`, `length <= 50`.
    ///
    /// The predicate does not apply to nil, for which `isOptional` is checked.
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

// MARK: - The rules that Xcode's model editor offers

extension ValidationRule {
    /// Returns a rule for a minimum or maximum; nil for types without bounds.
    ///
    /// For a string, the bound is a length.
    static func bound(_ value: PropertyValue, isLeast: Bool, of type: AttributeType) -> ValidationRule? {
        guard let (least, greatest) = type.boundCodes else { return nil }
        let subject: Expression = type == .string ? .key("length") : .selfObject
        return ValidationRule(
            subject, isLeast ? .greaterOrEqual : .lessOrEqual, value, isLeast ? least : greatest)
    }

    /// Returns a rule with a regular expression that must match the whole string.
    static func pattern(_ pattern: String) -> ValidationRule {
        ValidationRule(.selfObject, .matches, .string(pattern), .validationStringPatternMatching)
    }
}

extension AttributeType {
    /// The error codes of values below the minimum and above the maximum.
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
    /// The error codes of the rules that Xcode's model editor offers for the type.
    var ruleCodes: [CocoaCode] {
        let bounds = boundCodes.map { [$0.least, $0.greatest] } ?? []
        return self == .string ? bounds + [.validationStringPatternMatching] : bounds
    }
}

extension Attribute {
    /// Sets the minimum and maximum of a value; nil removes a bound.
    ///
    /// A bound is a number or a date, or the length of a string in UTF-16 code units. Earlier bounds are replaced.
    ///
    /// - Throws: `.model` for other types, or if the minimum is greater than the maximum.
    ///   `.typeMismatch` or `.validation` for a bound that is not a valid value of the attribute.
    public func setBounds(least: PropertyValue?, greatest: PropertyValue?) throws {
        try change {
            guard let codes = type.boundCodes else {
                throw modelError(
                    "\(entity.name).\(path) is of type \(type.displayName), but only numbers, dates and strings (by length) can have "
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

    /// The minimum and maximum, as for `setBounds`.
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

    /// The regular expression that must match the whole string, as for `setPattern`; nil without one.
    public var pattern: String? {
        let rule = validationRules.first {
            $0.warning == .code(Int64(CocoaCode.validationStringPatternMatching.rawValue))
        }
        guard case .comparison(let comparison)? = rule?.predicate.predicate, comparison.operator == .matches,
            case .constant(.text(let pattern)) = comparison.right
        else { return nil }
        return pattern.string
    }

    private func acceptBound(_ value: PropertyValue) throws -> PropertyValue {
        guard type == .string else { return try accept(value) }
        guard case .int(let length) = value, length >= 0 else {
            let found = if case .int(let number) = value { "\(number)" } else { value.kindPhrase }
            throw modelError(
                "\(entity.name).\(path) is a string, so its bounds are lengths and must be integers from 0, not "
                    + found, entity: entity.name, key: path, value: value)
        }
        return value
    }

    /// Sets the regular expression that must match the whole string. Replaces an earlier pattern; nil removes it.
    ///
    /// - Throws: `.model` for other types.
    ///   `.predicate` for an invalid pattern.
    public func setPattern(_ pattern: String?) throws {
        try change {
            guard type == .string else {
                throw modelError(
                    "\(entity.name).\(path) is of type \(type.displayName), but only a string can have a pattern",
                    entity: entity.name, key: path, value: pattern.map { .string($0) })
            }
            let rule = pattern.map { ValidationRule.pattern($0) }
            // The rule is evaluated once, so that an invalid pattern is rejected here and not at the first save.
            do { _ = try rule?.predicate.required().evaluate(with: .string("")) } catch let error as CoreError {
                throw error.within(
                    "the pattern of \(entity.name).\(path) cannot be used", entity: entity.name, key: path,
                    value: pattern.map { .string($0) })
            }
            replaceRules(of: [.validationStringPatternMatching], by: rule.map { [$0] } ?? [])
        }
    }
}
