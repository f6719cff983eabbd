import Corestone

/// A printer of objects or groups, one at a time.
///
/// The values of a row are those of the columns. Nil is the value of a property that the object's entity does not have.
protocol RowPrinter {
    /// Begins the output before the first row.
    ///
    /// - Parameters:
    ///   - count: The number of rows that are already known.
    ///   - row: A function that returns one of these rows.
    mutating func begin(_ count: Int, _ row: (Int) throws -> [FieldValue?], to output: Output) throws
    mutating func print(_ row: [FieldValue?], to output: Output) throws
    mutating func end(to output: Output) throws
}

/// A printer of a JSON array with one row per line.
struct JSONPrinter: RowPrinter {
    private let names: [String]
    /// Whether every object has all members, because they were selected by name.
    private let isChosen: Bool
    private var count = 0

    init(isChosen: Bool, _ columns: [FetchColumn]) {
        self.isChosen = isChosen
        names = columns.map(\.name)
    }

    func begin(_ count: Int, _ row: (Int) throws -> [FieldValue?], to output: Output) throws { try output.data("[") }

    mutating func print(_ row: [FieldValue?], to output: Output) throws {
        let members = zip(names, row).compactMap { name, value in
            value == nil && !isChosen ? nil : (name, JSON(value ?? .nothing))
        }
        try output.data((count == 0 ? "\n  " : ",\n  ") + JSON.object(members).line)
        count += 1
    }

    func end(to output: Output) throws { try output.data(count == 0 ? "]\n" : "\n]\n") }
}

extension JSON {
    init(_ value: FieldValue) {
        switch value {
        case .nothing: self = .null
        case .text(let text): self = .string(text)
        case .target(let id): self = .string(id.uri)
        case .members(let ids): self = .array(ids.map { .string($0.uri) })
        case .value(let value): self = JSON(value)
        }
    }

    init(_ value: PropertyValue) {
        switch value {
        case .bool(let flag): self = .bool(flag)
        case .int(let number): self = .number(String(number))
        case .double(let number): self = .double(number)
        case .decimal(let number): self = .number(number.description)
        case .array(let items): self = .array(items.map { JSON($0) })
        case .set(let items): self = .array(JSON.sorted(items.map { JSON($0) }))
        case .dictionary(let members):
            self = .object(members.sorted { $0.key < $1.key }.map { ($0.key, JSON($0.value)) })
        case .object(let object as ArchivedObject):
            let fields = object.fields.sorted { $0.key < $1.key }.map { ($0.key, JSON($0.value)) }
            self = .object([("$class", .string(object.className))] + fields)
        default: self = .optional(value.plainText)
        }
    }
}

extension JSON {
    /// Sorts unordered items, so that the output is deterministic.
    fileprivate static func sorted(_ items: [JSON]) -> [JSON] {
        items.map { ($0, $0.line) }.sorted { $0.1 < $1.1 }.map(\.0)
    }
}

/// A printer of a CSV header, followed by a line for each row.
struct CSVPrinter: RowPrinter {
    private let names: [String]
    /// Whether text is protected against spreadsheet formulas.
    private let isGuarded: Bool

    init(_ columns: [FetchColumn], isGuarded: Bool) {
        names = columns.map(\.name)
        self.isGuarded = isGuarded
    }

    func begin(_ count: Int, _ row: (Int) throws -> [FieldValue?], to output: Output) throws {
        try output.data(CSV.line(names))
    }

    func print(_ row: [FieldValue?], to output: Output) throws {
        let cells = row.map { value in
            value?.plainText.map { isGuarded && value?.isText == true ? Formula.guarded($0) : $0 }
        }
        try output.data(CSV.line(cells))
    }

    func end(to output: Output) throws {}
}

extension FieldValue {
    /// Whether the value is text, whose first character can be chosen freely, unlike that of a number or a date.
    var isText: Bool {
        switch self {
        case .nothing: false
        case .value(.bool), .value(.int), .value(.double), .value(.decimal), .value(.date), .value(.null): false
        case .value, .text, .target, .members: true
        }
    }

    /// The whole value as text; nil for a missing value.
    fileprivate var plainText: String? {
        switch self {
        case .nothing: nil
        case .text(let text): text
        case .target(let id): id.uri
        case .members(let ids): ids.map(\.uri).joined(separator: " ")
        case .value(let value): value.plainText
        }
    }
}

extension PropertyValue {
    /// The value as text without loss; nil for null.
    var plainText: String? {
        switch self {
        case .null: nil
        case .bool(let flag): flag ? "true" : "false"
        case .int(let number): String(number)
        case .double(let number): number.isNaN ? "NaN" : number.isInfinite ? infinity(number) : number.description
        case .decimal(let number): number.description
        case .text(let text), .uri(let text): text.string
        case .bytes(let bytes): base64(bytes.array)
        case .date(let seconds): ReferenceDate.description(seconds)
        case .uuid(let uuid): uuid.description
        case .object(is ArchivedObject): JSON(self).line
        case .object(let object): object.valueDescription
        case .array, .set, .dictionary: JSON(self).line
        }
    }

    private func infinity(_ number: Double) -> String { number < 0 ? "-Infinity" : "Infinity" }
}
