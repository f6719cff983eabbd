import Corestone

/// `corestone check`: checks the integrity of a store.
struct CheckCommand: Command {
    static let manual = Manual(
        command: "check", summary: "check the integrity of a store",
        operands: [
            .init(
                "STORE",
                "an SQLite store of Core Data or of this library; it is opened read-only, except with "
                    + "--remove-leftovers")
        ],
        options: [
            .init("apple", "also report whether Apple's framework would open the store"),
            .init("remove-leftovers", "remove backing files to which no row refers"),
            .init("format", "table (the default) or json", value: "FORMAT"),
            Manual.model,
        ],
        details: [
            "Checks the database (SQLite's integrity_check), the model in the store against its tables, and the key "
                + "(Z_PK), entity, version (Z_OPT) and values of every row. Also checks to-one references, pairs of "
                + "many-to-many relationships, the last primary keys (Z_MAX), version hashes, backing files, the "
                + "history, indexes, triggers, unique values and derived values. A missing index that only affects "
                + "speed is a warning. A trigger that Core Data did not create is a warning too, and makes the store "
                + "read-only.",
            "A store without a model is checked against a model that is inferred from its tables, as the last line "
                + "reports. This also applies to a store whose model cannot be read or does not match the tables, "
                + "which is a problem.",
            "With --apple, the command also reports whether Apple's framework would accept the store with its model or "
                + "the one that --model names, and why not. It lists extrapolations: results that rest on rules which "
                + "known files of Apple's do not confirm. A store that would be rejected has a problem.",
            "A crash can leave backing files to which no row refers. They are not a problem, but are counted and "
                + "listed. --remove-leftovers waits for a running save and removes them, except for files of the last "
                + "ten minutes. It removes nothing if the database is damaged or if two stores share a folder.",
            "json is one object with ok, problems, warnings, examined (what was checked, with counts), modelSource "
                + "(given, cached or inferred), modelVersion and leftovers. Problems and warnings have kind, message, "
                + "entity, key and object, which can be null. Leftovers has folder, names, bytes, sharer and removed, "
                + "and is null if the database is damaged. With --apple it also has apple, with accepted, problems and "
                + "extrapolations (each with message, entity and property).",
        ],
        examples: [
            "corestone check Notes.sqlite", "corestone check Notes.sqlite --apple --model Notes.xcdatamodeld",
            "corestone check Notes.sqlite --format json | jq .ok",
        ])

    private let path: String
    private let format: Format
    private let options: Options

    init(_ options: Options) throws {
        self.options = options
        path = options.operand(0) ?? ""
        format = try Format.chosen(by: options, among: [.table, .json])
    }

    func run(to output: Output) throws -> ExitCode {
        let model = try suggestingShowForModels(path) { try options.model(forStoreAt: path) }
        let report = try suggestingShowForModels(path) { try StoreReport(ofStoreAt: path, model: model) }
        // An application uses the current version of its model, regardless of the version with which the store was
        // written.
        let apple = options.has("apple") ? try AppleResult(storeAt: path, model: try options.model()) : nil
        let leftovers = try Leftovers(options, beside: path, report)
        switch format {
        case .json: try output.json(json(report, leftovers, apple, version: model?.versionName))
        default:
            try printText(report, version: model?.versionName, to: output)
            if let line = leftovers?.line { try output.paragraph(line) }
            if let apple { try printText(apple, to: output) }
        }
        return report.problems.isEmpty && apple?.isAccepted != false ? .done : .problems
    }
}

// MARK: - Text

extension CheckCommand {
    private func printText(_ report: StoreReport, version: String?, to output: Output) throws {
        for problem in report.problems + report.warnings {
            try output.line("\(problem.kind.words): \(problem.message)")
        }
        let looked = report.examined.filter { $0.count > 0 }.map { "\($0.what) \($0.count)" }.joined(separator: ", ")
        let count = plural(report.problems.count, "problem")
        let warnings = report.warnings.isEmpty ? "" : ", with \(plural(report.warnings.count, "warning"))"
        let verdict =
            (report.problems.isEmpty ? "\(path) is intact" : "\(path) has \(count)") + warnings
            + (version.map { ", read by version \($0) of the given model" } ?? "")
            + (report.modelSource == .inferred ? ", checked against a model inferred from its tables" : "")
        try output.paragraph(looked.isEmpty ? verdict : "\(verdict): \(looked)")
    }

