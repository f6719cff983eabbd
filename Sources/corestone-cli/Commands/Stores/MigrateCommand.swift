import Corestone
import CorestoneFileSystem
import Glibc

/// `corestone migrate`: migrates a store to another version of its model.
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
            .init(
                "mapping", "a mapping model (.cdm, .xcmappingmodel) that is tried before an inferred mapping",
                value: "FILE",
                repeatable: true),
            .init("stages", "migrate in the stages that FILE lists as JSON", value: "FILE"),
            .init("plan", "print what would change, and change nothing"),
            .init("dry-run", "migrate a copy of the store, report the result and remove the copy"),
            .init("sql", "with --plan: print the SQL statements"),
            .init(
                "backup", "copy the store first, to STORE.backup-TIME in its folder or in FOLDER", value: "FOLDER",
                optionalValue: true),
            .init("keep", "with --backup: the number of backups to keep; by default 3", value: "N"),
            .init("verify", "compare the migrated objects with the original ones before the commit"),
            .init("defer", "leave removed columns and tables in the file, hidden, for --finish-deferred"),
            .init("finish-deferred", "finish the tasks that --defer left in the store"),
            .init("restore", "replace the store with a backup; by default the newest one"),
            .init("from", "with --restore: the backup", value: "BACKUP"),
            .init("allow-removal", "migrate also if MODEL only removes parts, so that it may be older"),
            .init("allow-casts", "migrate attributes whose type changed if every value can be kept exactly"),
            .init("progress", "show a bar also if the output is not a terminal"),
            Manual.timeout,
            .init("format", "text (the default) or json", value: "FORMAT"),
        ],
        details: [
            "The mapping is inferred from names and renaming identifiers, as Core Data's lightweight migration does. An SQLite store is "
                + "migrated in place, in one transaction: keys, versions and the identifier stay, and the file is unchanged if anything fails. "
                + "Stores of other types are written as a whole and replaced at the end. With mapping models and stages, objects are created again.",
            "--plan lists every entity with its added, removed, renamed and filled properties, the number of its "
                + "objects, and the values and pairs that would be lost. A problem is data in the store that is not "
                + "valid in the new model, such as objects without a required value. The migration fails until that "
                + "data is changed. With mapping models or stages, --plan lists the steps.",
            "The file of --stages is an object with the list \"stages\". A stage has \"lightweight\", a list of "
                + "versions that are reached by inferred mappings, or \"from\" and \"to\". With \"from\" and \"to\", "
                + "it also has \"mapping\", the path of a mapping model, unless the mapping is inferred. Every stage "
                + "can have a \"label\". A version is a name in the bundles of --to and --source, or a checksum.",
            "--restore and --finish-deferred do not need a model. --restore looks for backups beside the store, or in the folder of --backup.",
            "json is one object. With --plan, it has needed, losesData, entities, steps, warnings and problems, and "
                + "with --sql also statements. With --restore, it has store and restored, and with --finish-deferred "
                + "store and finishedTasks. Otherwise it has store, migrated and backup, and with --defer also "
                + "deferredTasks.",
            "The exit code is 0 if the store was migrated or need not be migrated. It is 1 if --plan found problems or "
                + "data that would be lost, 2 for wrong usage, and 3 if the store cannot be migrated.",
        ],
        examples: [
            "corestone migrate Notes.sqlite --to Notes.xcdatamodeld --plan",
            "corestone migrate Notes.sqlite --to Notes.momd --backup --verify",
            "corestone migrate Notes.sqlite --to Notes.momd --mapping V1toV2.cdm",
            "corestone migrate Notes.sqlite --restore",
        ])

    private let path: String
    private let options: Options
    private let isJSON: Bool

    init(_ options: Options) throws {
        self.options = options
        path = options.operand(0) ?? ""
        isJSON = try Format.isJSON(options)
        if let alone = ["restore", "finish-deferred"].first(where: options.has) {
            let allowed = alone == "restore" ? ["from", "backup"] : ["progress"]
            let others = MigrateCommand.manual.options.map(\.name).filter {
                options.has($0) && !([alone, "timeout", "format"] + allowed).contains($0)
            }
            if let other = others.first { throw UsageError("--\(other) does not apply to --\(alone); omit --\(other)") }
            return
        }
        for (name, owner) in [("sql", "plan"), ("keep", "backup"), ("from", "restore")]
        where options.has(name) && !options.has(owner) {
            // With --to, the value of --from is rather the model of the store than a backup.
            let remedy =
                name == "from" && options.has("to") ? "pass the store's own model with --source" : "add --\(owner)"
            throw UsageError("--\(name) only applies to --\(owner); \(remedy)")
        }
        guard options["to"] != nil else { throw UsageError("--to is missing; pass the new model with --to MODEL") }
        if options.has("stages"), options.has("mapping") {
            throw UsageError(
                "--stages and --mapping exclude each other; name the mapping models in the file of --stages")
        }
    }

    private var backupFolder: String? { options["backup"].flatMap { $0.isEmpty ? nil : $0 } }

    private func migration(to model: Model) throws -> MigrationOptions {
        var migration = MigrationOptions.inferred
        migration.searchPaths = options.all("source")
        migration.allowsRemovals = options.has("allow-removal")
        migration.allowsTypeChanges = options.has("allow-casts")
        migration.verifies = options.has("verify")
        migration.defersCleanup = options.has("defer")
        if options.has("mapping") {
            migration.mappingModels = try options.all("mapping").map { try MappingModel(contentsOf: $0) }
        }
        if let stages = options["stages"] {
            let target = options["to"] ?? ""
            if looksLikeModel(target) { migration.searchPaths.append(target) }
            migration.stages = try StagedMigration(
                contentsOf: stages, models: [model], searchPaths: migration.searchPaths)
        }
        return migration
    }

    func run(to output: Output) throws -> ExitCode {
        if options.has("restore") { return try restore(output) }
        if options.has("finish-deferred") { return try finishDeferred(output) }
        let model = try NamedModel(options["to"] ?? "", version: options["version"]).model
        var migration = try migration(to: model)
        if options.has("plan") { return try plan(model, migration, output) }
        if options.has("dry-run") { return try dryRun(model, migration, output) }
        // The report is created first, so that a store that cannot or need not be migrated is not backed up.
        let report = try report(model, migration)
        guard report.isNeeded else {
            return try finish(output, isMigrated: false, "\(path) is a store of this model already; nothing to do")
        }
        if options.has("backup") {
            migration.backup = MigrationBackup(folder: backupFolder, keep: try options.number("keep", or: 3, from: 1))
        }
        let tasks = try migrate(path, model, migration)
        let backup =
            migration.backup == nil ? nil : try MigrationBackup.backups(ofStoreAt: path, in: backupFolder).first
        if let backup, !isJSON { try output.line("\(backup) is a copy of the former \(path)") }
        let rest =
            tasks == 0
            ? "" : "; run \(Tool.name) migrate --finish-deferred for the \(plural(tasks, "task")) that it left"
        return try finish(
            output, isMigrated: true, backup: backup, tasks: tasks,
            "\(path) is a store of \(options["to"] ?? "")\(rest)")
    }

    private func report(_ model: Model, _ migration: MigrationOptions) throws -> MigrationReport {
        var settings = try storeOptions(options)
        settings.migration = migration
        return try suggestingShowForModels(path) { try MigrationReport(ofStoreAt: path, to: model, options: settings) }
    }

    private func finish(
        _ output: Output, isMigrated: Bool, backup: String? = nil, tasks: Int = 0, _ line: String
    ) throws -> ExitCode {
        if isJSON {
            let rest = options.has("defer") ? [("deferredTasks", JSON.number(tasks))] : []
            try output.json(
                .object(
                    [("store", .string(path)), ("migrated", .bool(isMigrated)), ("backup", .optional(backup))] + rest))
        } else {
            try output.line(line)
        }
        return .done
    }

    /// Migrates a store, and returns the number of deferred tasks.
    private func migrate(_ path: String, _ model: Model, _ migration: MigrationOptions) throws -> Int {
        var settings = try storeOptions(options)
        settings.mustExist = true
        // The migration calls the function only on this thread.
        nonisolated(unsafe) let bar = ProgressBar(
            "migrating", .things("rows"), isForced: options.has("progress"))
        defer { bar.end() }
        var migration = migration
        Interruption.installHandlers()
        migration.progress = { done, total in
            bar.show(done, of: total)
            return !Interruption.isReceived
        }
        settings.migration = migration
        let coordinator = try Coordinator(model: model)
        return try suggestingShowForModels(path) {
            try coordinator.deferredMigrationTaskCount(of: coordinator.addStore(at: path, options: settings))
        }
    }

    private func dryRun(_ model: Model, _ migration: MigrationOptions, _ output: Output) throws -> ExitCode {
        let folder = "\(path).\(getpid()).tmp"
        guard mkdir(folder, 0o700) == 0 else {
            let error = SystemError.last
            throw OutputFile(path: folder).failure(
                error.text + (error.isMissing ? "; check the path of the store" : error.remedyForWriting()))
        }
        defer { OutputFile(path: folder).removeTree() }
        let copy = "\(folder)/store"
        try suggestingShowForModels(path) {
            try coordinatorWithoutModel().replaceStore(at: copy, byStoreAt: path, options: storeOptions(options))
        }
        _ = try migrate(copy, model, migration)
        return try finish(
            output, isMigrated: false,
            "a copy of \(path) was migrated to \(options["to"] ?? "") and removed; \(path) is unchanged")
    }

    // MARK: - Backups and deferred tasks

    private func restore(_ output: Output) throws -> ExitCode {
        let backup = try coordinatorWithoutModel().restoreStore(
            at: path, from: options["from"], in: backupFolder, options: storeOptions(options))
        if isJSON {
            try output.json(.object([("store", .string(path)), ("restored", .string(backup))]))
        } else {
            try output.line("\(path) is \(backup) again")
        }
        return .done
    }

    private func finishDeferred(_ output: Output) throws -> ExitCode {
        var settings = try storeOptions(options)
        settings.mustExist = true
        let coordinator = try suggestingShowForModels(path) { try Coordinator.open(path, options: settings) }
        let store = try coordinator.openedStore(at: path)
        let bar = ProgressBar("finishing", .things("tasks"), isForced: options.has("progress"))
        Interruption.installHandlers()
        var tasks = 0
        try coordinator.finishDeferredMigration(of: store) { done, total in
            tasks = total
            bar.show(done, of: total)
            return !Interruption.isReceived
        }
        bar.end()
        if isJSON {
            try output.json(.object([("store", .string(path)), ("finishedTasks", .number(tasks))]))
        } else {
            try output.line(
                tasks == 0
                    ? "\(path) does not have a deferred migration; nothing to do"
                    : "\(path) is fully migrated; \(plural(tasks, "task")) finished")
        }
        return .done
    }

    // MARK: - The plan

    private func plan(_ model: Model, _ migration: MigrationOptions, _ output: Output) throws -> ExitCode {
        let report = try report(model, migration)
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
        (steps.isEmpty ? [] : ["the objects are migrated in steps:"] + steps.map { "  \($0)" })
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
