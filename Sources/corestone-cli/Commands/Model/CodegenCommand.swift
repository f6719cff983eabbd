import Corestone
import Glibc

/// `corestone model codegen`: typed classes for the objects of a model.
struct CodegenCommand: Command {
    static let languages: [(name: String, generator: any CodeGenerator.Type)] = [
        ("python", PythonGenerator.self), ("c", CGenerator.self), ("swift", SwiftGenerator.self),
    ]

    static let manual = Manual(
        command: "model codegen", summary: "write typed classes for the objects of a model",
        operands: [NamedModel.operand],
        options: [
            .init("language", "\(languages.map(\.name).joined(separator: ", "))", value: "LANGUAGE"),
            .init("output", "the folder to write into; it is made when it is not there", value: "DIR", letter: "o"),
            .init("name", "what the model is called in code; the name of its file when left out", value: "NAME"),
            .init("all", "write code for entities whose code is written by hand (Manual/None), too"),
            NamedModel.version,
        ],
        details: [
            "A file that the machine writes, anew each time, and one for people, which is written once and then left "
                + "alone. An unchanged file is not written again.",
            "What Xcode's inspector says of an entity counts: for Class Definition the machine writes the class and "
                + "people nothing; for Category/Extension people have a file of their own; for Manual/None there is no "
                + "code, unless no entity of the model says anything, or --all is given. Optional attributes may be null, "
                + "but for those with Use Scalar Type, where null is 0.",
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
        guard let language = options["language"] else { throw UsageError("model codegen needs --language: \(list)") }
        guard let found = CodegenCommand.languages.first(where: { $0.name == language }) else {
            let hint = nearestName(to: language, among: names).map { "; did you mean \"\($0)\"?" } ?? ""
            throw UsageError("--language is one of \(list), not \"\(language)\"\(hint)")
        }
        guard let folder = options["output"] else {
            throw UsageError("model codegen needs -o: the folder to write into")
        }
        generator = found.generator
        self.folder = folder
    }

    func run(to output: Output) throws -> ExitCode {
        let named = try NamedModel(options)
        if let name = options["name"], !name.unicodeScalars.allSatisfy(CodegenCommand.isPartOfName) {
            throw UsageError(
                "--name is part of the names of files: letters, digits, \"-\", \"_\" and \".\", not \"\(name)\"")
        }
        let model = GeneratedModel(named.model, name: options["name"] ?? named.name, all: options.has("all"))
        guard mkdir(folder, 0o755) == 0 || errno == EEXIST else {
            throw OutputFile(path: folder).failure(String(cString: strerror(errno)))
        }
        try generator.init(model).generate { file in
            let place = OutputFile(path: "\(folder)/\(file.name)")
            if file.isForPeople && place.exists { return }
            if try place.write(file.pieces) { try output.line(place.path) }
        }
        if !model.skipped.isEmpty {
            Tool.note("the code of \(model.skipped.joined(separator: ", ")) is written by hand; --all writes it too")
        }
        return .done
    }

    private static func isPartOfName(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isAlphabetic || scalar.properties.numericType != nil || "-_. ".unicodeScalars.contains(scalar)
    }
}
