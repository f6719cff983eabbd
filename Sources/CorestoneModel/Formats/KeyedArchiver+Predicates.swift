import CorestoneFormats
import CorestonePredicate
import CorestoneValues

/// Encoding of predicates, as by Foundation.
extension KeyedArchiver {
    /// Archives a predicate.
    ///
    /// - Throws: `.unsupported` for a predicate that cannot be archived.
    func predicate(_ predicate: Predicate) throws -> PropertyListValue {
        try spend(1)
        switch predicate {
        case .constant(let value):
            return add(ClassName(value ? "NSTruePredicate" : "NSFalsePredicate", "NSPredicate"), [:])
        case .compound(let compound):
            return add(
                ClassName("NSCompoundPredicate", "NSPredicate"),
                [
                    "NSCompoundPredicateType": .integer(Int64(compound.type.rawValue)),
                    "NSSubpredicates": array(try compound.parts.map { try self.predicate($0) }),
                ])
        case .comparison(let comparison):
            return add(
                ClassName("NSComparisonPredicate", "NSPredicate"),
                [
                    "NSLeftExpression": try expression(comparison.left),
                    "NSRightExpression": try expression(comparison.right),
                    "NSPredicateOperator": self.operator(of: comparison),
                ])
        case .block:
            throw CoreError(
                .unsupported,
                "\"\(predicate)\" cannot be archived: it is application code; write it as a format string",
                value: .string("\(predicate)"))
        }
    }

    private func `operator`(of comparison: Comparison) -> PropertyListValue {
        let type = comparison.operator.archiveType
        let options = PropertyListValue.integer(Int64(comparison.options.rawValue))
        var fields: [String: PropertyListValue] = [
            "NSOperatorType": .integer(type), "NSModifier": .integer(comparison.modifier.archiveValue),
        ]
        let className: String
        switch comparison.operator {
        case .less, .lessOrEqual, .greater, .greaterOrEqual:
            className = "NSComparisonPredicateOperator"
            fields["NSVariant"] = .integer(type)
            fields["NSOptions"] = options
        case .equal, .notEqual:
            className = "NSEqualityPredicateOperator"
            fields["NSNegate"] = .bool(comparison.operator == .notEqual)
            fields["NSOptions"] = options
        case .in, .contains:
            className = "NSInPredicateOperator"
            fields["NSFlags"] = options
        case .beginsWith, .endsWith:
            className = "NSSubstringPredicateOperator"
            fields["NSPosition"] = .integer(comparison.operator == .beginsWith ? 0 : 1)
            fields["NSFlags"] = options
        case .like, .matches:
            className = comparison.operator == .like ? "NSLikePredicateOperator" : "NSMatchingPredicateOperator"
            fields["NSFlags"] = options
        case .between:
            className = "NSBetweenPredicateOperator"
            if !comparison.options.isEmpty { fields["NSFlags"] = options }
        case .custom, .tokenMatches, .utiConformsTo, .utiEquals:
            className = "NSCustomPredicateOperator"
            fields["NSSelectorName"] = string(comparison.operator.symbol)
            fields["NSFlags"] = options
        }
        return add(ClassName(className, "NSPredicateOperator"), fields)
    }
}

extension Comparison.Operator {
    /// The number of the operator in Foundation.
    var archiveType: Int64 {
        Comparison.Operator.archiveTypes.first { $0.1 == self }?.0 ?? Comparison.Operator.customType
    }

    /// Creates the operator of an archived number; nil for an unknown number.
    ///
    /// - Parameter selector: the name of an operator without a number.
    init?(archiveType: Int64, selector: String?) {
        if let found = Comparison.Operator.archiveTypes.first(where: { $0.0 == archiveType }) {
            self = found.1
        } else if archiveType == Comparison.Operator.customType, let selector {
            let words: [Comparison.Operator] = [.tokenMatches, .utiConformsTo, .utiEquals]
            self = words.first { $0.symbol == selector } ?? .custom(selector)
        } else {
            return nil
        }
    }

    private static let customType: Int64 = 11

    private static let archiveTypes: [(Int64, Comparison.Operator)] = [
        (0, .less), (1, .lessOrEqual), (2, .greater), (3, .greaterOrEqual), (4, .equal), (5, .notEqual), (6, .matches),
        (7, .like), (8, .beginsWith), (9, .endsWith), (10, .in), (99, .contains), (100, .between),
    ]
}

extension Comparison.Modifier {
    var archiveValue: Int64 {
        switch self {
        case .direct: 0
        case .all: 1
        case .any: 2
        }
    }

    init?(archiveValue: Int64) {
        switch archiveValue {
        case 0: self = .direct
        case 1: self = .all
        case 2: self = .any
        default: return nil
        }
    }
}