    private func printText(_ apple: AppleResult, to output: Output) throws {
        for (findings, head) in [(apple.problems, "refused"), (apple.extrapolations, "extrapolated")] {
            for finding in findings { try output.line("\(head): \(finding.line)") }
        }
        let verdict = apple.isAccepted ? "would accept it" : "would not accept it"
        let doubt = apple.extrapolations.isEmpty ? "" : ", according to extrapolated rules"
        try output.paragraph("Apple's framework \(verdict)\(doubt)")
    }
}

/// The result of the check whether Apple's framework would accept the store.
private struct AppleResult {
    let problems: [AppleCheck.Finding]
    let extrapolations: [AppleCheck.Finding]
    var isAccepted: Bool { problems.isEmpty }

    /// Checks a store. A damaged store is reported as rejected.
    init(storeAt path: String, model: Model?) throws {
        do {
            let check = try AppleCheck(storeAt: path, model: model)
            (problems, extrapolations) = (check.problems, check.extrapolations)
        } catch let error as CoreError where error.status == .storeCorrupt {
            (problems, extrapolations) = ([AppleCheck.Finding(entity: nil, property: nil, text: error.message)], [])
        } catch let error as CoreError where error.status == .modelMismatch && model == nil {
            throw CoreError(
                .modelMismatch, code: .persistentStoreOpen,
                "\(path) does not contain a readable model; add --model MODEL", file: path)
        }
    }
}

extension AppleCheck.Finding {
    /// The finding with its entity and property.
    fileprivate var line: String {
        let subject = [entity, property].compactMap { $0 }.joined(separator: ".")
        return subject.isEmpty ? text : "\(subject): \(text)"
    }
}

extension StoreProblem.Kind {
    fileprivate var words: String {
        switch self {
        case .primaryKey: "primary key"
        case .externalData: "external data"
        case .speed, .trigger: "warning"
        case .spatial: "R-tree"
        default: "\(self)"
        }
    }
}

// MARK: - JSON

extension CheckCommand {
    private func json(
        _ report: StoreReport, _ leftovers: Leftovers?, _ apple: AppleResult?, version: String?
    ) -> JSON {
        func list(_ problems: [StoreProblem]) -> JSON {
            .array(
                problems.map { problem in
                    .object([
                        ("kind", .string("\(problem.kind)")), ("message", .string(problem.message)),
                        ("entity", .optional(problem.entity)), ("key", .optional(problem.key)),
                        ("object", .optional(problem.objectURI)),
                    ])
                })
        }
        let examined = report.examined.map { JSON.object([("what", .string($0.what)), ("count", .number($0.count))]) }
        var members: [(String, JSON)] = [
            ("ok", .bool(report.problems.isEmpty && apple?.isAccepted != false)), ("problems", list(report.problems)),
            ("warnings", list(report.warnings)), ("examined", .array(examined)),
            ("modelSource", .optional(report.modelSource.map { "\($0)" })), ("modelVersion", .optional(version)),
            ("leftovers", leftovers?.json ?? .null),
        ]
        if let apple { members.append(("apple", json(apple))) }
        return .object(members)
    }

    private func json(_ apple: AppleResult) -> JSON {
        func list(_ findings: [AppleCheck.Finding]) -> JSON {
            .array(
                findings.map { finding in
                    .object([
                        ("message", .string(finding.text)), ("entity", .optional(finding.entity)),
                        ("property", .optional(finding.property)),
                    ])
                })
        }
        return .object([
            ("accepted", .bool(apple.isAccepted)), ("problems", list(apple.problems)),
            ("extrapolations", list(apple.extrapolations)),
        ])
    }
}
