import Corestone

extension Manual {
    /// The forms of a position in the history.
    fileprivate static let place = "a transaction number, a date (ISO 8601) or a history token (JSON)"
    fileprivate static let completeness =
        "Only a complete history (CST_STORE_COMPLETE_HISTORY) keeps the values that each transaction replaced. "
}

/// `corestone history object`: prints the changes of one object.
struct HistoryObjectCommand: Command {
    static let manual = Manual(
        command: "history object", summary: "print the changes of one object with their values",
        operands: [
            .init("STORE", "a store with persistent history; it is opened read-only"),
            .init("URI", "the object, also a deleted one: x-coredata://UUID/Note/p1, or Note/p1"),
        ],
        options: [
            .init("format", "table (the default), json or csv", value: "FORMAT"), Formula.option, Manual.model,
        ],
        details: [
            "The table has a line for each changed property, with the value before and after; the oldest change comes first. "
                + Manual.completeness + "Without one, a value is \"unknown\" if a later transaction replaced it.",
            "To-many relationships and derived attributes are listed without values (\"-\"); history diff compares their "
                + "values. An insertion and a deletion have the known values of the object; the table leaves out "
                + "nulls and empty relationships.",
            "json is one array of changes. Each value has the members property, old, new and unknown, a list of \"old\" and "
                + "\"new\". An unknown value is left out, and so are the old value of an insertion and the new value of a deletion.",
        ],
        examples: [
            "corestone history object Notes.sqlite Note/p12",
            "corestone history object Notes.sqlite x-coredata://9B2F6D7C-…/Note/p12 --format json",
        ])

    private let path: String
    private let uri: String
    private let options: Options
    private let format: Format

    init(_ options: Options) throws {
        self.options = options
        path = options.operand(0) ?? ""
        uri = options.operand(1) ?? ""
        format = try Format.chosen(by: options, among: Format.allCases)
    }

    func run(to output: Output) throws -> ExitCode {
        let coordinator = try openStore(path, options)
        let store = try storeWithHistory(of: coordinator, path)
        let id = try objectID(in: coordinator, store)
        let revisions = try coordinator.history(of: id)
        if revisions.isEmpty {
            Tool.note(
                "the history of \(path) does not have a change of \(id.shortText), which was never saved, or only "
                    + "before the history begins")
        }
        let printer = RevisionPrinter(
            .object, format, isGuarded: try Formula.isGuarded(options, !output.isPipe))
        try printer.print(revisions, to: output)
        return .done
    }

    private static let scheme = "x-coredata://"

    private func objectID(in coordinator: Coordinator, _ store: Store) throws -> ObjectID {
        let prefix = "\(HistoryObjectCommand.scheme)\(store.identifier)/"
        let full = uri.hasPrefix(HistoryObjectCommand.scheme) ? uri : prefix + uri
        if let id = try coordinator.objectID(forURI: full) { return id }
        let parts = full.dropFirst(HistoryObjectCommand.scheme.count).split(separator: "/").map(String.init)
        if parts.count == 3, parts[0].uppercased() == store.identifier.uppercased() {
            _ = try coordinator.model.requireEntity(named: parts[1])
        } else if parts.count == 3 {
            throw UsageError(
                "\"\(uri)\" does not belong to \(path), whose identifier is \(store.identifier); pass the URI of an "
                    + "object of this store, or ENTITY/pNUMBER")
        }
        throw UsageError(
            "\"\(uri)\" is not the URI of an object; pass one that corestone history prints, such as \(prefix)Note/p1 or Note/p1"
        )
    }
}

/// `corestone history diff`: compares two positions of a history.
struct HistoryDiffCommand: Command {
    static let manual = Manual(
        command: "history diff", summary: "compare a store at two places of its history",
        operands: [.init("STORE", "a store with persistent history; it is opened read-only")],
        options: [
            .init("from", "the earlier place: \(Manual.place)", value: "PLACE"),
            .init("to", "the later place; by default the present", value: "PLACE"),
            .init(
                "entity", "only objects of this entity, without its subentities", value: "NAME", repeatable: true),
            .init("format", "table (the default), json or csv", value: "FORMAT"), Formula.option, Manual.model,
        ],
        details: [
            "Prints the objects that were inserted, changed or deleted between the two places, with the old and the new value "
                + "of each property that differs. An object that was inserted and deleted in between is not a difference, and "
                + "neither is a property that has its old value again. A place includes its own transaction. The exit code is 0 "
                + "without differences, otherwise 1, as for diff.",
            Manual.completeness
                + "Without one, a value is \"unknown\" if a transaction after the place replaced it, and a "
                + "property with an unknown value counts as different.",
            "json is one array of objects with kind, entity, object and values. Each value has the members property, old, new "
                + "and unknown, a list of \"old\" and \"new\". Both states are copies of the store in TMPDIR, which are removed at "
                + "the end.",
        ],
        examples: [
            "corestone history diff Notes.sqlite --from 2026-11-01",
            "corestone history diff Notes.sqlite --from 120 --to 125 --entity Note --format json",
        ])

