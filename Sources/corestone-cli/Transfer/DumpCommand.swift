import Corestone
import Glibc

/// `corestone dump`: writes objects as text from which `load` can recreate them.
struct DumpCommand: Command {
    static let manual = Manual(
        command: "dump", summary: "write the objects of a store as JSON or CSV, for load and other programs",
        operands: [
            .init("STORE", "a store of any type; it is opened read-only"),
            .init("ENTITY", optional: true, "only this entity and its subentities; by default all entities"),
            .init("PREDICATE", optional: true, "a condition in the format of NSPredicate"),
        ],
        options: [
            .init("format", "jsonl (one object per line, the default), json (one array) or csv", value: "FORMAT"),
            .init(
                "output",
                "write FILE, completely or not at all; its extension sets the format. For csv without ENTITY, FILE is "
                    + "a folder with one file per entity", value: "FILE", letter: "o"),
            Formula.option, Manual.model,
        ],
        details: [
            "An object has @id (its name in the dump, such as Note/p12), @entity, attributes and relationships. A "
                + "relationship has the names of objects, in order if it is ordered. A complete dump omits the "
                + "redundant side of a relationship: it has folder, not notes.",
            "Every value is exact: binary and transformable values are base64 (fetch decodes archives), and decimals "
                + "and integers have all of their digits. Dates are ISO 8601 with as many digits as necessary, or "
                + "seconds since 2001 where ISO 8601 is not exact. In csv, null is an empty field and empty text is "
                + "\"\"; load removes the apostrophes of --spreadsheet-safe.",
            "Objects are written as they are read, and targets of relationships come first. Memory does not grow with "
                + "the number of objects. On a terminal, a bar shows the progress.",
        ],
        examples: [
            "corestone dump Notes.sqlite -o notes.jsonl",
            "corestone dump Notes.sqlite Note \"folder.name == 'Work'\" --format csv > work.csv",
            "corestone dump Notes.sqlite -o tables --format csv",
            "corestone dump Notes.sqlite | jq -c 'select(.\"@entity\" == \"Note\") | .title'",
        ])

    enum Form: String, CaseIterable { case jsonl, json, csv }

    private let store: String
    private let entityName: String?
    private let predicate: Predicate?
    private let form: Form
    private let file: String?
    private let options: Options

    init(_ options: Options) throws {
        self.options = options
        store = options.operand(0) ?? ""
        entityName = options.operand(1)
        predicate = try options.operand(2).map { try Predicate.parse($0) }
        file = options["output"]
        form = try Form.chosen(options["format"], file)
        if form == .csv, entityName == nil, file == nil {
            throw UsageError(
                "csv contains the objects of one entity; add ENTITY, or write one file per entity with -o FOLDER")
        }
    }

    func run(to output: Output) throws -> ExitCode {
        let coordinator = try openStore(store, options)
        if coordinator.stores.first?.modelSource == .inferred {
            Tool.note(
                "\(store) is read with a model inferred from its tables; add --model MODEL to use the original model")
        }
        if let file, (try? StoreMetadata(ofStoreAt: file)) != nil {
            throw OutputFile(path: file).failure("the file is a store; choose another path")
        }
        let chosen = try entityName.map { try coordinator.model.requireEntity(named: $0) }
        let plan = DumpPlan(chosen?.withDescendants ?? coordinator.model.preorder, isWhole: chosen == nil)
        let context = Context(coordinator: coordinator)
        var total = 0
        for part in plan.parts { total += try context.count(request(part)) }
        // On a terminal, a bar would be mixed with the printed lines.
        let bar = output.isTerminal && file == nil ? nil : ProgressBar("dumping", .things("objects"))
        let reader = FieldReader(coordinator.stores, decodesArchives: false)
        let isGuarded = try Formula.isGuarded(options, file != nil || !output.isPipe)
        var writer = DumpWriter(context: context, reader: reader, bar: bar, total: total)
        Interruption.installHandlers()
        var (files, makesFolder) = ([TextFile](), false)
        if let file, form == .csv, chosen == nil {
            makesFolder = mkdir(file, 0o755) == 0
            guard makesFolder || errno == EEXIST else {
                throw OutputFile(path: file).failure(OutputFile.reason)
            }
            for part in plan.parts {
                let table = try TextFile("\(file)/\(part.entity.name).csv")
                try writer.writeTable([part], request, isGuarded: isGuarded, to: table)
                try table.finish()
                files.append(table)
            }
        } else {
            let sink = try file.map { try TextFile($0) }
            let target: any TextSink = sink ?? output
            switch form {
            case .csv: try writer.writeTable(plan.parts, request, isGuarded: isGuarded, to: target)
            case .json, .jsonl: try writer.writeObjects(plan.parts, request, isArray: form == .json, to: target)
            }
            try sink?.finish()
            files = sink.map { [$0] } ?? []
        }
        bar?.end()
        do { try reader.finish(isPrinted: file == nil) } catch let error as CoreError {
            guard let file else { throw error }
            files = []
            if makesFolder { rmdir(file) }
            let needsEntity = form == .csv && chosen == nil
            throw CoreError(
                error.status,
                "\(file) was not written because the dump would be incomplete: \(error.message)"
                    + (error.message.hasRemedy ? ", or " : "; ")
                    + (needsEntity ? "dump one entity at a time without --output" : "omit --output")
                    + " to print the dump anyway",
                entity: error.entity, key: error.key, value: error.value, objectURI: error.objectURI,
                sqliteCode: error.sqliteCode, file: error.file)
        }
        // An incomplete dump must not replace an existing file.
        for file in files { try file.commit() }
        if let file { try output.line("\(file) has \(plural(writer.count, "object")) of \(store)") }
        return .done
    }

    private func request(_ part: DumpPlan.Part) -> FetchRequest {
        let request = FetchRequest(entity: part.entity, predicate: predicate)
        request.includesSubentities = false
        return request
    }
}

extension DumpCommand.Form {
    /// Returns the format of the option, or else of the file's extension.
    static func chosen(_ name: String?, _ file: String?) throws -> DumpCommand.Form {
        if let name {
            guard let form = DumpCommand.Form(rawValue: name) else {
                throw UsageError("--format must be jsonl, json or csv, not \"\(name)\"")
            }
            return form
        }
        switch file.map({ OutputFile(path: $0).kind }) {
        case "json": return .json
        case "csv": return .csv
        default: return .jsonl
        }
    }
}
