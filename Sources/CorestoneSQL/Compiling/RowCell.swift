import CorestonePredicate

/// How a value of rows is read from one column of a statement, or from two.
package struct RowCell: Hashable, Sendable {
    /// The values that a column holds; an integer, so that SQL can hand it on.
    package enum Form: UInt8, Sendable {
        case bool, integer, real
        /// An integer or a double, as it comes.
        case number
        case decimal, text, uri, date, bytes, uuid
        /// A primary key, and in the next column the number of the entity.
        case object
        /// The place of what a `GatheringFunction` computed.
        case gathered
    }

    package let form: Form
    /// For objects: the index of the entity where no number says otherwise.
    package let entity: UInt32

    /// nil for operands that make no column.
    init?(_ operand: Operand) {
        guard operand.form != .opaque, operand.constant == nil else { return nil }
        entity = operand.entity?.entity.index ?? 0
        switch operand.kind {
        case .integer: form = operand.form == .boolean ? .bool : .integer
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

/// What a statement selects. Equal columns are selected once.
struct RowSelection {
    private(set) var cells: [RowCell] = []
    private(set) var columns: [SQLFragment] = []

    /// The place of an operand among the values of a row; nil where it makes no column.
    mutating func place(_ operand: Operand) -> Int? {
        guard let cell = RowCell(operand) else { return nil }
        let sql = cell.form == .object ? "\(operand.sql), \(operand.entity?.number ?? "NULL")" : operand.sql
        if let known = columns.firstIndex(of: sql), cells[known] == cell { return known }
        cells.append(cell)
        columns.append(sql)
        return cells.count - 1
    }
}
