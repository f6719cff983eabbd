import Corestone
import Glibc

/// `corestone model codegen`: generates typed classes for the objects of a model.
struct CodegenCommand: Command {
    static let languages: [(name: String, generator: any CodeGenerator.Type)] = [
        ("python", PythonGenerator.self), ("c", CGenerator.self), ("swift", SwiftGenerator.self),
        ("typescript", TypeScriptGenerator.self),
    ]

    static let manual = Manual(
        command: "model codegen", summary: "write typed classes for the objects of a model",
        operands: [NamedModel.operand],
        options: [
            .init("language", "\(languages.map(\.name).joined(separator: ", "))", value: "LANGUAGE"),
            .init("output", "the folder for the files; it is created if it does not exist", value: "DIR", letter: "o"),
            .init("name", "the name of the model in code; by default the name of its file", value: "NAME"),
            .init("all", "also write code for entities whose code is written by hand (Manual/None)"),
            NamedModel.version,
        ],
        details: [
            "Writes a generated file, which is replaced each time, and a file for manual changes, which is written "
                + "once. An unchanged file is not written again.",
            "The codegen setting of an entity in Xcode applies. Class Definition generates the class, "
                + "Category/Extension also adds a file for manual changes, and Manual/None generates nothing. Entities "
                + "with Manual/None get code with --all, or if no entity of the model has the setting. Optional "
                + "attributes can be null, except those with Use Scalar Type, where null is 0.",
            "The TypeScript types describe records: the plain JSON that containers read and write, for example behind "
                + "a web service.",
        ],
        examples: [
            "corestone model codegen Notes.xcdatamodeld --language python -o notes",
            "corestone model codegen Notes.sqlite --language python --name Notes -o notes",
        ])

    private let options: Options
    private let folder: String
    private let generator: any CodeGenerator.Type

    init(_ options: Options) throws {
        self.options = options
        let names = CodegenCommand.languages.map(\.name)
        let list = names.joined(separator: ", ")
        guard let language = options["language"] else { throw UsageError("--language is missing; use one of \(list)") }
        guard let found = CodegenCommand.languages.first(where: { $0.name == language }) else {
            let hint = nearestName(to: language, among: names).map { "; did you mean \"\($0)\"?" } ?? ""
            throw UsageError("--language must be one of \(list), not \"\(language)\"\(hint)")
        }
        guard let folder = options["output"] else {
            throw UsageError("--output is missing; pass the folder for the files with -o DIR")
        }
        generator = found.generator
        self.folder = folder
    }

    func run(to output: Output) throws -> ExitCode {
        let named = try NamedModel(options)
        if let name = options["name"], !name.unicodeScalars.allSatisfy(CodegenCommand.isPartOfName) {
            throw UsageError(
                "--name must not be \"\(name)\", because it becomes part of file names; use letters, digits, spaces, "
                    + "\"-\", \"_\" and \".\"")
        }
        let model = GeneratedModel(named.model, name: options["name"] ?? named.name, all: options.has("all"))
        guard mkdir(folder, 0o755) == 0 || errno == EEXIST else {
            throw OutputFile(path: folder).failure(OutputFile.reason)
        }
        try generator.init(model).generate { file in
            let place = OutputFile(path: "\(folder)/\(file.name)")
            if file.isForPeople && place.exists { return }
            if try place.write(file.pieces) { try output.line(place.path) }
        }
        if !model.skipped.isEmpty {
            Tool.note(
                "code was not generated for \(model.skipped.abridged), whose codegen setting is Manual/None; "
                    + "add --all to generate code for all entities")
        }
        return .done
    }

    private static func isPartOfName(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isAlphabetic || scalar.properties.numericType != nil || "-_. ".unicodeScalars.contains(scalar)
    }
}
