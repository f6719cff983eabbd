import Corestone

/// `corestone model check-migration`: checks that stores of earlier versions of a model can be migrated to a newer one.
struct CheckMigrationCommand: Command {
    static let manual = Manual(
        command: "model check-migration", summary: "check that stores of earlier versions can be migrated to a new one",
        operands: [
            .init("OLD", "a model, a bundle of versions, or a folder of versions that model freeze wrote"),
            .init("NEW", optional: true, "the new model or bundle; by default OLD, to check its earlier versions"),
        ],
        options: [
            .init(
                "from", "a version of OLD that wrote stores; by default every version", value: "NAME",
                repeatable: true),
            .init("to", "the version of NEW; by default the current one", value: "NAME"),
            .init(
                "mapping", "a mapping model, or a folder of them; those in OLD and NEW are used too", value: "FILE",
                repeatable: true),
            .init(
                "stores", "a folder of stores; a copy of each is migrated and opened", value: "FOLDER",
                repeatable: true),
            .init(
                "ignore", "do not report findings of a rule, of one entity, or of one property or constraint",
                value: "RULE[:ENTITY[.KEY]]", repeatable: true),
            .init("allow-casts", "the application allows changes of types if every value can be kept exactly"),
            .init("profile", "standard (the default), or cloudkit: changes must only add to the model", value: "NAME"),
            .init("strict", "warnings make the exit code 1, too"),
            .init("format", "text (the default) or json", value: "FORMAT"),
        ],
        details: [
            "Prints one line per finding, with severity, message, remedy, rule and the earlier versions in whose "
                + "step it occurs; docs/reference/lint.md explains each rule. The exit code is 1 if there are errors, "
                + "with --strict also if there are warnings.",
            "With one bundle, the steps from every earlier version to the current one are checked. For \"Notes 3\", the "
                + "earlier versions are \"Notes\", \"Notes 2\", and all versions whose names are not \"Notes\" with a "
                + "number. With OLD and NEW, the steps from every version of OLD to NEW are checked. Frozen versions are also compared with the versions of the same name in NEW, which "
                + "must not change.",
            "A step does not have findings if a mapping model exists for it, or a chain of mapping models and inferred "
                + "mappings over other versions. The author of these models decided how the data is migrated.",
            "With --stores, every store of the folder and its subfolders is copied into TMPDIR, and the copy is migrated to NEW and "
                + "opened. The stores are only read.",
            "json is one object: newest, older (a list), stores (their number) and findings, each with rule, severity (error, "
                + "warning, note), versions, store, entity, key, message and remedy.",
        ],
        examples: [
            "corestone model check-migration Notes.xcdatamodeld",
            "corestone model check-migration released Notes.xcdatamodeld --stores Tests/stores",
            "corestone model check-migration main/Notes.xcdatamodeld Notes.xcdatamodeld --strict",
            "corestone model check-migration Notes.xcdatamodeld --ignore missing-identifier:Note.body",
        ])

    private let options: Options
    private let profile: LintProfile
    private let ignored: [Ignored]
    private let isJSON: Bool

    init(_ options: Options) throws {
        self.options = options
        let choices = LintProfile.allCases.map { (name: $0.rawValue, choice: $0) }
        profile = try options["profile"].map { try Assignment("--profile=\($0)").one(of: choices) } ?? .standard
        ignored = try options.all("ignore").map(Ignored.init)
        isJSON = try Format.isJSON(options)
    }

