import Corestone
import CorestoneFileSystem
import Glibc

/// `corestone init`: creates a runnable project that stores its data with Corestone.
struct InitCommand: Command {
    static let manual = Manual(
        command: "init", summary: "create a project that keeps its data in a store",
        operands: [.init("FOLDER", "the folder to create; its name becomes the name of the project")],
        options: [
            .init("language", "c, python (the default) or swift", value: "LANGUAGE"),
            .init(
                "corestone",
                "for swift: the folder of Corestone's own package, whose Swift interface the program then uses; by "
                    + "default the C interface of the installed library", value: "PATH"),
        ],
        details: [
            "Creates the same parts as \"Use Core Data\" in Xcode: a model, a container and a program. The model has "
                + "one entity, and can be edited with corestone model and Xcode. The container has its store in the "
                + "user's data folder (XDG_DATA_HOME). The program inserts an object, saves, and lists the contents of "
                + "the store.",
            "FOLDER must not exist yet, or must be empty.",
        ],
        examples: ["corestone init Notes", "corestone init Notes --language c && make -C Notes run"])

    private let folder: String
    private let template: ProjectTemplate

    init(_ options: Options) throws {
        folder = options.operand(0) ?? ""
        let name = String(folder.split(separator: "/").last ?? "")
        guard isIdentifier(name), name.utf8.allSatisfy({ $0 < 128 }) else {
            throw UsageError(
                "\(PropertyValue.string(name).excerpt), the last part of FOLDER, is not a valid project name; use at "
                    + "most 255 ASCII letters, digits and underscores, and do not begin with a digit")
        }
        switch options["language"] ?? "python" {
        case "c": template = CTemplate(name: name, installation: .ofThisTool)
        case "python":
            // The command that the Python package installs sets this variable to the path of its interpreter.
            let interpreter = getenv("CORESTONE_PYTHON").map { String(cString: $0) } ?? ""
            template = PythonTemplate(name: name, interpreter: interpreter.isEmpty ? "python3" : interpreter)
        case "swift":
            guard let path = options["corestone"] else {
                template = SwiftTemplate(name: name, installation: .ofThisTool)
                return
            }
            guard let absolute = realpath(path, nil) else {
                throw UsageError(
                    "cannot find the folder \(path) of --corestone: \(SystemError.last.text); "
                        + "pass the folder of Corestone's package")
            }
            defer { free(absolute) }
            template = SwiftSourceTemplate(name: name, package: String(cString: absolute))
        case let other: throw UsageError("--language must be c, python or swift, not \"\(other)\"")
        }
    }

    func run(to output: Output) throws -> ExitCode {
        try makeFolder()
        let model = Model()
        let item = try model.addEntity(named: "Item")
        try item.addAttribute(named: "timestamp", type: .date)
        try model.write(to: "\(folder)/\(template.name).xcdatamodeld")
        for file in template.files {
            if let slash = file.name.lastIndex(of: "/") { mkdir("\(folder)/\(file.name[..<slash])", 0o777) }
            try OutputFile(path: "\(folder)/\(file.name)").write(file.text)
        }
        try output.line("\(folder): \(template.steps)")
        return .done
    }

    private func makeFolder() throws {
        if mkdir(folder, 0o777) == 0 { return }
        let first = errno
        guard first == EEXIST, rmdir(folder) == 0, mkdir(folder, 0o777) == 0 else {
            // rmdir reports ENOTDIR for a file and for a symbolic link.
            let code = first == EEXIST && errno == ENOTDIR ? EEXIST : errno
            let remedy =
                [ENOSPC, EDQUOT].contains(code)
                ? "free some space" : "choose an unused name in an existing, writable folder"
            throw CoreError(
                .storeIO, "cannot create the folder \(folder): \(SystemError(code).text); \(remedy)",
                file: folder)
        }
    }
}

/// The files of a project, apart from its model.
protocol ProjectTemplate: Sendable {
    var name: String { get }
    var files: [(name: String, text: String)] { get }
    /// The next steps for the user, on one line.
    var steps: String { get }
}
