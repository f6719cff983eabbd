import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// A request to a store for columns of rows or of groups, instead of objects.
package struct StoreRowsRequest {
    /// The fetch of the rows. Its sort descriptors, limit and offset apply to the resulting rows or groups.
    package let fetch: StoreFetch
    package let columns: [FetchedColumn]
    package let isGrouped: Bool
    /// The columns to group by.
    package let keys: [FetchedColumn]
    package let having: Predicate?
    package let isDistinct: Bool
    /// Whether other stores contribute rows too, so that groups, order and window are computed in memory.
    package let isShare: Bool
    /// A function that creates the value of a column that contains objects.
    package let reference: (_ entity: UInt32, _ primaryKey: Int64) -> PropertyValue

    /// The columns that having predicates and sort descriptors of groups can use, by name.
    package var names: [String: FetchedColumn] {
        Dictionary((columns + keys).map { ($0.name, $0) }) { first, _ in first }
    }

    /// Returns the computed column that a sort descriptor of rows names; nil for a key path.
    package func column(of descriptor: SortDescriptor) -> (place: Int, column: FetchedColumn)? {
        columns.place(named: descriptor).map { ($0, columns[$0]) }
    }
}

extension [FetchedColumn] {
    /// Returns the index of the computed column that a sort descriptor names; nil for a key path.
    func place(named descriptor: SortDescriptor) -> Int? {
        firstIndex { if case .expression(let column) = $0 { column.name == descriptor.keyPath } else { false } }
    }
}

/// The rows of a store, and their shape.
package struct StoreRows {
    package let rows: [[PropertyValue]]
    package let shape: RowShape

    package init(rows: [[PropertyValue]], shape: RowShape) {
        (self.rows, self.shape) = (rows, shape)
    }
}

/// The computation that remains for the rows of a store.
///
/// Its expressions refer to the values of a row by `Expression.place`.
package struct RowShape: Equatable, Sendable {
    /// An expression for each column of the request. `keys` has one for each column to group by.
    package var columns: [Expression] = []
    package var keys: [Expression] = []
    /// The remaining predicate for rows.
    package var predicate: Predicate?
    /// The remaining predicate for groups, in which names refer to columns.
    package var having: Predicate?
    /// Whether each row is already a group.
    package var isGrouped = false
    /// Whether rows or groups are in order.
    ///
    /// If not, `order` has an expression for each sort descriptor, followed by one for the primary key.
    package var isOrdered = true
    package var order: [Expression] = []
    /// Whether duplicate rows were removed, if requested.
    ///
    /// `isWindowed` is the equivalent for limit and offset.
    package var isDistinct = true
    package var isWindowed = true

    package init() {}
}

extension Expression {
    /// Returns an expression for the value at an index of the evaluated list.
    package static func place(_ index: Int) -> Expression {
        .indexed(.selfObject, .value(.constant(.int(Int64(index)))))
    }

    /// The index, if this is an expression of `place(_:)`.
    package var rowPlace: Int? {
        guard case .indexed(.selfObject, .value(.constant(.int(let index)))) = self else { return nil }
        return Int(index)
    }
}

extension FetchedColumn {
    /// The expression for the column's values, before conversion to the result type.
    package var computed: Expression {
        switch self {
        case .property(let keyPath): .keyPath(KeyPath(keyPath))
        case .expression(let description): description.expression
        }
    }

    package var resultType: AttributeType {
        if case .expression(let description) = self { description.resultType } else { .undefined }
    }

    /// Returns a copy of the column with another expression.
    func computed(by expression: Expression) -> FetchedColumn {
        .expression(ExpressionDescription(name: name, expression: expression, resultType: resultType))
    }
}
