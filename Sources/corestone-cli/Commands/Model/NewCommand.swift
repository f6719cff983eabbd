import Corestone

/// `corestone model new`: an empty source model.
struct NewCommand: Command {
    static let manual = Manual(
        command: "model new", summary: "make an empty source model",
        operands: [.init("MODEL", "the .xcdatamodeld to make, or .xcdatamodel")],
        options: [],
        details: ["The model is what Xcode makes of File > New > Data Model: no entities, one version."],
        examples: ["corestone model new Notes.xcdatamodeld"])

    private let file: OutputFile

    init(_ options: Options) throws {
        file = OutputFile(path: options.operand(0) ?? "")
        try file.require("xcdatamodeld", or: "xcdatamodel", for: "source model")
    }

    func run(to output: Output) throws -> ExitCode {
        guard !file.exists else { throw UsageError("\(file.path) is there already; model add adds to it") }
        try Model().write(to: file.path)
        return .done
    }
}
