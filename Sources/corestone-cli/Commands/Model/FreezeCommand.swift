import Corestone

/// `corestone model freeze`: keeps a released version of a model as a file that must not change.
struct FreezeCommand: Command {
    static let manual = Manual(
        command: "model freeze", summary: "keep a released version of a model, or check the kept ones",
        operands: [
            .init("MODEL", "a bundle of versions, or a model of any kind"),
            .init("FOLDER", "the folder of frozen versions, which is created if it does not exist"),
        ],
        options: [
            .init("version", "the version of the model to freeze; by default the current one", value: "NAME"),
            .init("check", "write nothing: check that the frozen versions are unchanged, also in MODEL"),
        ],
        details: [
            "Writes the compiled version, NAME.mom, and a manifest, NAME.json, with its checksum and version hashes. Both belong in "
                + "version control. The output is deterministic. A version that is frozen already is never "
                + "overwritten: the same model changes nothing, another one is an error.",
            "With --check, the exit code is 1 if a frozen file was changed. It is also 1 if MODEL does not contain a "
                + "frozen version, or has another model under the name of the version.",
            "Pass the folder to model check-migration, or to --source of migrate.",
        ],
        examples: [
            "corestone model freeze Notes.xcdatamodeld released",
            "corestone model freeze Notes.xcdatamodeld released --version \"Notes 2\"",
            "corestone model freeze Notes.xcdatamodeld released --check",
        ])

    private let options: Options

    init(_ options: Options) throws {
        self.options = options
        if options.has("check"), options.has("version") {
            throw UsageError(
                "--version does not apply to --check, which checks every frozen version; omit --version")
        }
    }

    func run(to output: Output) throws -> ExitCode {
        let (path, folder) = (options.operand(0) ?? "", options.operand(1) ?? "")
        if options.has("check") { return try check(path, folder, output) }
        let model = try Model(contentsOf: path, version: options["version"])
        let name = try model.versionName ?? Model.versions(of: path).first?.name ?? ""
        let isNew = try ModelRelease.keep(model, as: name, inFolder: folder)
        try output.line(
            "\(folder)/\(name).mom \(isNew ? "was written" : "has this version already"), \(model.versionChecksum)")
        return .done
    }

    private func check(_ path: String, _ folder: String, _ output: Output) throws -> ExitCode {
        let releases = try ModelRelease.releases(inFolder: folder)
        guard !releases.isEmpty else {
            throw UsageError(
                "\(folder) does not contain a frozen version; check the path, or write one with corestone model freeze "
                    + "\(path) \(folder)")
        }
        let findings = try ModelRelease.findings(inFolder: folder, comparedWith: path)
        for finding in findings { try output.line(bold: finding.severity.rawValue, ": \(finding.text)") }
        if findings.isEmpty { try output.line("\(plural(releases.count, "frozen version")) unchanged") }
        return findings.isEmpty ? .done : .problems
    }
}
