import Corestone

/// `corestone backup`: copies a store that other programs use.
struct BackupCommand: Command {
    static let manual = Manual(
        command: "backup", summary: "copy a store while other programs read and save",
        operands: [
            .init("STORE", "a store of any type"),
            .init("TO", "an unused path, or an earlier backup of this store, which is updated in one step"),
        ],
        options: [Manual.timeout, Manual.model],
        details: [
            "The backup is the state of the store when the command starts, including backing files, and keeps the "
                + "store's identifier. Saves of other programs do not wait, unless the store has a rollback journal or "
                + "is an atomic store.",
            "An earlier backup of the same store at TO is overwritten in one transaction, so a reader sees the old "
                + "state or the new one. Any other store at TO is an error and is not changed. On a terminal, a bar "
                + "shows the progress.",
            "The store is opened as by any program that uses it, with SQLite's locks and companion files (-wal, -shm) "
                + "in its folder. Use copy if the folder must not be changed.",
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
        let store = try coordinator.openedStore(at: source)
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
