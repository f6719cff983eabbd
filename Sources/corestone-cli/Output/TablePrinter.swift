import Corestone

/// A printer of objects as rows of a table. The first objects determine the widths of the columns.
struct TablePrinter: ObjectPrinter {
    private let fields: [Field]
    private let entity: Entity
    private let reader: FieldReader
    private var table: Table?
    private var count = 0

    /// Creates a printer.
    ///
    /// - Parameter isChosen: Whether the fields were selected by name.
    init(isChosen: Bool, _ fields: [Field], entity: Entity, _ reader: FieldReader) {
        // By default, the column of the entity is left out, because the ID contains the name of the entity.
        self.fields = isChosen ? fields : fields.filter { if case .entity = $0 { false } else { true } }
        self.entity = entity
        self.reader = reader
    }

    mutating func begin(sample: [ManagedObject], to output: Output) throws {
        let columns = fields.map { Table.Column($0.name, $0.isNumber ? .right : .left) }
        let table = Table(columns, sample: try sample.prefix(200).map(cells), width: output.width)
        try output.line(bold: table.head)
        self.table = table
    }

    mutating func print(_ object: ManagedObject, to output: Output) throws {
        count += 1
        if let table { try output.line(table.line(try cells(object)), isWhole: true) }
    }

    func end(to output: Output) throws {
        // The line is only for users, because a program can count the lines.
        guard output.isTerminal, let table else { return }
        let hidden = table.hiddenCount(of: fields.count)
        let more = hidden > 0 ? "; \(hidden) columns more with --columns, --format json or a wider terminal" : ""
        try output.line("\(plural(count, "object")) of \(entity.name)\(more)")
    }

    private func cells(_ object: ManagedObject) throws -> [String] {
        try fields.map { try reader.value(of: $0, in: object).cell }
    }
}

extension FieldValue {
    /// The short form of a value in a table.
    fileprivate var cell: String {
        switch self {
        case .nothing: return ""
        case .text(let text): return text
        case .target(let id): return id.shortText
        case .members(let ids): return String(ids.count)
        case .value(.bytes(let bytes)): return bytes.count == 1 ? "1 byte" : "\(bytes.count) bytes"
        case .value(let value): return value.plainText ?? ""
        }
    }
}

extension ObjectID {
    /// The URI without the store: "Note/p3".
    var shortText: String { uri.split(separator: "/").suffix(2).joined(separator: "/") }
}
