import Corestone

/// `corestone copy`: copies a store with its log and backing files.
struct CopyCommand: Command {
    static let manual = Manual(
        command: "copy", summary: "copy a store with its log and its backing files",
        operands: [
            .init("STORE", "a store of any type; neither the file nor its folder changes"),
            .init("TO", "an unused path for the copy, or a store to overwrite with --replace"),
        ],
        options: [Manual.replace, Manual.timeout],
        details: [
            "The copy is one consistent state of the store, with the contents of its write-ahead log and its backing "
                + "files, which cp omits. It keeps the store's identifier (UUID), so object IDs stay valid. A model is "
                + "not required.",
            "With --replace, a store at TO is overwritten in one transaction under its locks, and programs that read "
                + "it continue with their snapshot. A file that is not a store, or a store of another type, is never "
                + "overwritten.",
            "The copy fails if a program saves to STORE at the same time; use backup for a store that is in use.",
        ],
        examples: [
            "corestone copy Photos.sqlite evidence/Photos.sqlite",
            "corestone copy Notes.sqlite /srv/Notes.sqlite --replace --timeout 30",
        ])

    private let source: String
    private let path: String
    private let options: Options

    init(_ options: Options) throws {
        self.options = options
        source = options.operand(0) ?? ""
        path = options.operand(1) ?? ""
    }

    func run(to output: Output) throws -> ExitCode {
        if !options.has("replace") {
            try requireFree(path, "choose another path, or add --replace to overwrite a store there")
        }
        let settings = try storeOptions(options)
        let coordinator = try coordinatorWithoutModel()
        try suggestingShowForModels(source) {
            try coordinator.replaceStore(at: path, byStoreAt: source, options: settings)
        }
        let metadata = try StoreMetadata(ofStoreAt: path)
        try output.line("\(path) is a copy of \(source), \(metadata.uuid)")
        return .done
    }
}
