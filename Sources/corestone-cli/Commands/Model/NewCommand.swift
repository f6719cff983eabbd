import Corestone

/// `corestone model new`: creates an empty source model.
struct NewCommand: Command {
    static let manual = Manual(
        command: "model new", summary: "create an empty source model",
        operands: [.init("MODEL", "the .xcdatamodeld or .xcdatamodel to create")],
        options: [],
        details: ["The model equals one that File > New > Data Model creates in Xcode: one version without entities."],
        examples: ["corestone model new Notes.xcdatamodeld"])

    private let file: OutputFile

    init(_ options: Options) throws {
        file = OutputFile(path: options.operand(0) ?? "")
        try file.require("xcdatamodeld", or: "xcdatamodel", for: "source model")
    }

    func run(to output: Output) throws -> ExitCode {
        guard !file.exists else {
            throw UsageError(
                "\(file.path) already exists; choose another path, or change the existing model with \(Tool.name) model add"
            )
        }
        try Model().write(to: file.path)
        return .done
    }
}
