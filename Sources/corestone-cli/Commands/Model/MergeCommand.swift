import Corestone

/// `corestone model merge`: one model of several.
struct MergeCommand: Command {
    static let manual = Manual(
        command: "model merge", summary: "make one model of several",
        operands: [.init("MODEL", repeatable: true, "models of any kind, or stores, whose own models they are then")],
        options: [
            .init("output", "what to write: .xcdatamodeld, .xcdatamodel, .momd or .mom", value: "FILE", letter: "o"),
            .init("store", "only the entities of this store, as it was written with them", value: "STORE"),
        ],
        details: [
            "What is the same in two models is there once. Entities and fetch requests of one name that differ are an error, "
                + "which says in what."
        ],
        examples: [
            "corestone model merge Notes.momd People.momd -o All.momd",
            "corestone model merge 1.mom 2.mom 3.mom --store Notes.sqlite -o Notes.mom",
        ])

    private let options: Options
    private let target: OutputFile

    init(_ options: Options) throws {
        self.options = options
        guard let path = options["output"] else { throw UsageError("model merge needs -o: the model to write") }
        target = OutputFile(path: path)
        let kinds = ["xcdatamodeld", "xcdatamodel", "momd", "mom"]
        guard kinds.contains(target.kind) else {
            throw UsageError(
                "\(path) is no name of a model, which ends in \(kinds.map { ".\($0)" }.joined(separator: ", "))")
        }
    }

    func run(to output: Output) throws -> ExitCode {
        let models = try options.operands.map { try NamedModel($0).model }
        let merged: Model
        if let store = options["store"] {
            merged = try Model.merging(models, forHashes: try StoreMetadata(ofStoreAt: store).entityVersionHashes)
        } else {
            merged = try Model.merging(models)
        }
        try merged.write(to: target.path)
        return .done
    }
}
