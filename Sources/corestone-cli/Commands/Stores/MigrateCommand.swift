import Corestone
import Glibc

/// `corestone migrate`: a store as one of another version of its model.
struct MigrateCommand: Command {
    static let manual = Manual(
        command: "migrate", summary: "migrate a store to another version of its model",
        operands: [.init("STORE", "a store of any type")],
        options: [
            .init(
                "to", "the new model: a model or bundle of any kind, or another store, whose own model is used",
                value: "MODEL"),
            .init("version", "the version of MODEL; its current one by default", value: "NAME"),
            .init(
                "source", "a model, bundle or folder in which the store's own model is searched", value: "MODEL",
                repeatable: true),
            .init("plan", "print what would change, and change nothing"),
            .init("dry-run", "migrate a copy of the store, report the result and remove the copy"),
            .init("sql", "with --plan: print the SQL statements"),
            .init("backup", "copy the store to STORE.before-migration first"),
            .init("allow-removal", "migrate also if MODEL only lacks what the store has and may be older"),
            .init("allow-casts", "migrate attributes whose type changed if every value can be kept exactly"),
            .init("progress", "show a bar also if the output is not a terminal"),
            Manual.timeout,
            .init("format", "text (the default) or json", value: "FORMAT"),
        ],
        details: [
            "The mapping is inferred from names and renaming identifiers, as Core Data's lightweight migration does. An SQLite store is "
                + "migrated in place, in one transaction: keys, versions and the identifier stay, and the file is unchanged if anything fails. "
                + "Stores of other types are written as a whole and replaced at the end.",
            "--plan lists every entity with what is added, removed, renamed and filled, the number of its objects, and the values and "
                + "pairs that would be lost. A problem is something in the store that the new model does not allow, such as objects "
                + "without a required value; the migration fails until it is changed.",
            "json is one object: with --plan needed, losesData, entities, steps, warnings and problems, and with --sql statements; otherwise "
                + "store, migrated and backup.",
            "Exit code 0: migrated, or nothing to do. 1: --plan found problems, or data that would be lost. 2: wrong usage. 3: the store "
                + "cannot be migrated.",
        ],
        examples: [
            "corestone migrate Notes.sqlite --to Notes.xcdatamodeld --plan",
            "corestone migrate Notes.sqlite --to Notes.momd --backup",
            "corestone migrate Notes.sqlite --to Notes.momd --plan --sql",
        ])

    private let path: String
    private let options: Options
    private let isJSON: Bool

    init(_ options: Options) throws {
        self.options = options
        path = options.operand(0) ?? ""
        isJSON = try Format.isJSON(options)
        guard options["to"] != nil else { throw UsageError("--to is missing; pass the new model with --to MODEL") }
        if options.has("sql"), !options.has("plan") {
            throw UsageError("--sql only applies to --plan; add --plan")
        }
    }

    private var migration: MigrationOptions {
        var migration = MigrationOptions.inferred
        migration.searchPaths = options.all("source")
        migration.allowsRemovals = options.has("allow-removal")
        migration.allowsTypeChanges = options.has("allow-casts")
        return migration
    }

    func run(to output: Output) throws -> ExitCode {
        let model = try NamedModel(options["to"] ?? "", version: options["version"]).model
        if options.has("plan") { return try plan(model, output) }
        if options.has("dry-run") { return try dryRun(model, output) }
        // What cannot be migrated, and what need not be, gets no backup.
        let report = try report(model)
        guard report.isNeeded else {
            return try finish(output, isMigrated: false, "\(path) is a store of this model already; nothing to do")
        }
        var backup: String?
        if options.has("backup"), report.problems.isEmpty {
            let copy = "\(path).before-migration"
            try requireFree(copy, "move it away first")
            try takingStore(path) {
                try bareCoordinator().replaceStore(at: copy, byStoreAt: path, options: storeOptions(options))
            }
            backup = copy
            if !isJSON { try output.line("\(copy) is a copy of \(path)") }
        }
        try migrate(path, model)
        return try finish(
            output, isMigrated: true, backup: backup, "\(path) is a store of \(options["to"] ?? "")")
    }

