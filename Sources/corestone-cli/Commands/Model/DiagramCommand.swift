import Corestone

/// `corestone model diagram`: draws a diagram of a model.
struct DiagramCommand: Command {
    static let manual = Manual(
        command: "model diagram", summary: "draw the entities and their relationships",
        operands: [NamedModel.operand],
        options: [
            .init(
                "output",
                "the file to write: .svg, .png or .pdf, or .dot for Graphviz's text format; by default that text is "
                    + "written to standard output", value: "FILE", letter: "o"),
            NamedModel.version,
        ],
        details: [
            "The diagram looks as in Xcode's graph editor. A box shows an entity with the properties that it declares, "
                + "and a line shows a relationship and its inverse. Each direction has an arrow, which is double if it "
                + "is to-many. A hollow arrow points to the superentity, and a dashed line is a fetched property. The "
                + "types of optional attributes end in ?, abstract entities are grey, and transient attributes are in "
                + "italics.",
            "Graphviz must be installed (Debian: apt-get install graphviz).",
        ],
        examples: [
            "corestone model diagram Notes.xcdatamodeld -o Notes.svg",
            "corestone model diagram Notes.sqlite -o Notes.png",
            "corestone model diagram Notes.momd --version \"Notes 2\" | dot -Tpdf > Notes.pdf",
        ])

    private let options: Options
    private let file: OutputFile?

    init(_ options: Options) throws {
        self.options = options
        file = options["output"].map { OutputFile(path: $0) }
        let kinds = Graphviz.fileFormats + ["dot"]
        if let file, !kinds.contains(file.kind) {
            throw UsageError(
                "\(file.path) does not have the extension of a diagram; use "
                    + kinds.dropLast().map { ".\($0)" }.joined(separator: ", ") + " or .dot")
        }
    }

    func run(to output: Output) throws -> ExitCode {
        let text = try NamedModel(options).model.diagram
        switch file {
        case nil: try output.data(text)
        case let file? where file.kind == "dot": try file.write(text)
        case let file?: try Graphviz.draw(text, into: file)
        }
        return .done
    }
}
