import Corestone
import CorestoneFileSystem
import Glibc

/// `corestone load`: loads objects from JSON or CSV files.
struct LoadCommand: Command {
    static let manual = Manual(
        command: "load", summary: "load the objects of JSON or CSV files into a store",
        operands: [
            .init("STORE", "a store of any type; a missing store is created for the model of --model"),
            .init(
                "FILE", optional: true, repeatable: true,
                "a file of dump or of another program; by default, or for \"-\", standard input"),
        ],
        options: [
            .init(
                "format", "jsonl, json or csv; by default from the name of the file, otherwise jsonl", value: "FORMAT"),
            .init(
                "entity", "the entity of lines without one; by default the name of the csv file", value: "NAME"
            ),
            .init(
                "map",
                "load a column as this property, or skip it if KEY is empty; owner.name finds the owner by its name",
                value: "COLUMN=KEY", repeatable: true),
            .init("separator", "the separator of csv fields, one character or \"tab\"", value: "CHARACTER"),
            .init(
                "spreadsheet-safe",
                "whether to remove the apostrophe before csv text that a spreadsheet would run as a formula; by "
                    + "default yes",
                value: "yes|no"),
            .init("skip-unknown", "ignore properties that the model does not have"),
            .init("upsert", "update the object that already has the unique values of a line"),
            .init(
                "keep-going",
                "skip lines that cannot be loaded; by default, such a line prevents the save"),
            .init(
                "batch", "save after every N lines, which limits memory; saved lines stay if the load fails", value: "N"
            ),
            .init("dry-run", "do not save; report what would be loaded"),
            .init("type", "the type of a new store: SQLite (the default), XML or Binary", value: "TYPE"),
            .init(
                "model",
                "the model to use instead of the store's own, or the model of a new store; for the model of another "
                    + "store, its path", value: "MODEL"),
        ],
        details: [
            "Values are converted to the types of the model. Booleans are true, false, yes, no, 1 or 0, and binary "
                + "data is base64. Dates are ISO 8601 (UTC without an offset), or seconds since 2001, which need a "
                + "decimal point in csv. An empty csv field is null, or the default if null is not allowed. A "
                + "relationship has the names of objects, which are the @id of earlier or later lines; csv separates "
                + "several names by spaces. Derived attributes are recomputed.",
            "In JSON, a relationship can also contain objects: {\"feed\": \"…\", \"episodes\": [{\"guid\": \"a1\"}]}. They are "
                + "loaded like lines, as objects of the destination or of the subentity in @entity. With --upsert, the "
                + "object with their unique values is updated.",
            "A line that cannot be loaded is reported on standard error with file, line, entity, key and value. It "
                + "ends the load with exit code 1; without --batch, nothing is saved, and a new store is not created. With "
                + "--keep-going, such lines are skipped without an effect. --dry-run with --keep-going finds all "
                + "mistakes that can be found without a save.",
            "All objects are saved in one step at the end and are in memory until then, with about 1,000 bytes each. "
                + "With --batch, N objects are in memory, with the names of all objects (about 50 bytes each) and "
                + "lines that wait for a required relationship. For SQLite stores, --keep-going saves batches of 1,000 "
                + "objects. A failed load in batches reports the saved lines: load the whole file again with --upsert "
                + "if all objects have unique values. Otherwise restore the store first, because saved objects would "
                + "be duplicated.",
        ],
        examples: [
            "corestone dump Notes.sqlite | corestone load Copy.sqlite --model Notes.sqlite",
            "corestone load Notes.sqlite people.csv --entity Person --map \"Full name=name\" --map \"Group=group.title\" --upsert",
            "corestone load Notes.sqlite notes.jsonl --dry-run --keep-going",
            "curl -s https://example.com/shows.json | corestone load Podcasts.sqlite --format json --entity Show --upsert",
        ])

    private let store: String
    private let files: [String]
    private let map: [Text: String]
    private let batchSize: Int?
    private let separator: UInt8
    private let isGuarded: Bool
    private let options: Options

