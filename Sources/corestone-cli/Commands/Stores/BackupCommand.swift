import Corestone

/// `corestone backup`: a copy of a store that others use.
struct BackupCommand: Command {
    static let manual = Manual(
        command: "backup", summary: "copy a store while other programs read and save",
        operands: [
            .init("STORE", "a store of any type"),
            .init("TO", "where nothing is, or a former backup of this store, which is brought up to date in one step"),
        ],
        options: [Manual.timeout, Manual.model],
        details: [
            "The backup is the state of the moment at which it begins, files with large values included; it keeps the store's identifier. Who "
                + "saves meanwhile is not kept waiting, unless the store has a rollback journal or is written as a whole.",
            "A former backup of the same store at TO is overwritten in one transaction, so a program that reads it finds the old state or "
                + "the new one. Another store at TO stays, and is an error. On a terminal a bar shows how far it is.",
            "The store is opened as every program opens it that uses it, with SQLite's locks and companions (-wal, -shm) in its folder; "
                + "copy leaves the folder alone.",
        ],
        examples: ["corestone backup Notes.sqlite /backup/Notes.sqlite"])

    private let source: String
    private let path: String
    private let options: Options

    init(_ options: Options) throws {
        self.options = options
        source = options.operand(0) ?? ""
        path = options.operand(1) ?? ""
    }

    func run(to output: Output) throws -> ExitCode {
        let coordinator = try openSharedStore(source, options)
        guard let store = coordinator.stores.first else { throw CoreError(.internal, "the store was not kept") }
        let bar = ProgressBar("backing up", .bytes)
        var bytes = 0
        try coordinator.backup(store, to: path, options: try storeOptions(options)) { done, total in
            bytes = total
            bar.show(done, of: total)
            return true
        }
        bar.end()
        let size = store.type == .sqlite ? ", \(plural(bytes, "byte"))" : ""
        try output.line("\(path) is a backup of \(source), \(store.identifier)\(size)")
        return .done
    }
}
