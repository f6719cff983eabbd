import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

// Aggregates of saved values, over all objects that satisfy a predicate or over groups of them.
//
//     try context.sum(of: "salary", in: "Employee", where: "age > %d", 40)
//     try context.sum(of: "salary", in: "Employee", by: "department.name")   // [(key: "R&D", value: 120000.0), …]
extension Context {
    /// Returns the sum of the values of a key; 0 without values.
    ///
    /// The sum is an integer for integers and Booleans (a double if it exceeds 64 bits), a decimal for decimals, else a
    /// double.
    public func sum(
        of key: String, in entityName: String, where format: String? = nil, _ arguments: any PropertyConvertible...
    ) throws -> PropertyValue { try one(.sum, key, request(entityName, format, arguments)) }

    /// Returns the mean of the values of a key: a decimal for decimals, else a double; null without values.
    public func average(
        of key: String, in entityName: String, where format: String? = nil, _ arguments: any PropertyConvertible...
    ) throws -> PropertyValue { try one(.average, key, request(entityName, format, arguments)) }

    /// Returns the least value of a key; null without values.
    public func minimum(
        of key: String, in entityName: String, where format: String? = nil, _ arguments: any PropertyConvertible...
    ) throws -> PropertyValue { try one(.minimum, key, request(entityName, format, arguments)) }

    /// Returns the greatest value of a key; null without values.
    public func maximum(
        of key: String, in entityName: String, where format: String? = nil, _ arguments: any PropertyConvertible...
    ) throws -> PropertyValue { try one(.maximum, key, request(entityName, format, arguments)) }

    public func sum(
        of key: String, in entityName: String, where format: String? = nil, _ arguments: any PropertyConvertible...,
        by group: String
    ) throws -> [AggregateGroup] { try groups(.sum, key, request(entityName, format, arguments), group) }

    public func average(
        of key: String, in entityName: String, where format: String? = nil, _ arguments: any PropertyConvertible...,
        by group: String
    ) throws -> [AggregateGroup] { try groups(.average, key, request(entityName, format, arguments), group) }

    public func minimum(
        of key: String, in entityName: String, where format: String? = nil, _ arguments: any PropertyConvertible...,
        by group: String
    ) throws -> [AggregateGroup] { try groups(.minimum, key, request(entityName, format, arguments), group) }

    public func maximum(
        of key: String, in entityName: String, where format: String? = nil, _ arguments: any PropertyConvertible...,
        by group: String
    ) throws -> [AggregateGroup] { try groups(.maximum, key, request(entityName, format, arguments), group) }

    /// Returns the number of non-null values of a key in each group, or without a key the number of objects.
    public func count(
        of key: String? = nil, in entityName: String, where format: String? = nil,
        _ arguments: any PropertyConvertible..., by group: String
    ) throws -> [AggregateGroup] { try groups(.count, key, request(entityName, format, arguments), group) }

    private func one(_ aggregate: Aggregate, _ key: String, _ request: FetchRequest) throws -> PropertyValue {
        try self.aggregate(aggregate, of: key, request).rows[0][0]
    }

    private func groups(
        _ aggregate: Aggregate, _ key: String?, _ request: FetchRequest, _ group: String
    ) throws -> [AggregateGroup] {
        request.propertiesToGroupBy = [group]
        return try self.aggregate(aggregate, of: key, request).rows.map { ($0[0], $0[1]) }
    }
}

/// The key of a group, and the value that was computed for it. Groups are in the order of their keys.
public typealias AggregateGroup = (key: PropertyValue, value: PropertyValue)
