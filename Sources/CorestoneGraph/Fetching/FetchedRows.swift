import CorestoneModel
import CorestoneValues

/// A column of a fetch of dictionaries.
public enum FetchedColumn: Sendable, ExpressibleByStringLiteral {
    /// A key path through to-one relationships to an attribute or a to-one relationship.
    case property(String)
    case expression(ExpressionDescription)

    public init(stringLiteral keyPath: String) { self = .property(keyPath) }

    /// The name of the column, which is the key of the column's values in dictionaries.
    public var name: String {
        switch self {
        case .property(let keyPath): keyPath
        case .expression(let description): description.name
        }
    }
}

/// The result of a fetch of dictionaries: rows of values with named columns.
///
/// It is lazy if the request has a batch size and a column with the object ID, but neither groups nor distinct results,
/// and if parent contexts do not have unsaved changes. A lazy result contains the object IDs and reads rows in batches
/// on demand, with their present values. It must be used on the queue of its context. Any other result can be used on
/// any thread.
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
    /// The number of rows that are read at a time; 0 if all rows were read.
    public var batchSize: Int { batches?.size ?? 0 }
    /// Whether rows are read on demand.
    public var isLazy: Bool { batches != nil }

    /// All rows, with one value per column. Objects are represented by their IDs.
    ///
    /// - Throws: The errors of `rows(in:)`, for lazy rows only.
    public var rows: [[PropertyValue]] { get throws { try batches?.all() ?? whole } }

    /// Returns the rows in a range of indexes.
    ///
    /// - Throws: `.invalidArgument` for a range out of bounds.
    ///   `.wrongThread` for lazy rows outside of the queue of their context.
    ///   The errors of a fetch for lazy rows.
    public func rows(in range: Range<Int>) throws -> ArraySlice<[PropertyValue]> {
        guard range.lowerBound >= 0, range.upperBound <= count else {
            let index = range.lowerBound < 0 ? range.lowerBound : range.upperBound
            throw CoreError(
                .invalidArgument,
                "the range \(range.lowerBound)..<\(range.upperBound) is out of bounds of \(count) "
                    + "row\(count == 1 ? "" : "s")", key: "range", value: .int(Int64(index)))
        }
        guard let batches else { return whole[range] }
        return try range.map { try batches.row(at: $0) }[...]
    }

    /// Returns one row; see `rows(in:)`.
    public func row(at index: Int) throws -> [PropertyValue] {
        guard index >= 0, index < count else {
            throw CoreError(
                .invalidArgument, "index \(index) is out of bounds of \(count) row\(count == 1 ? "" : "s")",
                key: "index", value: .int(Int64(index)))
        }
        return try batches?.row(at: index) ?? whole[index]
    }

    /// The rows as dictionaries by column name. Nulls do not have an entry, as in Cocoa.
    ///
    /// - Throws: The errors of `rows`.
    public var dictionaries: [[String: PropertyValue]] {
        get throws {
            try rows.map { row in
                Dictionary(zip(columns, row).lazy.filter { !$1.isNull }) { first, _ in first }
            }
        }
    }
}
