import Corestone

/// `corestone history`: prints the persistent history of a store.
struct HistoryCommand: Command {
    static let manual = Manual(
        command: "history", summary: "print the persistent history of a store",
        operands: [.init("STORE", "a store with persistent history, of Core Data or of this library")],
        options: [
            .init(
                "since", "only transactions after a transaction number, a date (ISO 8601) or a history token (JSON)",
                value: "PLACE"),
            .init("author", "only transactions of this author", value: "NAME"),
            .init(
                "exclude-author", "exclude transactions of this author, but not those without an author", value: "NAME"),
            .init(
                "entity", "only changes of objects of this entity, without its subentities", value: "NAME",
                repeatable: true),
            .init("limit", "print at most N transactions; 0 prints all", value: "N"),
            .init("format", "table (the default), json or csv", value: "FORMAT"),
            .init("follow", "keep running, and print new transactions of all processes"),
            Formula.option,
            Manual.model,
            Manual.timeout,
        ],
        details: [
            "The table has a line for each changed object: the kind of the change, and for an update the names of the changed properties. "
                + "Transactions without changes, such as migrations, have one line. Values are not printed, except "
                + "those that the model preserves when an object is deleted (the tombstone): see history object and history diff.",
            "json is one array of transactions with their changes; with --follow, one transaction on each line. csv has a line for "
                + "each change.",
            "--follow ends with Ctrl-C.",
        ],
        examples: [
            "corestone history Notes.sqlite",
            "corestone history Notes.sqlite --since 2026-11-01 --entity Note",
            "corestone history Notes.sqlite --since 120 --exclude-author importer --format json",
            "corestone history Notes.sqlite --follow",
        ])

    private let path: String
    private let options: Options
    private let format: Format
    private let limit: Int

    init(_ options: Options) throws {
        self.options = options
        path = options.operand(0) ?? ""
        format = try Format.chosen(by: options, among: Format.allCases)
        limit = try options.number("limit", or: 0)
    }

    func run(to output: Output) throws -> ExitCode {
        let follows = options.has("follow")
        let coordinator = try follows ? openSharedStore(path, options) : openStore(path, options)
        let store = try storeWithHistory(of: coordinator, path)
        let cursor = try coordinator.history(try request(store, coordinator.model))
        var printer = try HistoryPrinter(
            format, to: output, follows: follows, isGuarded: try Formula.isGuarded(options, !output.isPipe))
        if follows { Interruption.installHandlers() }
        var count = 0
        while limit == 0 || count < limit {
            if let transaction = try cursor.next() {
                count += 1
                try printer.print(transaction)
            } else if follows {
                try printer.flush()
                // Ctrl-C does not interrupt a wait, so each wait is short.
                while !Interruption.isReceived, try !cursor.wait(milliseconds: HistoryCommand.waitMilliseconds) {}
            } else {
                break
            }
            if Interruption.isReceived { break }
        }
        try printer.end()
        return .done
    }

    /// The interval between checks for Ctrl-C, in milliseconds.
    private static let waitMilliseconds = 200

    private func request(_ store: Store, _ model: Model) throws -> HistoryRequest {
        var request = HistoryRequest(
            after: try options["since"].map { try HistoryRequest.Start(typed: $0, "--since", store) } ?? .beginning)
        request.excludedAuthor = options["exclude-author"]
        let entities = options.all("entity")
        var conditions: [String] = []
        var arguments: [PropertyValue] = []
        if let author = options["author"] {
            conditions.append("author == %@")
            arguments.append(.string(author))
        }
        if !entities.isEmpty {
            for name in entities { _ = try model.requireEntity(named: name) }
            request.subject = .changes
            conditions.append("changedEntity IN %@")
            arguments.append(.array(entities.map { .string($0) }))
        }
        if !conditions.isEmpty {
            request.predicate = try Predicate.parse(conditions.joined(separator: " AND "), arguments: arguments)
        }
        return request
    }
}

/// A printer of transactions in one of the formats.
private struct HistoryPrinter {
    private let format: Format
    private let output: Output
    private let follows: Bool
    private let isGuarded: Bool
    private var count = 0
    /// Lines that are buffered until the widths of the columns are known.
    private var waiting: [[String]] = []
    private var table: Table?

    private static let columns = [
        Table.Column("transaction", .right), Table.Column("time"), Table.Column("author"), Table.Column("change"),
        Table.Column("object"), Table.Column("properties"),
    ]
    /// The number of lines that determine the widths of the table.
    private static let sample = 200

