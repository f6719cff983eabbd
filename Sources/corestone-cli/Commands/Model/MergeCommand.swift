import Corestone

/// `corestone model merge`: merges several models into one.
struct MergeCommand: Command {
    static let manual = Manual(
        command: "model merge", summary: "merge several models into one",
        operands: [.init("MODEL", repeatable: true, "models of any kind, or stores, whose own models are used")],
        options: [
            .init(
                "output", "the model to write: .xcdatamodeld, .xcdatamodel, .momd or .mom", value: "FILE", letter: "o"),
            .init("store", "only the entities of this store, in the versions that wrote it", value: "STORE"),
        ],
        details: [
            "Identical entities of two models are merged. Entities or fetch requests of the same name that differ are "
                + "an error, which names the difference."
        ],
        examples: [
            "corestone model merge Notes.momd People.momd -o All.momd",
            "corestone model merge 1.mom 2.mom 3.mom --store Notes.sqlite -o Notes.mom",
        ])

    private let options: Options
    private let target: OutputFile

    init(_ options: Options) throws {
        self.options = options
        guard let path = options["output"] else {
            throw UsageError("--output is missing; pass the path of the merged model with -o FILE")
        }
        target = OutputFile(path: path)
        let kinds = ["xcdatamodeld", "xcdatamodel", "momd", "mom"]
        guard kinds.contains(target.kind) else {
            throw UsageError(
                "\(path) does not have the extension of a model; use one of "
                    + kinds.map { ".\($0)" }.joined(separator: ", "))
        }
    }

    func run(to output: Output) throws -> ExitCode {
        let models = try options.operands.map { try NamedModel($0).model }
        let merged: Model
        if let store = options["store"] {
            merged = try Model.merging(
                models, forHashes: try StoreMetadata(ofStoreAt: store).entityVersionHashes, ofStoreAt: store)
        } else {
            merged = try Model.merging(models)
        }
        try merged.write(to: target.path)
        return .done
    }
}
