import Corestone

/// `corestone model diagram`: a picture of a model.
struct DiagramCommand: Command {
    static let manual = Manual(
        command: "model diagram", summary: "draw the entities and their relationships",
        operands: [NamedModel.operand],
        options: [
            .init(
                "output",
                "the file to write: .svg, .png or .pdf, or .dot for the text that Graphviz draws; "
                    + "that text goes to standard output when left out", value: "FILE", letter: "o"),
            NamedModel.version,
        ],
        details: [
            "The picture is drawn as Xcode's graph editor does: a box for each entity with what it declares, a line for "
                + "a relationship and its inverse, with a head at each end that is followed, double where it is to-many; a "
                + "hollow head points at the entity that another one inherits from, and a dashed line is a fetched "
                + "property. A ? stands behind types of optional attributes; abstract entities are grey, names of "
                + "transient attributes slanted.",
            "Graphviz's program dot draws it (Debian: apt-get install graphviz).",
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
        let kinds = Graphviz.kinds + ["dot"]
        if let file, !kinds.contains(file.kind) {
            throw UsageError(
                "\(file.path) does not say what to write; its name must end in "
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
