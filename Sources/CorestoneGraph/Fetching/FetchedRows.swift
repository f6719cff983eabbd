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
///
/// Of a request with a batch size that has a column with the object's ID it is lazy: it knows which rows there are, and reads a batch
/// of them when one is asked for, as they are then, on the queue of its context. Any thread may use others.
public struct FetchedRows: Sendable {
    /// The names of the columns, in the order of the request.
    public let columns: [String]
    private let whole: [[PropertyValue]]
    private let batches: RowBatches?

    package init(columns: [String], rows: [[PropertyValue]]) {
        (self.columns, whole, batches) = (columns, rows, nil)
    }

    init(columns: [String], _ batches: RowBatches) { (self.columns, whole, self.batches) = (columns, [], batches) }

    public var count: Int { batches?.count ?? whole.count }
    /// How many rows are read at a time; 0 when all were.
    public var batchSize: Int { batches?.size ?? 0 }
    /// Whether rows are read when they are asked for.
    public var isLazy: Bool { batches != nil }

    /// A value for each column, of all rows; null for none. Objects are references: their IDs.
    /// - Throws: for lazy rows alone, as `rows(in:)`.
    public var rows: [[PropertyValue]] { get throws { try batches?.all() ?? whole } }

    /// The rows at some places.
    /// - Throws: `.wrongThread` where lazy rows are read off the queue of their context; else what a fetch throws.
    public func rows(in range: Range<Int>) throws -> ArraySlice<[PropertyValue]> {
        guard range.lowerBound >= 0, range.upperBound <= count else {
            let index = range.lowerBound < 0 ? range.lowerBound : range.upperBound
            throw CoreError(
                .invalidArgument, "rows \(range) are out of bounds of \(count) row\(count == 1 ? "" : "s")",
                value: .int(Int64(index)))
        }
        guard let batches else { return whole[range] }
        return try range.map { try batches.row(at: $0) }[...]
    }

    /// One row; see `rows(in:)`.
    public func row(at index: Int) throws -> [PropertyValue] {
        guard index >= 0, index < count else {
            throw CoreError(
                .invalidArgument, "index \(index) is out of bounds of \(count) row\(count == 1 ? "" : "s")",
                value: .int(Int64(index)))
        }
        return try batches?.row(at: index) ?? whole[index]
    }

    /// Each row by the names of the columns; nulls have no entry, as dictionaries of Cocoa hold none.
    /// - Throws: as `rows`.
    public var dictionaries: [[String: PropertyValue]] {
        get throws {
            try rows.map { row in
                Dictionary(zip(columns, row).lazy.filter { !$1.isNull }) { first, _ in first }
            }
        }
    }
}
