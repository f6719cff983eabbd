import Corestone

/// `corestone copy`: a store as a whole, with what lies beside it.
struct CopyCommand: Command {
    static let manual = Manual(
        command: "copy", summary: "copy a store as a whole, with its log and its files of large values",
        operands: [
            .init("STORE", "a store of any type; neither the file nor its folder changes"),
            .init("TO", "where the copy is to lie; nothing may be there, but for --replace"),
        ],
        options: [Manual.replace, Manual.timeout],
        details: [
            "The copy is one state of the store: what its write-ahead log holds is in it, and so are the files with large values, "
                + "which cp forgets. It keeps the store's identifier (UUID), so that the IDs of objects mean the same in it. No "
                + "model is needed.",
            "With --replace a store that is at TO is overwritten in one transaction under its locks: programs that read it go on with what "
                + "they began. What is no store, or one of another type, is never overwritten.",
            "A program that saves to STORE meanwhile makes this fail; backup copies a store that is in use.",
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
        let coordinator = try bareCoordinator()
        try takingStore(source) { try coordinator.replaceStore(at: path, byStoreAt: source, options: settings) }
        let metadata = try StoreMetadata(ofStoreAt: path)
        try output.line("\(path) is a copy of \(source), \(metadata.uuid)")
        return .done
    }
}
