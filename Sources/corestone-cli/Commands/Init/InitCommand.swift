import Corestone
import Glibc

/// `corestone init`: a project that keeps its data with Corestone, ready to run.
struct InitCommand: Command {
    static let manual = Manual(
        command: "init", summary: "begin a project that keeps its data in a store",
        operands: [.init("FOLDER", "where; it is made, and its name is the project's")],
        options: [
            .init("language", "c, python (the default) or swift", value: "LANGUAGE"),
            .init("corestone", "for swift: the folder of Corestone's package", value: "PATH"),
        ],
        details: [
            "Makes what \"Use Core Data\" makes in Xcode: a model with one entity, to be edited with corestone model or "
                + "with Xcode; a stack that is set up when it is first used, with its store in the user's data folder "
                + "(XDG_DATA_HOME); and a program that inserts an object, saves, and lists what the store has.",
            "FOLDER must not be there yet, or be empty.",
        ],
        examples: ["corestone init Notes", "corestone init Notes --language c && make -C Notes run"])

    private let folder: String
    private let template: ProjectTemplate

    init(_ options: Options) throws {
        folder = options.operand(0) ?? ""
        let name = String(folder.split(separator: "/").last ?? "")
        guard isIdentifier(name), name.utf8.allSatisfy({ $0 < 128 }) else {
            throw UsageError(
                "\"\(name)\" cannot name a project: use letters of English, digits and underscores, no digit first")
        }
        switch options["language"] ?? "python" {
        case "c": template = CTemplate(name: name)
        case "python": template = PythonTemplate(name: name)
        case "swift":
            guard let path = options["corestone"] else {
                throw UsageError("a Swift project needs --corestone PATH, the folder of Corestone's package")
            }
            guard let absolute = realpath(path, nil) else { throw UsageError("there is no folder \(path)") }
            defer { free(absolute) }
            template = SwiftTemplate(name: name, package: String(cString: absolute))
        case let other: throw UsageError("--language is c, python or swift, not \"\(other)\"")
        }
    }

    func run(to output: Output) throws -> ExitCode {
        try makeFolder()
        let model = Model()
        let item = try model.addEntity(named: "Item")
        try item.addAttribute(named: "timestamp", type: .date)
        try model.write(to: "\(folder)/\(template.name).xcdatamodeld")
        for file in template.files { try OutputFile(path: "\(folder)/\(file.name)").write(file.text) }
        try output.line("\(folder): \(template.steps)")
        return .done
    }

    private func makeFolder() throws {
        if mkdir(folder, 0o777) == 0 { return }
        guard errno == EEXIST, rmdir(folder) == 0, mkdir(folder, 0o777) == 0 else {
            throw CoreError(
                .storeIO,
                "\(folder) cannot be made: \(String(cString: strerror(errno))); name a folder that is not there "
                    + "yet, in one that is", file: folder)
        }
    }
}

/// The files of a project beside its model.
protocol ProjectTemplate: Sendable {
    var name: String { get }
    var files: [(name: String, text: String)] { get }
    /// What to do next, in one line.
    var steps: String { get }
}
