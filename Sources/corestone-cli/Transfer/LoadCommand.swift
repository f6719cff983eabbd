import Corestone
import Glibc

/// `corestone load`: objects from JSON or CSV.
struct LoadCommand: Command {
    static let manual = Manual(
        command: "load", summary: "put the objects of JSON or CSV files into a store",
        operands: [
            .init("STORE", "a store of any type; it is made where nothing is, which takes --model"),
            .init(
                "FILE", optional: true, repeatable: true,
                "what dump writes, or others; standard input when left out, or for \"-\""),
        ],
        options: [
            .init(
                "format", "jsonl, json or csv; told by the name of the file when left out, else jsonl", value: "FORMAT"),
            .init(
                "entity", "the entity of lines that name none; of csv the name of the file when left out", value: "NAME"
            ),
            .init(
                "map", "a column is this property (nothing: it is left out); owner.name finds the owner by its name",
                value: "COLUMN=KEY", repeatable: true),
            .init("separator", "what stands between the fields of csv, one character or \"tab\"", value: "CHARACTER"),
            .init(
                "spreadsheet-safe",
                "whether the apostrophe is taken away from text of csv that a spreadsheet would run as a formula without it; yes when left out",
                value: "yes|no"),
            .init("skip-unknown", "pass over properties that the model lacks"),
            .init("upsert", "change the object that has the unique values of a line already"),
            .init(
                "keep-going",
                "leave out lines that cannot be loaded, and go on; else one of them keeps all from being saved"),
            .init("batch", "save after every N lines, which takes little memory; what was saved stays", value: "N"),
            .init("dry-run", "save nothing: tell what would be loaded, and what not"),
            .init("type", "the type of a new store: SQLite, XML or Binary; SQLite when left out", value: "TYPE"),
            .init(
                "model",
                "read the store by this model instead of its own, or make a new store for it; a store's name stands for the model that it "
                    + "carries", value: "MODEL"),
        ],
        details: [
            "Values are converted as the model has it: numbers, true and false (yes, no, 1, 0), dates in ISO 8601 (UTC where they say nothing) "
                + "or as seconds since 2001 (in csv with a decimal point), UUIDs, base64. An empty field of csv is null, or the default "
                + "where null is not allowed. Relationships hold names of objects, the @id of lines before or behind; several with "
                + "spaces between in csv. Derived attributes are computed anew.",
            "A line that cannot be loaded is named on standard error with file, line, entity, key and value, and the exit code is 1. It ends the "
                + "load and nothing is saved, a new store not made. With --keep-going it is left out, and changes nothing. --dry-run "
                + "with --keep-going finds all mistakes that need no save.",
            "The objects are saved in one step at the end, and are in memory until then, some 1,000 bytes each. With --batch, and for SQLite stores with "
                + "--keep-going (a thousand), memory holds that many, the names of the others (some 50 bytes each), and lines that "
                + "lack a required relationship until it comes. Where such a load ends early it says which lines are saved; "
                + "--upsert loads the whole file again without doubling objects that have unique values; others are there twice then, so "
                + "begin again with the store as it was before.",
        ],
        examples: [
            "corestone dump Notes.sqlite | corestone load Copy.sqlite --model Notes.sqlite",
            "corestone load Notes.sqlite people.csv --entity Person --map \"Full name=name\" --map \"Group=group.title\" --upsert",
            "corestone load Notes.sqlite notes.jsonl --dry-run --keep-going",
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
                throw UsageError("--batch takes a number of lines, not \"\(text)\"")
            }
            return size
        }
        let mark = options["separator"] ?? ","
        let bytes = Array((mark == "tab" ? "\t" : mark).utf8)
        guard bytes.count == 1, bytes[0] < 0x80, ![0x22, 0x0A, 0x0D].contains(bytes[0]) else {
            throw UsageError("--separator is one character, such as \";\", or tab, not \"\(mark)\"")
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
                throw UsageError("--map says twice what \"\(parts[0])\" is")
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
        // Stores of other types are written as a whole.
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
        // What is not in the store by then was told.
        defer { _ = try? loader.context.close(.discard) }
        var hasEnded = false
        do {
            Interruption.await()
            for file in files { try load(file, loader, coordinator.model, bar) }
            try loader.finish()
        } catch is Ended { hasEnded = true } catch {
            bar.end()
            if isNew, loader.lastSaved == nil { discard(coordinator) }
            if let line = loader.lastSaved { Tool.note(saved(loader, line)) }
            throw error
        }
        bar.end()
        if hasEnded, isNew, loader.lastSaved == nil { discard(coordinator) }
        if hasEnded, let line = loader.lastSaved { Tool.note(saved(loader, line)) }
        try output.line(summary(loader, refusals.count, isTrial, hasEnded))
        return refusals.count > 0 ? .problems : .done
    }

