import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// A function that computes one value from many. The raw values are those of `CST_AGGREGATE_…`.
public enum Aggregate: UInt32, Sendable, CaseIterable {
    /// The number of values that are not null.
    case count = 1
    /// The sum, as an integer, a decimal or a double.
    ///
    /// It is an integer for integers and Booleans (a double if it exceeds 64 bits), a decimal for decimals, otherwise a
    /// double. Without values, the sum and the count are the integer 0, and all other functions return null.
    case sum
    /// The mean: a decimal for decimals, otherwise a double.
    case average
    /// The smallest or largest value, unconverted.
    ///
    /// Both functions accept numbers, strings (compared by code units), dates, binary data, UUIDs and URIs.
    case minimum, maximum
    /// The median and the population standard deviation, as doubles.
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

    /// Whether the function accepts only numbers.
    var needsNumbers: Bool {
        switch self {
        case .count, .minimum, .maximum: false
        case .sum, .average, .median, .deviation: true
        }
    }
}

extension Context {
    /// Computes one value over the objects of a request, or one for each group.
    ///
    /// This is a fetch of dictionaries with the columns of the groups, followed by a column that is named like its
    /// expression, as in `sum:(salary)`.
    ///
    /// - Parameters:
    ///   - key: A key path, optionally with a collection operator (`projects.@count`), or an expression such as `salary
    ///     * 12`; nil counts objects and is accepted by `count` only.
    ///   - request: The request with predicate, groups, having predicate, sort descriptors, limit and offset. Groups
    ///     that the sort descriptors do not order are in the order of their grouping values.
    /// - Throws: `.invalidArgument` if the function does not accept the attribute's type, or if it needs a key.
    ///   The errors of a fetch of dictionaries.
    public func aggregate(_ aggregate: Aggregate, of key: String?, _ request: FetchRequest) throws -> FetchedRows {
        try request.resolve(in: coordinator.model)
        let argument = try aggregate.argument(key, request.entity)
        let expression = Expression.function(aggregate.function, [argument])
        let dictionaryRequest = request.copy()
        (dictionaryRequest.resultType, dictionaryRequest.batchSize) = (.dictionaries, 0)
        dictionaryRequest.propertiesToFetch =
            request.propertiesToGroupBy.map { .property($0) } + [
                .expression(ExpressionDescription(name: expression.format, expression: expression))
            ]
        return try fetchDictionaries(dictionaryRequest)
    }
}

extension Aggregate {
    fileprivate func argument(_ key: String?, _ entity: Entity) throws -> Expression {
        guard let key, !key.isEmpty else {
            if self == .count { return .selfObject }
            throw CoreError(
                .invalidArgument,
                "cannot compute the \(self) of \(entity.name) objects without a key; pass the key of an attribute",
                entity: entity.name, key: "key")
        }
        guard case .keyPath(let path) = try Expression.parse(key) else { return try Expression.parse(key) }
        let properties = try entity.properties(along: path)
        guard let last = properties.last, !path.keys.contains(where: \.isOperator) else { return .keyPath(path) }
        func fault(_ reason: String) -> CoreError {
            CoreError(
                .invalidArgument, "cannot compute the \(self) of \(entity.name).\(key): \(reason)", entity: entity.name,
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
            let suitable = destination.attributes.first {
                !$0.isTransient && ($0.type.isNumber || !needsNumbers && $0.type.isOrdered)
            }
            throw fault(
                "\(relationship.entity.name).\(relationship.name) is a relationship; use an attribute of "
                    + destination.name + (suitable.map { ", as in \(key).\($0.name)" } ?? ""))
        // The fetch checks keys of the attribute's value, such as `length`.
        case let attribute as Attribute
        where needsNumbers && !attribute.type.isNumber && path.keys.count { !$0.isSelf } == properties.count:
            let remedy = attribute.type.isOrdered ? "use count, minimum or maximum" : "use count"
            throw fault(
                "\(attribute.entity.name).\(attribute.path) is of type \(attribute.type.displayName), but must be a number; "
                    + remedy)
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

    /// Whether the type does not have numbers, but has a minimum and a maximum.
    fileprivate var isOrdered: Bool { [.string, .date, .binary, .uuid, .uri].contains(self) }
}
