import CorestoneModel
import CorestoneValues

/// A column of a fetch of dictionaries.
public enum FetchedColumn: Sendable, ExpressibleByStringLiteral {
    /// A key path through to-one relationships to an attribute or a to-one relationship.
    case property(String)
    case expression(ExpressionDescription)

    public init(stringLiteral keyPath: String) { self = .property(keyPath) }

    /// The key of its values.
    public var name: String {
        switch self {
        case .property(let keyPath): keyPath
        case .expression(let description): description.name
        }
    }
}

/// What a fetch of dictionaries gives: rows of values under the names of columns.
public struct FetchedRows: Sendable {
    /// The names of the columns, in the order of the request.
    public let columns: [String]
    /// A value for each column. Objects are references: their IDs.
    public let rows: [[PropertyValue]]

    package init(columns: [String], rows: [[PropertyValue]]) {
        (self.columns, self.rows) = (columns, rows)
    }

    /// Each row by the names of the columns; nulls have no entry, as dictionaries of Cocoa hold none.
    public var dictionaries: [[String: PropertyValue]] {
        rows.map { row in
            Dictionary(zip(columns, row).lazy.filter { !$1.isNull }) { first, _ in first }
        }
    }
}
