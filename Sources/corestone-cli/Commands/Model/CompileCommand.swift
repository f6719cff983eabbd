import Corestone

/// `corestone model compile`: compiles a source model, like Xcode's compiler.
struct CompileCommand: Command {
    static let manual = Manual(
        command: "model compile", summary: "compile a source model: .xcdatamodeld to .momd, .xcdatamodel to .mom",
        operands: [.init("MODEL", "a source model, .xcdatamodeld or .xcdatamodel")],
        options: [
            .init(
                "output", "the file to write, .momd or .mom; by default next to the source", value: "FILE", letter: "o"),
            .init("module", "the Swift module for class names without one (.Note)", value: "NAME"),
        ],
        details: [
            "A .momd contains every version, and VersionInfo.plist with the hashes; a .mom contains the current "
                + "version. An existing file is replaced as a whole."
        ],
        examples: [
            "corestone model compile Notes.xcdatamodeld",
            "corestone model compile Notes.xcdatamodeld -o App/Resources/Notes.momd --module App",
        ])

    private let options: Options
    private let source: OutputFile

    init(_ options: Options) throws {
        self.options = options
        source = OutputFile(path: options.operand(0) ?? "")
    }

    func run(to output: Output) throws -> ExitCode {
        let target = OutputFile(
            path: options["output"] ?? source.path(as: source.kind == "xcdatamodel" ? "mom" : "momd"))
        try target.require("momd", or: "mom", for: "compiled model")
        try Model.convert(source.path, to: target.path, module: options["module"])
        return .done
    }
}

/// `corestone model decompile`: creates a source model from a compiled model or a store.
struct DecompileCommand: Command {
    static let manual = Manual(
        command: "model decompile", summary: "create a source model from a compiled model or a store",
        operands: [.init("MODEL", "a compiled model (.momd, .mom), or a store")],
        options: [
            .init(
                "output", "the file to write, .xcdatamodeld or .xcdatamodel; by default next to the model",
                value: "FILE",
                letter: "o"),
            .init("lossy", "omit what a source model cannot express, instead of failing"),
        ],
        details: ["All versions are converted. An existing source model is not replaced."],
        examples: [
            "corestone model decompile Notes.momd -o Notes.xcdatamodeld",
            "corestone model decompile Notes.sqlite -o Notes.xcdatamodeld",
        ])

    private let options: Options
    private let source: OutputFile

    init(_ options: Options) throws {
        self.options = options
        source = OutputFile(path: options.operand(0) ?? "")
    }

    func run(to output: Output) throws -> ExitCode {
        let target = OutputFile(
            path: options["output"] ?? source.path(as: source.kind == "mom" ? "xcdatamodel" : "xcdatamodeld"))
        try target.require("xcdatamodeld", or: "xcdatamodel", for: "source model")
        let isLossy = options.has("lossy")
        if looksLikeModel(source.path) {
            try Model.convert(source.path, to: target.path, isLossy: isLossy)
        } else {
            guard !target.exists else { throw UsageError("\(target.path) already exists; choose another path with -o") }
            try NamedModel(source.path).model.copy().write(to: target.path, isLossy: isLossy)
        }
        return .done
    }
}
