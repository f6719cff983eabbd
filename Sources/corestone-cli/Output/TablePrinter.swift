import Corestone

/// A printer of rows of a table. The first rows determine the widths of the columns.
struct TablePrinter: RowPrinter {
    private let columns: [FetchColumn]
    /// The indexes of the printed columns.
    private let places: [Int]
    /// The name of a row for users: object, group or row.
    private let noun: String
    private let entity: Entity
    private var table: Table?
    private var count = 0

    /// Creates a printer.
    ///
    /// - Parameter isChosen: Whether the columns were selected by name.
    init(isChosen: Bool, _ columns: [FetchColumn], of noun: String, _ entity: Entity) {
        // By default, the column of the entity is left out, because the ID contains the name of the entity.
        places = columns.indices.filter { place in
            if case .entity? = columns[place].field { isChosen } else { true }
        }
        (self.columns, self.noun, self.entity) = (columns, noun, entity)
    }

    mutating func begin(_ count: Int, _ row: (Int) throws -> [FieldValue?], to output: Output) throws {
        var isNumber = places.map { columns[$0].isNumber ?? true }
        let sample = try (0..<min(count, 200)).map { number in
            let values = try row(number)
            for (index, place) in places.enumerated() where columns[place].isNumber == nil {
                isNumber[index] = isNumber[index] && values[place]?.mayBeNumber ?? true
            }
            return cells(values)
        }
        let titles = zip(places, isNumber).map { Table.Column(columns[$0].name, $1 ? .right : .left) }
        let table = Table(titles, sample: sample, width: output.width)
        try output.line(bold: table.head)
        self.table = table
    }

    mutating func print(_ row: [FieldValue?], to output: Output) throws {
        count += 1
        if let table { try output.line(table.line(cells(row)), isWhole: true) }
    }

    func end(to output: Output) throws {
        // The line is only for users, because a program can count the lines.
        guard output.isTerminal, let table else { return }
        let hidden = table.hiddenCount(of: places.count)
        let more = hidden > 0 ? "; \(hidden) columns more with --columns, --format json or a wider terminal" : ""
        try output.line("\(plural(count, noun)) of \(entity.name)\(more)")
    }

    private func cells(_ row: [FieldValue?]) -> [String] { places.map { row[$0]?.cell ?? "" } }
}

extension FieldValue {
    /// Whether the value is a number or null.
    fileprivate var mayBeNumber: Bool {
        switch self {
        case .nothing, .value(.int), .value(.double), .value(.decimal): true
        default: false
        }
    }

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
