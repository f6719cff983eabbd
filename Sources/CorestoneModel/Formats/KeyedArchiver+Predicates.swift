import CorestonePredicate
import CorestoneValues

/// Predicates and expressions as Foundation archives them. What no known archive shows the form of answers nil: it cannot
/// be written so that Apple's framework reads it.
extension KeyedArchiver {
    /// Foundation's numbers of expression types.
    enum ExpressionType: Int64 {
        case constant = 0, selfObject, variable, keyPath, function
        case keyPathSpecifier = 10
        case aggregate = 14
    }

    func expression(_ expression: Expression) -> PropertyListValue? {
        switch expression {
        case .constant(.null):
            return add("NSConstantValueExpression", .constant, ["NSConstantValueClassName": KeyedArchiver.null])
        case .constant(.array(let values)):
            return aggregate(values.map { .constant($0) })
        case .constant(let value):
            guard value.isArchivable else { return nil }
            return add("NSConstantValueExpression", .constant, ["NSConstantValue": self.value(value)])
        case .selfObject: return add("NSSelfExpression", .selfObject, [:])
        case .variable(let name): return add("NSVariableExpression", .variable, ["NSVariable": string(name)])
        case .keyPath(let path): return keyPath(path, of: .selfObject)
        case .path(let base, let path): return keyPath(path, of: base)
        case .function(let function, let arguments):
            let utilities = add(
                "NSConstantValueExpression", .constant, ["NSConstantValueClassName": string("_NSPredicateUtilities")])
            return call(
                function.rawValue, of: utilities, arguments.map(self.expression), className: ["NSFunctionExpression"])
        case .aggregate(let elements): return aggregate(elements)
        default: return nil
        }
    }

    private func keyPath(_ path: KeyPath, of base: Expression) -> PropertyListValue? {
        guard let operand = expression(base) else { return nil }
        let specifier = add(
            "NSKeyPathSpecifierExpression", .keyPathSpecifier, ["NSKeyPath": string(path.text)])
        let selector = path.single != nil && base == .selfObject ? "valueForKey:" : "valueForKeyPath:"
        return call(
            selector, of: operand, [specifier], className: ["NSKeyPathExpression", "NSFunctionExpression"],
            type: base == .selfObject ? .keyPath : .function)
    }

    private func call(
        _ selector: String, of operand: PropertyListValue, _ arguments: [PropertyListValue?], className: [String],
        type: ExpressionType = .function
    ) -> PropertyListValue? {
        let known = arguments.compactMap { $0 }
        guard known.count == arguments.count else { return nil }
        return add(
            ClassName(className + ["NSExpression"]),
            [
                "NSExpressionType": .integer(type.rawValue), "NSOperand": operand, "NSSelectorName": string(selector),
                "NSArguments": array(known, isMutable: true),
            ])
    }

    private func aggregate(_ elements: [Expression]) -> PropertyListValue? {
        let known = elements.compactMap(expression)
        guard known.count == elements.count else { return nil }
        return add("NSAggregateExpression", .aggregate, ["NSCollection": array(known)])
    }

    private func add(
        _ className: String, _ type: ExpressionType, _ fields: [String: PropertyListValue]
    ) -> PropertyListValue {
        add(
            ClassName(className, "NSExpression"),
            fields.merging(["NSExpressionType": .integer(type.rawValue)]) { old, _ in old })
    }
}

// MARK: - Predicates

extension KeyedArchiver {
    /// The archived predicate; the archive's null for none, and for what cannot be archived.
    func predicate(_ text: PredicateText?) -> PropertyListValue {
        text?.predicate.flatMap(predicate) ?? KeyedArchiver.null
    }

    func predicate(_ predicate: Predicate) -> PropertyListValue? {
        switch predicate {
        case .constant(let value):
            return add(ClassName(value ? "NSTruePredicate" : "NSFalsePredicate", "NSPredicate"), [:])
        case .compound(let compound):
            let parts = compound.parts.compactMap(self.predicate)
            guard parts.count == compound.parts.count else { return nil }
            return add(
                ClassName("NSCompoundPredicate", "NSPredicate"),
                [
                    "NSCompoundPredicateType": .integer(Int64(compound.type.rawValue)),
                    "NSSubpredicates": array(parts),
                ])
        case .comparison(let comparison):
            guard let left = expression(comparison.left), let right = expression(comparison.right),
                let archived = self.operator(of: comparison)
            else { return nil }
            return add(
                ClassName("NSComparisonPredicate", "NSPredicate"),
                ["NSLeftExpression": left, "NSRightExpression": right, "NSPredicateOperator": archived])
        }
    }

    private func `operator`(of comparison: Comparison) -> PropertyListValue? {
        guard let type = comparison.operator.archiveType else { return nil }
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
        case .between: className = "NSBetweenPredicateOperator"
        default: return nil
        }
        return add(ClassName(className, "NSPredicateOperator"), fields)
    }
}

extension Comparison.Operator {
    /// Foundation's number of the operator; nil for those that archives do not hold.
    var archiveType: Int64? { Comparison.Operator.archiveTypes.first { $0.1 == self }?.0 }

    init?(archiveType: Int64) {
        guard let found = Comparison.Operator.archiveTypes.first(where: { $0.0 == archiveType }) else { return nil }
        self = found.1
    }

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

extension PropertyValue {
    fileprivate var isArchivable: Bool {
        switch self {
        case .object, .array, .set, .dictionary: false
        default: true
        }
    }
}