    init(_ options: Options) throws {
        self.options = options
        store = options.operand(0) ?? ""
        files = options.operands.count > 1 ? Array(options.operands.dropFirst()) : ["-"]
        map = try LoadCommand.map(options.all("map"))
        batchSize = try options["batch"].map { text in
            guard let size = Int(text), size > 0 else {
                throw UsageError("--batch must be an integer from 1 to \(Int.max), not \"\(text)\"")
            }
            return size
        }
        let mark = options["separator"] ?? ","
        let bytes = Array((mark == "tab" ? "\t" : mark).utf8)
        guard bytes.count == 1, bytes[0] < 0x80, ![0x22, 0x0A, 0x0D].contains(bytes[0]) else {
            throw UsageError(
                "--separator must be tab or one ASCII character other than a double quote or a line break, not "
                    + "\"\(mark)\""
            )
        }
        separator = bytes[0]
        isGuarded = try Formula.isGuarded(options, true)
    }

    private static func map(_ words: [String]) throws -> [Text: String] {
        var map: [Text: String] = [:]
        for word in words {
            let parts = word.utf8.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
                .map { String(Substring($0)) }
            guard parts.count == 2, !parts[0].isEmpty else {
                throw UsageError("--map takes COLUMN=KEY, not \"\(word)\"")
            }
            guard map.updateValue(parts[1], forKey: Text(parts[0])) == nil else {
                throw UsageError("--map contains the column \"\(parts[0])\" twice; remove one of the two")
            }
        }
        return map
    }

    func run(to output: Output) throws -> ExitCode {
        let isTrial = options.has("dry-run")
        let (coordinator, isNew) = try openTarget(isTrial)
        var rules = Loader.Rules()
        rules.upserts = options.has("upsert")
        rules.skipsUnknown = options.has("skip-unknown")
        rules.isTrial = isTrial
        rules.keepsGoing = options.has("keep-going")
        // With --keep-going but without --batch, only SQLite stores are saved in batches, because each save of another
        // type writes the whole file.
        let streams = rules.keepsGoing && coordinator.stores.first?.type == .sqlite
        rules.batchSize = isTrial ? nil : batchSize ?? (streams ? 1000 : nil)
        let bar = ProgressBar("loading", .bytes)
        let (keepsGoing, refusals) = (rules.keepsGoing, Refusals())
        let loader = try Loader(coordinator, rules) { failure in
            refusals.count += 1
            bar.end()
            Tool.note("\(failure.line): \(failure.message)")
            if !keepsGoing { throw Ended() }
        }
        // Unsaved objects have already been reported.
        defer { _ = try? loader.context.close(.discard) }
        var hasEnded = false
        do {
            Interruption.installHandlers()
            for file in files { try load(file, loader, coordinator.model, bar) }
            try loader.finish()
        } catch is Ended { hasEnded = true } catch {
            bar.end()
            if isNew, loader.lastSaved == nil { discard(coordinator) }
            if let line = loader.lastSaved { Tool.note(saved(loader, line, "load the file again")) }
            throw error
        }
        bar.end()
        if hasEnded, isNew, loader.lastSaved == nil { discard(coordinator) }
        if hasEnded, let line = loader.lastSaved {
            Tool.note(saved(loader, line, "correct the file, and load it again"))
        }
        try output.line(summary(loader, refusals.count, isTrial, hasEnded))
        return refusals.count > 0 ? .problems : .done
    }

    /// Returns the message about saved objects for a load in batches that ends early.
    private func saved(_ loader: Loader, _ line: FilePlace, _ remedy: String) -> String {
        "saved \(plural(loader.inserted + loader.updated, "object")) of the lines up to \(line) into \(store), without "
            + "relationships to later lines; \(remedy) with --upsert. If objects do not have unique values, restore the "
            + "store first"
    }

    /// The error that ends the load after the first rejected line.
    private struct Ended: Error {}
    private final class Refusals { var count = 0 }

    private func load(_ file: String, _ loader: Loader, _ model: Model, _ bar: ProgressBar) throws {
        let source = try ByteSource(file)
        let form = try DumpCommand.Form.chosen(options["format"], file)
        loader.rules.entity =
            try options["entity"].map { try model.requireEntity(named: $0) } ?? entity(namedBy: file, model)
        let reader: any LoadReader =
            form == .csv
            ? CSVLoadReader(source, map: map, separator: separator, isGuarded: isGuarded)
            : JSONLoadReader(source, isByLine: form == .jsonl)
        if form != .csv, !map.isEmpty {
            throw UsageError(
                "--map only applies to csv, but \(source.name) is read as \(form.rawValue); use --format csv if it is "
                    + "csv, or load it without --map")
        }
        while true {
            do {
                let next = try reader.next()
                // The interruption is checked first, because an interrupted read looks like the end of the file.
                try Interruption.check()
                guard let record = next else { return }
                try loader.add(record)
            } catch let failure as LoadFailure { try loader.reject(failure) }
            bar.show(source.done, of: source.size)
        }
    }

