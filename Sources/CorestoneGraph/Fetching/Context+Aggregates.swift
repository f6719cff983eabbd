import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// One value that is computed of many; the values of `CST_AGGREGATE_…`.
public enum Aggregate: UInt32, Sendable, CaseIterable {
    /// How many values there are that are not null.
    case count = 1
    /// An integer for integers, a decimal for decimals, else a double; the integer 0 without values, as for all others null.
    case sum
    /// A decimal for decimals, else a double.
    case average
    /// A value as it is: of numbers, texts (by code units), dates, UUIDs and URIs.
    case minimum, maximum
    /// Doubles; the deviation is that of the whole population.
    case median, deviation

    var function: Function {
        switch self {
        case .count: .count
        case .sum: .sum
        case .average: .average
        case .minimum: .min
        case .maximum: .max
        case .median: .median
        case .deviation: .standardDeviation
        }
    }

    /// Whether it is of numbers only.
    var needsNumbers: Bool {
        switch self {
        case .count, .minimum, .maximum: false
        case .sum, .average, .median, .deviation: true
        }
    }
}

extension Context {
    /// Computes one value over what a request finds, or one for each group of what it groups by: a fetch of dictionaries with a
    /// column for each of these, and behind them one that is called as its expression is written, `sum:(salary)`.
    ///
    /// - Parameters:
    ///   - key: a key path, also with an operator on a collection (`projects.@count`), or an expression (`salary * 12`);
    ///     nil counts objects.
    ///   - request: predicate, groups, having predicate, order and window; groups come in the order of what they are grouped
    ///     by where sort descriptors leave it open.
    /// - Throws: `Status.invalidArgument` for a key that has no such value; what a fetch of dictionaries throws.
    public func aggregate(_ aggregate: Aggregate, of key: String?, _ request: FetchRequest) throws -> FetchedRows {
        try request.resolve(in: coordinator.model)
        let argument = try aggregate.argument(key, request.entity)
        let expression = Expression.function(aggregate.function, [argument])
        let wanted = request.copy()
        (wanted.resultType, wanted.batchSize) = (.dictionaries, 0)
        wanted.propertiesToFetch =
            request.propertiesToGroupBy.map { .property($0) } + [
                .expression(ExpressionDescription(name: expression.format, expression: expression))
            ]
        return try fetchDictionaries(wanted)
    }
}

extension Aggregate {
    fileprivate func argument(_ key: String?, _ entity: Entity) throws -> Expression {
        guard let key, !key.isEmpty else {
            if self == .count { return .selfObject }
            throw CoreError(
                .invalidArgument,
                "cannot compute the \(self) of \(entity.name) objects without a key; pass the key of an attribute",
                entity: entity.name)
        }
        guard case .keyPath(let path) = try Expression.parse(key) else { return try Expression.parse(key) }
        let properties = try entity.properties(along: path)
        guard let last = properties.last, !path.keys.contains(where: \.isOperator) else { return .keyPath(path) }
        func fault(_ why: String) -> CoreError {
            CoreError(
                .invalidArgument, "cannot compute the \(self) of \(entity.name).\(key): \(why)", entity: entity.name,
                key: key)
        }
        if let collection = properties.lazy.compactMap({ $0 as? Relationship }).first(where: \.isToMany) {
            let end = path.keys.firstIndex { $0.text == collection.name } ?? path.keys.endIndex - 1
            let head = path.keys[...end].map(\.text).joined(separator: ".")
            throw fault(
                "\(collection.entity.name).\(collection.name) is to-many; compute one value per object first, as in "
                    + "\(head).@count")
        }
        switch last {
        case let relationship as Relationship where self != .count:
            let destination = relationship.destination
            let suitable = destination.attributes.first { !needsNumbers || $0.type.isNumber }
            throw fault(
                "\(relationship.entity.name).\(relationship.name) is a relationship; use an attribute of "
                    + destination.name + (suitable.map { ", as in \(key).\($0.name)" } ?? ""))
        case let attribute as Attribute where needsNumbers && !attribute.type.isNumber:
            throw fault("its type is \(attribute.type.displayName), not a number; use count, minimum or maximum")
        default: return .keyPath(path)
        }
    }
}

extension AttributeType {
    fileprivate var isNumber: Bool {
        switch self {
        case .integer16, .integer32, .integer64, .decimal, .double, .float, .boolean: true
        default: false
        }
    }
}
