import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// What a context asks of a store instead of objects: columns of rows, or of groups of rows.
package struct StoreRowsRequest {
    /// Which rows; order and window too where rows are not grouped.
    package let fetch: StoreFetch
    package let columns: [FetchedColumn]
    package let isGrouped: Bool
    /// What is grouped by.
    package let keys: [FetchedColumn]
    package let having: Predicate?
    package let isDistinct: Bool
    /// Whether other stores have rows too, so that groups, order and window are for memory to find.
    package let isShare: Bool
    /// Makes the value of a column that has objects.
    package let reference: (_ entity: UInt32, _ primaryKey: Int64) -> PropertyValue

    /// The columns that predicates and sort descriptors know groups by, under their names.
    package var names: [String: FetchedColumn] {
        Dictionary((columns + keys).map { ($0.name, $0) }) { first, _ in first }
    }
}

/// What a store answers.
package struct StoreRows {
    package let rows: [[PropertyValue]]
    package let shape: RowShape

    package init(rows: [[PropertyValue]], shape: RowShape) {
        (self.rows, self.shape) = (rows, shape)
    }
}

/// What is left to compute of the rows that a store gave. Its expressions have `Expression.place` for the values of a row.
package struct RowShape: Equatable, Sendable {
    /// One for each column of the request, and for each key.
    package var columns: [Expression] = []
    package var keys: [Expression] = []
    /// What rows have yet to satisfy.
    package var predicate: Predicate?
    /// What groups have yet to satisfy; names stand for columns.
    package var having: Predicate?
    /// Whether each row is a group already.
    package var isGrouped = false
    /// Whether rows, or where they are groups these, come in order. If not, rows have a value for each descriptor in `order`, and
    /// their primary key behind.
    package var isOrdered = true
    package var order: [Expression] = []
    /// Whether equal rows were left out, if they should be, and the window was cut.
    package var isDistinct = true
    package var isWindowed = true

    package init() {}
}

extension Expression {
    /// The value at a place of the list that is evaluated.
    package static func place(_ index: Int) -> Expression {
        .indexed(.selfObject, .value(.constant(.int(Int64(index)))))
    }

    package var rowPlace: Int? {
        guard case .indexed(.selfObject, .value(.constant(.int(let index)))) = self else { return nil }
        return Int(index)
    }
}

extension FetchedColumn {
    /// What computes its values, before they are made its type.
    package var computed: Expression {
        switch self {
        case .property(let keyPath): .keyPath(KeyPath(keyPath))
        case .expression(let description): description.expression
        }
    }

    package var resultType: AttributeType {
        if case .expression(let description) = self { description.resultType } else { .undefined }
    }

    /// The same column computed in another way.
    func computed(by expression: Expression) -> FetchedColumn {
        .expression(ExpressionDescription(name: name, expression: expression, resultType: resultType))
    }
}
