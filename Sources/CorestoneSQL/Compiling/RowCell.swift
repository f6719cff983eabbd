import CorestoneModel
import CorestonePredicate

/// A value that is read from one or two columns of a statement.
package struct RowCell: Hashable, Sendable {
    /// The form of a column's values. Its raw value is an integer, so that it can be an argument of an SQL function.
    package enum Form: UInt8, Sendable {
        case bool, integer, real
        /// An integer or a double, depending on the row.
        case number
        case decimal, text, uri, date, bytes, uuid
        /// A primary key, and in the next column the number of the entity.
        case object
        /// The index of a result of a `GatheringFunction`.
        case gathered
        /// The value of an attribute with this range. Like in objects, other integers are read as null.
        case integer16, integer32

        /// The form of the values of an integer attribute.
        fileprivate init(ofIntegers attribute: Attribute?) {
            switch attribute?.type {
            case .integer16?: self = .integer16
            case .integer32?: self = .integer32
            default: self = .integer
            }
        }
    }

    package let form: Form
    /// The index in the model of the entity that objects without an entity number have; 0 for other values.
    package let entity: UInt32

    /// Creates the cell of an operand, or nil if the operand cannot be a column.
    init?(_ operand: Operand) {
        guard operand.form != .opaque, operand.constant == nil else { return nil }
        entity = operand.entity?.entity.index ?? 0
        switch operand.kind {
        case .integer: form = operand.form == .boolean ? .bool : Form(ofIntegers: operand.attribute)
        case .real: form = .real
        case .number: form = .number
        case .decimal: form = .decimal
        case .text: form = .text
        case .uri: form = .uri
        case .date: form = .date
        case .bytes: form = .bytes
        case .uuid: form = .uuid
        case .object where operand.entity != nil: form = .object
        case .list where !operand.sql.isEmpty: form = .gathered
        case .null, .list, .object: return nil
        }
    }
}

/// The selected columns of a statement. Equal columns are selected once.
struct RowSelection {
    private(set) var cells: [RowCell] = []
    private(set) var columns: [SQLFragment] = []

    /// Selects an operand, and returns the index of its cell, or nil if the operand cannot be a column.
    mutating func place(_ operand: Operand) -> Int? {
        guard let cell = RowCell(operand) else { return nil }
        let sql = cell.form == .object ? "\(operand.sql), \(operand.entity?.number ?? "NULL")" : operand.sql
        if let known = columns.firstIndex(of: sql), cells[known] == cell { return known }
        cells.append(cell)
        columns.append(sql)
        return cells.count - 1
    }
}