    private let path: String
    private let start: String
    private let options: Options
    private let format: Format

    init(_ options: Options) throws {
        self.options = options
        path = options.operand(0) ?? ""
        format = try Format.chosen(by: options, among: Format.allCases)
        guard let start = options["from"] else {
            throw UsageError("--from is missing; pass the earlier place with --from: \(Manual.place)")
        }
        self.start = start
    }

    func run(to output: Output) throws -> ExitCode {
        let coordinator = try openStore(path, options)
        let store = try storeWithHistory(of: coordinator, path)
        let entities = try options.all("entity").map { try coordinator.model.requireEntity(named: $0).name }
        let from = try HistoryRequest.Start(past: start, "--from", of: coordinator, store)
        let to = try options["to"].map { try HistoryRequest.Start(past: $0, "--to", of: coordinator, store) }
        var found = try coordinator.historyDifference(from: from, to: to)
        if !entities.isEmpty { found = found.filter { entities.contains($0.objectID.entity.name) } }
        let printer = RevisionPrinter(
            .difference, format, isGuarded: try Formula.isGuarded(options, !output.isPipe))
        try printer.print(found, to: output)
        return found.isEmpty ? .done : .problems
    }
}

/// `corestone history at`: writes a past state of a store as a new store.
struct HistoryAtCommand: Command {
    static let manual = Manual(
        command: "history at", summary: "write a store as it was at a place of its history",
        operands: [
            .init("STORE", "a store with persistent history; it is opened read-only"),
            .init("PLACE", "\(Manual.place); the state includes this transaction"),
        ],
        options: [
            .init("output", "an unused path for the copy", value: "COPY", letter: "o"),
            Manual.model,
        ],
        details: [
            "The copy is a store with the identifier of STORE, so object IDs stay valid, and with the history up to the place. It "
                + "is prepared in TMPDIR, which needs room for a store of the same size.",
            Manual.completeness
                + "Without one, a value is unknown if a later transaction replaced it. An unknown attribute or "
                + "to-one relationship is null in the copy, and an unknown to-many relationship may have other members than it had. A "
                + "line on standard error reports the number of unknown values.",
        ],
        examples: [
            "corestone history at Notes.sqlite 2026-11-01 -o Notes-november.sqlite",
            "corestone history at Notes.sqlite 120 --output before-import.sqlite",
        ])

    private let source: String
    private let place: String
    private let path: String
    private let options: Options

    init(_ options: Options) throws {
        self.options = options
        source = options.operand(0) ?? ""
        place = options.operand(1) ?? ""
        guard let path = options["output"] else {
            throw UsageError("--output is missing; pass an unused path for the copy with -o COPY")
        }
        self.path = path
    }

    func run(to output: Output) throws -> ExitCode {
        try requireFree(path, "choose another path for the copy")
        let present = try openStore(source, options)
        let store = try storeWithHistory(of: present, source)
        let past = try present.past(at: HistoryRequest.Start(past: place, "PLACE", of: present, store))
        guard let copy = past.stores.first, let state = past.past else {
            throw CoreError(
                .internal, "the past state of \(source) does not have a store; report it as a defect of the library",
                file: source)
        }
        let unknown = try past.unknownValues(state)
        let bar = ProgressBar("writing", .bytes)
        var bytes = 0
        try past.backup(copy, to: path) { done, total in
            bytes = total
            bar.show(done, of: total)
            return true
        }
        bar.end()
        let number = state.token.transactionNumber(ofStore: store.identifier) ?? 0
        try output.line(
            "\(path) is \(source) after transaction \(number), \(store.identifier), \(plural(bytes, "byte"))")
        if unknown.values > 0 {
            try output.finish()
            Tool.note(
                "\(plural(unknown.values, "value")) of \(plural(unknown.objects, "object")) \(unknown.values == 1 ? "is" : "are") "
                    + "unknown: attributes and to-one relationships are null in \(path), and to-many relationships "
                    + "may have other members; open \(source) with CST_STORE_COMPLETE_HISTORY (complete_history=True) "
                    + "to keep old values from now on"
            )
        }
        return .done
    }
}

extension Coordinator {
    /// Returns the number of unknown values of a past state, and the number of objects with such values.
    fileprivate func unknownValues(_ past: Past) throws -> (values: Int, objects: Int) {
        if past.isComplete { return (0, 0) }
        let context = Context(coordinator: self)
        var (values, objects) = (0, 0)
        for root in model.roots {
            for id in try context.fetchIDs(FetchRequest(entity: root)) {
                // An element is counted with its composite attribute.
                let count = id.entity.properties.count {
                    !$0.isTransient && ($0 as? Attribute)?.composite == nil && !past.isKnown($0, of: id)
                }
                values += count
                objects += count > 0 ? 1 : 0
            }
        }
        return (values, objects)
    }
}
