import CPlatform
import CorestoneFileSystem
import CorestoneGraph
import CorestoneValues
import Glibc

/// A watcher of a store for commits of other connections.
///
/// After each write to the store's file, log or journal, the watcher checks with SQLite whether the write was a commit.
/// For a read-only store, it compares the sizes and times of the files instead.
final class SQLiteWatch: StoreWatch, @unchecked Sendable {
    private let isReadOnly: Bool
    private let notify: @Sendable (ExternalChanges) -> Void
    private let path: String
    /// The lock of the following properties, which is also held while a save of the store is committed.
    private let lock = RecursiveLock(.watch)
    /// The source; nil after the watcher is stopped.
    ///
    /// The thread ends a moment later, and does not retain the store until then.
    private var source: Source?
    private var schema: StoreSchema?
    private let hasHistory: Bool
    private let folder: FolderWatch
    private var file: RemoteChange.File = .written
    private let identity: FileIdentity?

    /// The source from which changes are detected.
    private enum Source {
        case commits(ChangeReader)
        /// Another process held a lock when the watcher started.
        case unopened
        /// The sizes and times of the files. Used for a read-only store, because SQLite would create files next to it.
        case writtenState(String)
    }

    /// Creates a watcher.
    ///
    /// - Parameter usesEvents: false to simulate a file system without notifications.
    init(
        _ store: SQLiteStore, usesEvents: Bool = true, _ notify: @escaping @Sendable (ExternalChanges) -> Void
    ) {
        schema = store.schema
        hasHistory = store.keepsHistory
        self.notify = notify
        // SQLite creates the log next to the file that symbolic links resolve to.
        path =
            realpath(store.path, nil).map { text in
                defer { free(text) }
                return String(cString: text)
            } ?? store.path
        identity = FileIdentity(path)
        folder = FolderWatch(path, usesEvents: usesEvents, interval: store.watchInterval)
        isReadOnly = store.isReadOnly
    }

    /// Starts the watcher. Later commits are reported.
    func start() throws {
        try lock.with { source = isReadOnly ? .writtenState(SQLiteKind.writtenState(ofStoreAt: path)) : try open() }
        do { try folder.start(path, check: check) } catch {
            stop()
            throw error
        }
    }

    private func open() throws -> Source? {
        guard let schema else { return nil }
        do { return .commits(try ChangeReader(path: path, schema: schema, hasHistory: hasHistory)) } catch let error
            as CoreError where error.status == .storeBusy
        { return .unopened }
    }

    func stop() {
        // After a fork, the thread, the file and the descriptor that wakes the thread belong to the parent.
        if platform_is_forked() { return }
        lock.with {
            if case .commits(let reader) = source { reader.close() }
            source = nil
            schema = nil
        }
        folder.stop()
    }

    /// Records remote changes before the store itself begins to write.
    func noteForeignCommits() { lock.with { if case .commits(let reader) = source { reader.noteForeignCommits() } } }

    /// Runs `commit`, which commits the store's own writes.
    func committing(_ save: OwnWrites.Save, with writer: Connection, _ commit: () throws -> Void) throws {
        try lock.with {
            guard case .commits(let reader) = source else { return try commit() }
            try reader.committing(save, with: writer, commit)
        }
    }

    // MARK: - Reading changes

    @Sendable private func check() -> FolderWatch.Check {
        lock.with {
            if source == nil { return .stopped }
            // With a rollback journal, a commit of another process blocks readers. A later check reads the changes.
            guard let changes = fileState() ?? (try? unreportedChanges()) ?? nil else { return .unchanged }
            return .changed { self.notify(changes) }
        }
    }

    private func unreportedChanges() throws -> ExternalChanges? {
        switch source {
        case .commits(let reader): return try reader.hasUnreadCommits() ? reader.read() : nil
        case .writtenState(let before):
            let now = SQLiteKind.writtenState(ofStoreAt: path)
            source = .writtenState(now)
            return now == before ? nil : ExternalChanges()
        case .unopened:
            source = try open()
            if case .commits = source { return .unknown }
            return nil
        case nil: return nil
        }
    }

    /// Returns a change if the store's file was replaced or removed since the last call.
    private func fileState() -> ExternalChanges? {
        let now = FileIdentity(path)
        let state: RemoteChange.File = now == nil ? .removed : now == identity ? .written : .replaced
        defer { file = state }
        guard state != file, state != .written else { return nil }
        var changes = ExternalChanges()
        changes.file = state
        return changes
    }
}

/// The identity of the file at a path.
private struct FileIdentity: Equatable {
    let device: UInt
    let number: UInt

    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        (device, number) = (UInt(status.st_dev), UInt(status.st_ino))
    }
}