    /// Returns the entity for the name of a file, such as `Note.csv`.
    private func entity(namedBy file: String, _ model: Model) -> Entity? {
        let name = file.split(separator: "/").last.map { String($0) } ?? ""
        let stem = name.split(separator: ".").first.map { String($0) } ?? ""
        return model.entities.first { $0.name.lowercased() == stem.lowercased() && !$0.isAbstract }
    }

    private func openTarget(_ isTrial: Bool) throws -> (Coordinator, isNew: Bool) {
        var status = stat()
        if OutputFile(path: store).isSpecial {
            throw CoreError(
                .notAStore, code: .persistentStoreOpen,
                "\(store) is a device, a pipe or a socket and cannot be a store; choose another path", file: store)
        }
        let isThere = stat(store, &status) == 0 && status.st_size > 0
        let model = try options["model"].map { path in
            isThere && looksLikeModel(path) ? try Model.load(path, forStoreAt: store) : try NamedModel(path).model
        }
        if isThere {
            var settings = isTrial ? StoreOptions.readOnly : StoreOptions()
            settings.mustExist = true
            let coordinator = try suggestingShowForModels(store) {
                try Coordinator.open(store, model: model, options: settings)
            }
            if let type = try options["type"].map({ try StoreType.named($0) }),
                let found = coordinator.stores.first?.type, found != type
            {
                throw UsageError(
                    "\(store) already exists and is of type \(found.rawValue); omit --type, or choose another path")
            }
            if !isTrial, let reason = coordinator.stores.first?.readOnlyReason {
                let isInferred = reason.hasSuffix(Store.needsItsModel)
                throw CoreError(
                    .storeReadOnly, code: .persistentStoreOpen,
                    "cannot write \(store): "
                        + (isInferred
                            ? "\(reason.withoutRemedy); add --model MODEL to use the original model" : reason),
                    file: store)
            }
            return (coordinator, false)
        }
        guard let model else {
            throw UsageError(missingModel())
        }
        let coordinator = try Coordinator(model: model)
        let type = try options["type"].map { try StoreType.named($0) } ?? .sqlite
        try coordinator.addStore(isTrial ? .inMemory : type, at: store)
        return (coordinator, !isTrial)
    }

    /// Returns the message for a missing --model if the store does not exist or is empty.
    private func missingModel() -> String {
        var status = stat()
        if stat(store, &status) == 0 { return "\(store) is empty; add --model MODEL to create a store in it" }
        let reason = errno
        if reason == ENOENT { return "\(store) does not exist; add --model MODEL to create it" }
        let error = SystemError(reason)
        let remedy = error.isMissing ? "; check the path" : error.remedyForFinding()
        return "cannot open \(store): \(error.text)\(remedy)"
    }

    /// Deletes a new, empty store, unless another process has saved into it meanwhile.
    private func discard(_ coordinator: Coordinator) {
        for open in coordinator.stores { coordinator.discard(open) }
    }

    private func summary(_ loader: Loader, _ refused: Int, _ isTrial: Bool, _ hasEnded: Bool) -> String {
        if hasEnded, loader.lastSaved == nil {
            return
                "nothing \(isTrial ? "would be" : "was") loaded into \(store) because a line cannot be loaded; correct the "
                + "line, or add --keep-going to skip such lines"
        }
        var words =
            isTrial ? "would load \(plural(loader.inserted, "object"))" : "loaded \(plural(loader.inserted, "object"))"
        if loader.updated > 0 { words += ", \(isTrial ? "change" : "changed") \(loader.updated)" }
        words += " into \(store)"
        if refused > 0 { words += "; \(plural(refused, "mistake"))" }
        if hasEnded { words += ", which ended the load" }
        return words
    }
}
