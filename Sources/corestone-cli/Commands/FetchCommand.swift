import Corestone

/// `corestone fetch`: prints objects of an entity.
struct FetchCommand: Command {
    static let manual = Manual(
        command: "fetch", summary: "print the objects of an entity that match a predicate",
        operands: [
            .init("STORE", "a store of Core Data or of this library; it is opened read-only"),
            .init("ENTITY", "the entity; objects of its subentities are included"),
            .init("PREDICATE", optional: true, "a condition in the format of NSPredicate; by default all objects"),
        ],
        options: [
            .init(
                "sort", "sort by this key path; a leading \"-\" sorts in descending order", value: "KEY",
                repeatable: true),
            .init("limit", "print at most N objects; 0 prints all", value: "N"),
            .init("offset", "skip the first N objects", value: "N"),
            .init("columns", "only these properties, in this order; @id and @entity are allowed", value: "NAME,…"),
            .init("raw", "print transformable values as they are stored, in base64, instead of decoding them"),
            .init("format", "table (the default), json or csv", value: "FORMAT"),
            Formula.option,
            .init("explain", "print the query plan with its SQL and indexes, instead of the objects"),
            Manual.model,
        ],
        details: [
            "json is one array of objects with @id (the URI), @entity and every property of the entity. csv has a "
                + "header line and a column for each property of the entity and its subentities. In both formats, "
                + "binary data is base64, dates are ISO 8601 in UTC, and decimals have all of their digits. "
                + "Relationships are URIs; those of a to-many relationship are an array in json, and are separated by "
                + "spaces in csv.",
            "A transformable value is printed as the plain data in its archive, as JSON in csv and tables. Sets are "
                + "arrays, and an object of another class is an object with its class as $class and its fields. A "
                + "value that is not an archive is printed as base64.",
            "Objects are printed as they are read, so memory does not grow with their number, unless the store cannot "
                + "sort by the requested keys.",
        ],
        examples: [
            "corestone fetch Notes.sqlite Note",
            "corestone fetch Notes.sqlite Note \"folder.name == 'Work'\" --sort folder.name --sort -modified",
            "corestone fetch Notes.sqlite Note --columns title,modified --limit 20",
            "corestone fetch Notes.sqlite Note --format json | jq '.[].title'",
            "corestone fetch Notes.sqlite Note \"title CONTAINS[cd] 'tax'\" --explain",
        ])

    private let store: String
    private let entityName: String
    private let predicate: Predicate?
    private let sort: [SortDescriptor]
    private let limit: Int
    private let offset: Int
    private let columns: [String]?
    private let format: Format
    private let options: Options

    init(_ options: Options) throws {
        self.options = options
        store = options.operand(0) ?? ""
        entityName = options.operand(1) ?? ""
        predicate = try options.operand(2).map { try Predicate.parse($0) }
        sort = options.all("sort").map { SortDescriptor($0.hasPrefix("+") ? String($0.dropFirst()) : $0) }
        limit = try options.number("limit", or: 0)
        offset = try options.number("offset", or: 0)
        columns = try options["columns"].map(FetchCommand.names(in:))
        format = try Format.chosen(by: options, among: Format.allCases)
    }

    /// Returns the names in a comma-separated list.
    ///
    /// Duplicates are an error, because the members of a JSON object must have different names.
    private static func names(in list: String) throws -> [String] {
        let names = list.split(separator: ",").map(String.init)
        if names.isEmpty {
            throw UsageError("--columns takes property names separated by commas, not \"\(list)\"")
        }
        var taken: Set<String> = []
        if let twice = names.first(where: { !taken.insert($0).inserted }) {
            throw UsageError("--columns contains \"\(twice)\" more than once; remove all but one")
        }
        return names
    }

    func run(to output: Output) throws -> ExitCode {
        let coordinator = try openStore(store, options)
        if coordinator.stores.first?.modelSource == .inferred {
            Tool.note(
                "\(store) is read with a model inferred from its tables, which has lower-case property names and may be "
                    + "inexact; add --model MODEL to use the original model")
        }
        let entity = try coordinator.model.requireEntity(named: entityName)
        let request = FetchRequest(
            entity: entity, predicate: predicate, sortDescriptors: sort, limit: limit, offset: offset)
        let fields = try Field.of(entity, named: columns)
        let context = Context(coordinator: coordinator)
        if options.has("explain") { return try explain(request, in: context, to: output) }
        let cursor = try context.cursor(request, batchSize: 500)
        let reader = FieldReader(coordinator.stores, decodesArchives: !options.has("raw"))
        var printer = printer(
            of: fields, entity: entity, reader, isGuarded: try Formula.isGuarded(options, !output.isPipe))
        let toMany = Set(fields.filter(\.isToMany).map(\.name))
        var batch = try cursor.next()
        try printer.begin(sample: batch, to: output)
        while !batch.isEmpty {
            try Field.loadMembers(of: toMany, batch, in: context)
            for object in batch { try printer.print(object, to: output) }
            // The reset breaks retain cycles between objects, so that the batch is deallocated.
            batch = []
            try context.reset()
            batch = try cursor.next()
        }
        try printer.end(to: output)
        try reader.finish()
        return .done
    }

    private func explain(_ request: FetchRequest, in context: Context, to output: Output) throws -> ExitCode {
        let explanation = try context.explain(request)
        switch format {
        case .table: try output.toolText("\(explanation)\n")
        case .json: try output.data(JSONText(explanation.report).text + "\n")
        case .csv: throw UsageError("--explain cannot print csv; use --format table or json")
        }
        return .done
    }

    private func printer(
        of fields: [Field], entity: Entity, _ reader: FieldReader, isGuarded: Bool
    ) -> any ObjectPrinter {
        switch format {
        case .table: TablePrinter(isChosen: columns != nil, fields, entity: entity, reader)
        case .json: JSONPrinter(isChosen: columns != nil, fields, reader)
        case .csv: CSVPrinter(fields, reader, isGuarded: isGuarded)
        }
    }
}

extension Command {
    /// Opens a store read-only. The page cache is small, because most commands read each row only once.
    func openStore(_ path: String, _ options: Options) throws -> Coordinator {
        var settings = StoreOptions.readOnly
        settings.cacheKilobytes = 4096
        return try suggestingShowForModels(path) {
            try Coordinator.open(path, model: try options.model(forStoreAt: path), options: settings)
        }
    }
}