    func run(to output: Output) throws -> ExitCode {
        let (old, new) = (options.operand(0) ?? "", options.operand(1))
        var check = try MigrationGuard(from: old, versions: options.all("from"), to: new, version: options["to"])
        check.profile = profile
        if options.has("allow-casts") { check.typeChanges = .exact }
        let mappings = options.all("mapping")
        // The search skips files that it cannot read. The given files are read here, so that an error is reported.
        for path in mappings where path.hasSuffix(".cdm") || path.hasSuffix(".xcmappingmodel") {
            _ = try MappingModel(contentsOf: path)
        }
        let paths = [old] + (new.map { [$0] } ?? []) + mappings
        check.useMappingModels(in: paths)
        let stores = try options.all("stores").flatMap(MigrationGuard.stores(inFolder:))
        var findings = try check.findings()
        let bar = ProgressBar("checking", .things("stores"))
        defer { bar.end() }
        for (place, store) in stores.enumerated() {
            bar.show(place, of: stores.count)
            findings += try check.findings(forStoreAt: store, searchPaths: paths)
        }
        bar.end()
        for rule in ignored where !findings.contains(where: rule.matches) {
            Tool.note("--ignore \(rule.text) does not match a finding; remove it")
        }
        findings.removeAll { finding in ignored.contains { $0.matches(finding) } }
        if isJSON {
            try output.json(CheckMigrationCommand.json(check, stores.count, findings))
        } else {
            for finding in findings { try output.line(bold: finding.severity.rawValue, ": \(finding.text)") }
            try output.line(CheckMigrationCommand.summary(check, stores.count, findings))
        }
        return findings.contains { $0.severity.fails(isStrict: options.has("strict")) } ? .problems : .done
    }

    private static func summary(_ check: MigrationGuard, _ stores: Int, _ findings: [MigrationFinding]) -> String {
        let steps = check.older.map { "\"\($0.name)\"" }.joined(separator: ", ")
        let subject =
            steps.isEmpty
            ? "\"\(check.newest.name)\" does not have an earlier version" : "\(steps) -> \"\(check.newest.name)\""
        func count(_ severity: LintFinding.Severity) -> Int { findings.filter { $0.severity == severity }.count }
        let counts = [(LintFinding.Severity.error, "error"), (.warning, "warning"), (.note, "note")]
            .filter { count($0.0) > 0 }.map { plural(count($0.0), $0.1) }
        return subject + (stores > 0 ? ", \(plural(stores, "store"))" : "") + ": "
            + (counts.isEmpty ? "no findings" : counts.joined(separator: ", "))
    }

    private static func json(_ check: MigrationGuard, _ stores: Int, _ findings: [MigrationFinding]) -> JSON {
        .object([
            ("newest", .string(check.newest.name)), ("older", .array(check.older.map { .string($0.name) })),
            ("stores", .number(stores)), ("findings", .array(findings.map(json))),
        ])
    }

    private static func json(_ finding: MigrationFinding) -> JSON {
        .object([
            ("rule", .string(finding.rule.rawValue)), ("severity", .string(finding.severity.rawValue)),
            ("versions", .array(finding.versions.map { .string($0) })), ("store", .optional(finding.store)),
            ("entity", .optional(finding.entity)), ("key", .optional(finding.key)),
            ("message", .string(finding.message)), ("remedy", .string(finding.remedy)),
        ])
    }
}

extension LintFinding.Severity {
    fileprivate func fails(isStrict: Bool) -> Bool { self == .error || isStrict && self == .warning }
}

/// A pattern of findings to be ignored: `RULE`, `RULE:ENTITY` or `RULE:ENTITY.KEY`.
private struct Ignored {
    let text: String
    private let rule: MigrationRule
    private let place: String?

    init(_ text: String) throws {
        self.text = text
        let parts = text.split(separator: ":", maxSplits: 1).map(String.init)
        let name = parts.first ?? ""
        guard let rule = MigrationRule(rawValue: name) else {
            let names = MigrationRule.allCases.map(\.rawValue)
            let hint = nearestName(to: name, among: names).map { "did you mean \"\($0)\"?" }
            throw UsageError(
                "\"\(name)\" is not a rule of model check-migration; "
                    + (hint ?? "use the name in brackets at the end of a finding, such as type-change"))
        }
        self.rule = rule
        place = parts.count > 1 ? parts[1] : nil
    }

    func matches(_ finding: MigrationFinding) -> Bool {
        guard finding.rule == rule else { return false }
        guard let place else { return true }
        let full = [finding.entity, finding.key].compactMap { $0 }.joined(separator: ".")
        return place == finding.entity || place == full
    }
}
