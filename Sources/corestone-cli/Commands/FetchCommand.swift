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
                "sort", "sort by this key path, column or expression; a leading \"-\" sorts in descending order",
                value: "KEY", repeatable: true),
            .init("limit", "print at most N objects or groups; 0 prints all", value: "N"),
            .init("offset", "skip the first N objects or groups", value: "N"),
            .init(
                "columns",
                "only these properties, key paths or expressions, in this order, each optionally as NAME=COLUMN; @id, "
                    + "@entity and @count are allowed", value: "COLUMN,…"),
            .init(
                "group-by",
                "print one row for each combination of these values; by default with their numbers of objects",
                value: "KEY,…"),
            .init("having", "print only the groups that satisfy this condition", value: "PREDICATE"),
            .init("count", "print only the number of objects"),
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
            "A column is a property (title), a key path (folder.name, notes.@count, notes.@sum.words), or an expression "
                + "(words * 2, year:(modified)). NAME=COLUMN names it: total=sum:(words). The functions count:, sum:, "
                + "average:, min:, max:, median: and stddev: are computed over all objects, or over those of each "
                + "group. @count is the number of objects.",
            "Objects are printed as they are read, so memory does not grow with their number, unless the store cannot "
                + "sort by the requested keys.",
        ],
        examples: [
            "corestone fetch Notes.sqlite Note",
            "corestone fetch Notes.sqlite Note \"folder.name == 'Work'\" --sort folder.name --sort -modified",
            "corestone fetch Notes.sqlite Note --columns title,modified --limit 20",
            "corestone fetch Notes.sqlite Note \"title CONTAINS 'tax'\" --count",
            "corestone fetch Notes.sqlite Folder --columns 'name,notes.@count,last=notes.@max.modified' --sort -last",
            "corestone fetch Notes.sqlite Note --group-by folder.name --sort -@count",
            "corestone fetch Notes.sqlite Note --group-by 'month=startOfMonth:(modified)' --columns 'month,@count,total=sum:(words)' --having 'total > 100'",
            "corestone fetch Notes.sqlite Note --format json | jq '.[].title'",
            "corestone fetch Notes.sqlite Note \"title CONTAINS[cd] 'tax'\" --explain",
        ])

    private let store: String
    private let entityName: String
    let predicate: Predicate?
    let having: Predicate?
    /// The keys of `--sort`, each with its sign.
    let sortKeys: [String]
    let limit: Int
    let offset: Int
    private let format: Format
    let options: Options

    /// The number of objects that are read at a time.
    static let batchSize = 500

    init(_ options: Options) throws {
        self.options = options
        store = options.operand(0) ?? ""
        entityName = options.operand(1) ?? ""
        predicate = try options.operand(2).map { try Predicate.parse($0) }
        having = try options["having"].map { try Predicate.parse($0) }
        sortKeys = options.all("sort")
        limit = try options.number("limit", or: 0)
        offset = try options.number("offset", or: 0)
        format = try Format.chosen(by: options, among: Format.allCases)
        try checkCombination()
    }

    private func checkCombination() throws {
        if options.has("having"), !options.has("group-by") {
            throw UsageError("--having filters groups; add --group-by KEY, or put the condition into PREDICATE")
        }
        guard options.has("count") else { return }
        if options.has("group-by") {
            throw UsageError(
                "--count prints one number and cannot be combined with --group-by; omit --count, and add @count to "
                    + "--columns")
        }
        if let other = ["columns", "explain"].first(where: { options.has($0) }) {
            throw UsageError("--count prints only a number and cannot be combined with --\(other); omit one of them")
        }
    }

    func run(to output: Output) throws -> ExitCode {
        let coordinator = try openStore(store, options)
        if coordinator.stores.first?.modelSource == .inferred {
            Tool.note(
                "\(store) is read with a model inferred from its tables, which has lower-case property names and may be "
                    + "inexact; add --model MODEL to use the original model")
        }
        let entity = try coordinator.model.requireEntity(named: entityName)
        let context = Context(coordinator: coordinator)
        let (plan, sort) = try plan(entity)
        let request =
            try plan.isComputed
            ? rowsRequest(plan, sort)
            : FetchRequest(entity: entity, predicate: predicate, sortDescriptors: sort, limit: limit, offset: offset)
        if options.has("count") {
            request.resultType = .count
            try output.data("\(try context.count(request))\n")
            return .done
        }
        if options.has("explain") {
            return try explain(
                plan.isComputed ? context.explainDictionaries(request) : context.explain(request), to: output)
        }
        let reader = FieldReader(coordinator.stores, decodesArchives: !options.has("raw"))
        if plan.isGrouped {
            try printGroups(plan, request, in: context, to: output)
        } else if plan.isComputed {
            try printRows(plan, request, reader, in: context, to: output)
        } else {
            try printObjects(plan, request, reader, in: context, to: output)
        }
        try reader.finish()
        return .done
    }

    private func printObjects(
        _ plan: Plan, _ request: FetchRequest, _ reader: FieldReader, in context: Context, to output: Output
    ) throws {
        let cursor = try context.cursor(request, batchSize: FetchCommand.batchSize)
        let fields = plan.columns.compactMap(\.field)
        var printer = try printer(of: plan.columns, "object", plan.entity, output)
        let toMany = Set(fields.filter(\.isToMany).map(\.name))
        var batch = try cursor.next()
        try printer.begin(batch.count, { number in try values(fields, batch[number], reader) }, to: output)
        while !batch.isEmpty {
            try Field.loadMembers(of: toMany, batch, in: context)
            for object in batch { try printer.print(try values(fields, object, reader), to: output) }
            // The reset breaks retain cycles between objects, so that the batch is deallocated.
            batch = []
            try context.reset()
            batch = try cursor.next()
        }
        try printer.end(to: output)
    }

    private func values(_ fields: [Field], _ object: ManagedObject, _ reader: FieldReader) throws -> [FieldValue?] {
        try fields.map { field in
            switch field {
            case .attribute(let name, _), .toOne(let name), .toMany(let name):
                object.hasProperty(name) ? try reader.value(of: field, in: object) : nil
            case .id, .entity: try reader.value(of: field, in: object)
            }
        }
    }

    private func explain(_ explanation: FetchExplanation, to output: Output) throws -> ExitCode {
        switch format {
        case .table: try output.toolText("\(explanation)\n")
        case .json: try output.data(JSONText(explanation.report).text + "\n")
        case .csv: throw UsageError("--explain cannot print csv; use --format table or json")
        }
        return .done
    }

    /// Returns the printer of the chosen format.
    ///
    /// - Parameter noun: The name of a row for users: object, group or row.
    func printer(
        of columns: [FetchColumn], _ noun: String, _ entity: Entity, _ output: Output
    ) throws -> any RowPrinter {
        let isChosen = options.has("columns") || options.has("group-by")
        let isGuarded = try Formula.isGuarded(options, !output.isPipe)
        return switch format {
        case .table: TablePrinter(isChosen: isChosen, columns, of: noun, entity)
        case .json: JSONPrinter(isChosen: isChosen, columns)
        case .csv: CSVPrinter(columns, isGuarded: isGuarded)
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
