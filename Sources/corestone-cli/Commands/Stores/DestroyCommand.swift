import Corestone
import Glibc

/// `corestone destroy`: removes the contents of a store.
struct DestroyCommand: Command {
    static let manual = Manual(
        command: "destroy", summary: "remove the contents of a store",
        operands: [.init("STORE", "a store of any type")],
        options: [
            .init("yes", "do not ask for confirmation"),
            .init(
                "force",
                "also remove the files of a store that other programs have locked; they continue with deleted files"
            ),
            Manual.timeout,
        ],
        details: [
            "Removes rows, tables, history, metadata and backing files in one transaction, under the locks of a save. "
                + "As with Apple's framework, the file of an SQLite store remains as an empty database. To remove it, "
                + "delete it with its -wal and -shm files. Files of other store types are removed.",
            "On a terminal, the tool asks for confirmation; elsewhere --yes is required. A file that is not a Core "
                + "Data store is not changed.",
        ],
        examples: ["corestone destroy Old.sqlite", "corestone destroy Old.sqlite --yes --timeout 1 --force"])

    private let path: String
    private let options: Options

    init(_ options: Options) throws {
        self.options = options
        path = options.operand(0) ?? ""
    }

    func run(to output: Output) throws -> ExitCode {
        // The metadata is read before the confirmation; this throws if the file is not a store.
        let metadata = try suggestingShowForModels(path) { try StoreMetadata(ofStoreAt: path) }
        guard try options.has("yes") || isConfirmed(metadata) else {
            Tool.note("\(path) was not changed")
            return .problems
        }
        var settings = try storeOptions(options)
        settings.forcesDestruction = options.has("force")
        do {
            guard try coordinatorWithoutModel().destroyStore(at: path, options: settings) else {
                throw CoreError(
                    .storeIO, code: .persistentStoreOpen, "cannot destroy \(path): another process has removed it",
                    file: path)
            }
        } catch let error as CoreError where error.status == .storeBusy && !settings.forcesDestruction {
            // Only the files of an SQLite store are removed despite a lock.
            let isSQLite = metadata.storeType == nil || metadata.storeType == StoreType.sqlite.rawValue
            throw CoreError(
                .storeBusy, code: .persistentStoreOperation,
                "cannot destroy \(path) because another process or connection holds the lock; wait longer with "
                    + "--timeout" + (isSQLite ? ", or add --force to remove the files despite the lock" : ""),
                file: path)
        }
        let isThere = access(path, F_OK) == 0
        try output.line(isThere ? "\(path) is empty now; its file stays, without tables" : "\(path) is removed")
        return .done
    }

    /// Asks the user for confirmation.
    private func isConfirmed(_ metadata: StoreMetadata) throws -> Bool {
        guard isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else {
            throw UsageError(
                "destroy removes the contents of \(path) and must be confirmed, but standard input or standard error "
                    + "is not a terminal; add --yes")
        }
        let entities = metadata.entityVersionHashes.count
        let question =
            "\(path) is a store of type \(metadata.storeType ?? "SQLite") with \(plural(entities, "entity", "entities")). "
            + "Remove its contents? This cannot be undone [y/N] "
        Messages.ask(question)
        let answer = (readLine() ?? "").lowercased()
        return answer == "y" || answer == "yes"
    }
}
