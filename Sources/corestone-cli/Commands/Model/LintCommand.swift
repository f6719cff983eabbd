import Corestone

/// `corestone model lint`: reports errors and risks in a model.
struct LintCommand: Command {
    static let manual = Manual(
        command: "model lint", summary: "report mistakes and risks in a model",
        operands: [NamedModel.operand],
        options: [
            .init(
                "profile", "standard (the default), or cloudkit to include the restrictions of CloudKit", value: "NAME"),
            NamedModel.version,
            .init("format", "text (the default) or json", value: "FORMAT"),
        ],
        details: [
            "Prints one line per finding, with severity, message, remedy and rule; docs/reference/lint.md explains "
                + "each rule. The exit code is 1 if there are errors; warnings and notes do not change it.",
            "In a bundle of versions, renaming identifiers are compared with those of the earlier versions, in the "
                + "order of the versions' names.",
            "json is a list of objects with rule, severity (error, warning, note), entity, key, message and remedy.",
        ],
        examples: [
            "corestone model lint Notes.xcdatamodeld",
            "corestone model lint Notes.xcdatamodeld --profile cloudkit",
            "corestone model lint Notes.xcdatamodeld --format json | jq '.[] | select(.severity == \"error\")'",
        ])

    private let options: Options
    private let profile: LintProfile
    private let isJSON: Bool

    init(_ options: Options) throws {
        self.options = options
        let choices = LintProfile.allCases.map { (name: $0.rawValue, choice: $0) }
        profile = try options["profile"].map { try Assignment("--profile=\($0)").one(of: choices) } ?? .standard
        isJSON = try Format.isJSON(options)
    }

    func run(to output: Output) throws -> ExitCode {
        let named = try NamedModel(options.operand(0) ?? "", version: options["version"], isChecked: false)
        let findings = named.model.lint(profile, formerVersions: try named.formerVersions())
        if isJSON {
            try output.json(JSON.array(findings.map(LintCommand.json)))
        } else {
            for finding in findings {
                try output.line(
                    bold: finding.severity.rawValue,
                    ": \(finding.message); \(finding.remedy) [\(finding.rule.rawValue)]")
            }
        }
        return findings.contains { $0.severity == .error } ? .problems : .done
    }

    private static func json(_ finding: LintFinding) -> JSON {
        .object([
            ("rule", .string(finding.rule.rawValue)), ("severity", .string(finding.severity.rawValue)),
            ("entity", .optional(finding.entity)), ("key", .optional(finding.key)),
            ("message", .string(finding.message)), ("remedy", .string(finding.remedy)),
        ])
    }
}