    private func report(_ model: Model) throws -> MigrationReport {
        var settings = try storeOptions(options)
        settings.migration = migration
        return try takingStore(path) { try MigrationReport(ofStoreAt: path, to: model, options: settings) }
    }

    private func finish(
        _ output: Output, isMigrated: Bool, backup: String? = nil, _ line: String
    ) throws -> ExitCode {
        if isJSON {
            try output.json(
                .object([
                    ("store", .string(path)), ("migrated", .bool(isMigrated)), ("backup", .optional(backup)),
                ]))
        } else {
            try output.line(line)
        }
        return .done
    }

    private func migrate(_ path: String, _ model: Model) throws {
        var settings = try storeOptions(options)
        settings.mustExist = true
        // The migration calls it on this thread alone.
        nonisolated(unsafe) let bar = ProgressBar(
            "migrating", .things("rows"), isForced: options.has("progress"))
        defer { bar.end() }
        var migration = self.migration
        Interruption.await()
        migration.progress = { done, total in
            bar.show(done, of: total)
            return !Interruption.hasCome
        }
        settings.migration = migration
        try takingStore(path) { _ = try Coordinator(model: model).addStore(at: path, options: settings) }
    }

    private func dryRun(_ model: Model, _ output: Output) throws -> ExitCode {
        let folder = "\(path).\(getpid()).tmp"
        guard mkdir(folder, 0o700) == 0 else {
            throw OutputFile(path: folder).failure(OutputFile.reason)
        }
        defer { OutputFile(path: folder).removeTree() }
        let copy = "\(folder)/store"
        try takingStore(path) {
            try bareCoordinator().replaceStore(at: copy, byStoreAt: path, options: storeOptions(options))
        }
        try migrate(copy, model)
        return try finish(
            output, isMigrated: false,
            "a copy of \(path) was migrated to \(options["to"] ?? "") and removed; \(path) is unchanged")
    }

    // MARK: - The plan

    private func plan(_ model: Model, _ output: Output) throws -> ExitCode {
        let report = try report(model)
        if isJSON {
            try output.json(JSON(report.report(withStatements: options.has("sql"))))
        } else if !report.isNeeded {
            try output.line("\(path) is a store of this model already; nothing to do")
        } else {
            for line in report.lines { try output.line(line) }
            if options.has("sql") { for statement in report.statements { try output.line("\(statement);") } }
        }
        return report.losesData || !report.problems.isEmpty ? .problems : .done
    }
}

extension MigrationReport {
    fileprivate var lines: [String] {
        (steps.isEmpty ? [] : ["objects are migrated through mapping models:"] + steps.map { "  \($0)" })
            + entities.filter { $0.kind != .copy || $0.source != $0.destination }.flatMap(\.lines)
            + warnings.map { "warning: \($0)" } + problems.map { "problem: \($0.message)" }
    }
}

extension MigrationReport.EntityReport {
    fileprivate var lines: [String] {
        let count = plural(objects, "object")
        guard let source else { return ["\(destination ?? ""): added"] }
        guard let destination else { return ["\(source): removed, with \(count)"] }
        let name =
            source == destination ? "\(destination) (\(count))" : "\(destination) (\(count)): renamed from \(source)"
        return [name] + renamed.map { "  \($0.to): renamed from \($0.from)" }
            + added.map { "  \($0): added" + (filled.contains($0) ? ", filled with its default" : "") }
            + removed.map { name in
                let lost = lostValues.first { $0.attribute == name }?.count ?? 0
                return "  \(name): removed" + (lost > 0 ? ", with \(plural(lost, "value"))" : "")
            } + typeChanges.map { "  \($0)" }
    }
}