    /// What is in the store when a load in batches ends early.
    private func saved(_ loader: Loader, _ line: FilePlace) -> String {
        "\(plural(loader.inserted + loader.updated, "object")) of the lines up to \(line) are in \(store), without the relationships "
            + "that lead to lines behind it; mend what is wrong and load the whole again: with --upsert if all objects have unique values, else "
            + "into the store as it was before, for others would be there twice"
    }

    /// A line was refused that nothing is to go on behind.
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
            throw UsageError("--map is for columns of csv, and \(source.name) is read as json")
        }
        while true {
            do {
                let next = try reader.next()
                // Before the end: an interrupted read looks like one.
                try Interruption.check()
                guard let record = next else { return }
                try loader.add(record)
            } catch let failure as LoadFailure { try loader.refuse(failure) }
            bar.show(source.done, of: source.size)
        }
    }

    /// `Note.csv` has notes.
    private func entity(namedBy file: String, _ model: Model) -> Entity? {
        let name = file.split(separator: "/").last.map { String($0) } ?? ""
        let stem = name.split(separator: ".").first.map { String($0) } ?? ""
        return model.entities.first { $0.name.lowercased() == stem.lowercased() && !$0.isAbstract }
    }

    private func openTarget(_ isTrial: Bool) throws -> (Coordinator, isNew: Bool) {
        var facts = stat()
        if OutputFile(path: store).isSpecial {
            throw CoreError(
                .notAStore, code: .persistentStoreOpen,
                "\(store) is a device or a pipe, which cannot hold a store; choose another path", file: store)
        }
        let isThere = stat(store, &facts) == 0 && facts.st_size > 0
        let model = try options["model"].map { path in
            isThere && looksLikeModel(path) ? try Model.load(path, forStoreAt: store) : try NamedModel(path).model
        }
        if isThere {
            var settings = isTrial ? StoreOptions.readOnly : StoreOptions()
            settings.mustExist = true
            let coordinator = try takingStore(store) { try Coordinator.open(store, model: model, options: settings) }
            if let type = try options["type"].map({ try StoreType.named($0) }),
                let found = coordinator.stores.first?.type, found != type
            {
                throw UsageError(
                    "\(store) is there, of type \(found.rawValue); leave out --type, or choose another path")
            }
            if !isTrial, let found = coordinator.stores.first, found.isReadOnly {
                throw CoreError(
                    .storeReadOnly, code: .persistentStoreOpen,
                    "\(store) cannot be written: \(found.readOnlyReason ?? "")",
                    file: store)
            }
            return (coordinator, false)
        }
        guard let model else {
            throw UsageError("\(store) is not there; --model makes it, for the model that it names")
        }
        let coordinator = try Coordinator(model: model)
        let type = try options["type"].map { try StoreType.named($0) } ?? .sqlite
        try coordinator.addStore(isTrial ? .inMemory : type, at: store)
        return (coordinator, !isTrial)
    }

    /// Nobody needs a new store in which nothing is, unless somebody else has found it meanwhile.
    private func discard(_ coordinator: Coordinator) {
        for open in coordinator.stores { coordinator.discard(open) }
    }

    private func summary(_ loader: Loader, _ refused: Int, _ isTrial: Bool, _ hasEnded: Bool) -> String {
        if hasEnded, loader.lastSaved == nil {
            return
                "nothing \(isTrial ? "would be" : "was") loaded into \(store): a mistake, with which it ended; mend the line, or leave "
                + "such lines out with --keep-going"
        }
        var words =
            isTrial ? "would load \(plural(loader.inserted, "object"))" : "loaded \(plural(loader.inserted, "object"))"
        if loader.updated > 0 { words += ", \(isTrial ? "change" : "changed") \(loader.updated)" }
        words += " into \(store)"
        if refused > 0 { words += "; \(plural(refused, "mistake"))" }
        if hasEnded { words += ", with which it ended" }
        return words
    }
}
