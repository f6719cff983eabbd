import Corestone
import Glibc

/// `corestone destroy`: empties a store.
struct DestroyCommand: Command {
    static let manual = Manual(
        command: "destroy", summary: "remove all that a store holds",
        operands: [.init("STORE", "a store of any type")],
        options: [
            .init("yes", "do not ask"),
            .init(
                "force", "remove the files of a store whose locks others keep; they go on with files that have no names"
            ),
            Manual.timeout,
        ],
        details: [
            "Rows, tables, history, metadata and files with large values go, in one transaction under the locks that every save takes. As with "
                + "Apple's framework the file of an SQLite store stays, as an empty database in which a program may begin anew; "
                + "remove it with its -wal and -shm if none is to. Files of other types are removed.",
            "On a terminal the tool asks first; elsewhere --yes is needed. What is no store of Core Data stays as it is.",
        ],
        examples: ["corestone destroy Old.sqlite", "corestone destroy Old.sqlite --yes --timeout 1 --force"])

    private let path: String
    private let options: Options

    init(_ options: Options) throws {
        self.options = options
        path = options.operand(0) ?? ""
    }

    func run(to output: Output) throws -> ExitCode {
        // Before anybody is asked, and for what is no store.
        let metadata = try takingStore(path) { try StoreMetadata(ofStoreAt: path) }
        guard try options.has("yes") || isConfirmed(metadata) else {
            Tool.note("\(path) stays as it is")
            return .problems
        }
        var settings = try storeOptions(options)
        settings.forcesDestruction = options.has("force")
        do {
            guard try bareCoordinator().destroyStore(at: path, options: settings) else {
                throw CoreError(.storeIO, code: .persistentStoreOpen, "\(path) is not there any more", file: path)
            }
        } catch let error as CoreError where error.status == .storeBusy && !settings.forcesDestruction {
            throw CoreError(
                .storeBusy, code: .persistentStoreOperation,
                "\(error.message); --timeout waits longer, --force removes the files all the same",
                file: path)
        }
        let isThere = access(path, F_OK) == 0
        try output.line(isThere ? "\(path) is empty now; its file stays, without tables" : "\(path) is removed")
        return .done
    }

    /// Asks a person.
    private func isConfirmed(_ metadata: StoreMetadata) throws -> Bool {
        guard isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else {
            throw UsageError("destroy removes all that \(path) holds, and there is nobody to ask: add --yes")
        }
        let entities = metadata.entityVersionHashes.count
        let question =
            "\(path) is a store of type \(metadata.storeType ?? "SQLite") with \(plural(entities, "entity", "entities")). "
            + "Remove all that it holds? This cannot be undone [y/N] "
        Messages.ask(question)
        let answer = (readLine() ?? "").lowercased()
        return answer == "y" || answer == "yes"
    }
}