    init(_ format: Format, to output: Output, follows: Bool, isGuarded: Bool) throws {
        (self.format, self.output, self.follows, self.isGuarded) = (format, output, follows, isGuarded)
        if format == .csv { try output.data(CSV.line(HistoryPrinter.header)) }
    }

    mutating func print(_ transaction: HistoryTransaction) throws {
        defer { count += 1 }
        switch format {
        case .table:
            let lines = transaction.lines
            guard let table else {
                waiting += lines
                if waiting.count >= HistoryPrinter.sample || follows { try beginTable() }
                return
            }
            for line in lines { try output.line(table.line(line), isWhole: true) }
        case .json:
            let text = transaction.json.line
            try output.data(follows ? "\(text)\n" : "\(count == 0 ? "[" : ",")\n  \(text)")
        case .csv:
            for fields in transaction.fields {
                try output.data(CSV.line(isGuarded ? fields.map { $0.map(Formula.guarded) } : fields))
            }
        }
    }

    private mutating func beginTable() throws {
        let table = Table(HistoryPrinter.columns, sample: waiting, width: output.width)
        try output.line(bold: table.head)
        for line in waiting { try output.line(table.line(line), isWhole: true) }
        waiting = []
        self.table = table
    }

    /// Flushes the output before a wait.
    mutating func flush() throws {
        if format == .table, table == nil { try beginTable() }
        try output.finish()
    }

    mutating func end() throws {
        switch format {
        case .table:
            if table == nil { try beginTable() }
            if output.isTerminal { try output.line(plural(count, "transaction")) }
        case .json: if !follows { try output.data(count == 0 ? "[]\n" : "\n]\n") }
        case .csv: break
        }
    }

    private static let header =
        HistoryTransaction.header + ["change", "kind", "object", "properties", "tombstone"]
}

extension HistoryTransaction {
    var time: String { ReferenceDate.text(timestamp) ?? timestamp.description }

    /// The column names of `csvFields`.
    static let header = ["transaction", "time", "author", "context", "bundle", "process"]
    /// The number, time, author, context, bundle and process of the transaction.
    var csvFields: [String?] { [String(number), time, author, contextName, bundleIdentifier, processIdentifier] }
    /// The same fields as members of a JSON object.
    var members: [(String, JSON)] {
        [
            ("number", .number(String(number))), ("time", .string(time)), ("author", .optional(author)),
            ("contextName", .optional(contextName)), ("bundleIdentifier", .optional(bundleIdentifier)),
            ("processIdentifier", .optional(processIdentifier)),
        ]
    }

    fileprivate var lines: [[String]] {
        let head = [String(number), time, author ?? ""]
        guard let changes, !changes.isEmpty else { return [head + ["", "", ""]] }
        return changes.map { change in
            head + [change.kind.name, change.objectID.shortText, change.details]
        }
    }

    fileprivate var fields: [[String?]] {
        guard let changes, !changes.isEmpty else { return [csvFields + [nil, nil, nil, nil, nil]] }
        return changes.map { change in
            csvFields + [
                String(change.id), change.kind.name, change.objectID.uri,
                change.kind == .update ? change.updatedProperties.map(\.path).joined(separator: " ") : nil,
                change.tombstone.map { HistoryChange.json($0).line },
            ]
        }
    }

    fileprivate var json: JSON {
        .object(
            members + [
                ("store", .string(storeIdentifier)), ("changes", .array((changes ?? []).map(\.json))),
            ])
    }
}

extension HistoryChange {
    /// The names of changed properties, or the values of a tombstone.
    fileprivate var details: String {
        if kind == .update { return updatedProperties.map(\.path).joined(separator: ", ") }
        let values = (tombstone ?? [:]).sorted { $0.key < $1.key }
        return values.map { "\($0.key) \(DumpValue.text($0.value) ?? "")" }.joined(separator: ", ")
    }

    fileprivate var json: JSON {
        var members: [(String, JSON)] = [
            ("number", .number(String(id))), ("kind", .string(kind.name)), ("entity", .string(objectID.entity.name)),
            ("object", .string(objectID.uri)),
        ]
        if kind == .update {
            members.append(("updatedProperties", .array(updatedProperties.map { .string($0.path) })))
        }
        if let tombstone { members.append(("tombstone", HistoryChange.json(tombstone))) }
        return .object(members)
    }

    fileprivate static func json(_ values: [String: PropertyValue]) -> JSON {
        .object(values.sorted { $0.key < $1.key }.map { ($0.key, DumpValue.json($0.value)) })
    }
}

extension HistoryChangeKind {
    var name: String {
        switch self {
        case .insert: "insert"
        case .update: "update"
        case .delete: "delete"
        }
    }
}
