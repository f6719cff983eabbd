import CPlatform
import CorestoneGraph
import CorestoneValues
import Glibc

/// Looks out for what others commit to a store: whenever its file, its log or its journal was written, it asks SQLite whether that
/// was a commit.
final class SQLiteWatch: StoreWatch, @unchecked Sendable {
    private let isReadOnly: Bool
    private let tell: @Sendable (ForeignChanges) -> Void
    private let path: String
    /// Guards what follows; nothing else is locked under it.
    private let lock = RecursiveLock(.watch)
    /// nil once stopped: the thread, which ends a moment later, keeps nothing of the store.
    private var source: Source?
    private var schema: StoreSchema?
    private let hasHistory: Bool
    private let folder: FolderWatch
    private var file: RemoteChange.File = .written
    private let identity: FileIdentity?

    /// Where the watch looks.
    private enum Source {
        case commits(ChangeReader)
        /// Somebody kept the file locked when the watch began.
        case unopened
        /// A store that is open read-only is never asked, since SQLite would leave files beside it: the file's facts tell.
        case facts(String)
    }

    /// - Parameter listens: false for what it would be like where the file system tells nothing.
    init(
        _ store: SQLiteStore, listens: Bool = true, _ tell: @escaping @Sendable (ForeignChanges) -> Void
    ) {
        schema = store.schema
        hasHistory = store.keepsHistory
        self.tell = tell
        // SQLite keeps the companions beside the file that links lead to.
        path =
            realpath(store.path, nil).map { text in
                defer { free(text) }
                return String(cString: text)
            } ?? store.path
        identity = FileIdentity(path)
        folder = FolderWatch(path, listens: listens, interval: store.watchInterval)
        isReadOnly = store.isReadOnly
    }

    /// Begins to watch: what is committed from now on is told.
    func start() throws {
        try lock.with { source = isReadOnly ? .facts(SQLiteKind.writtenState(ofStoreAt: path)) : try open() }
        do { try folder.start(path, look: look, tell: tell) } catch {
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
        // The thread and the file are the parent's after a fork, and so is the descriptor that would wake it.
        if platform_is_forked() { return }
        lock.with {
            if case .commits(let reader) = source { reader.close() }
            source = nil
            schema = nil
        }
        folder.stop()
    }

    /// The store itself has begun to write.
    func noteOthers() { lock.with { if case .commits(let reader) = source { reader.noteOthers() } } }

    /// Runs `commit`, which commits what it wrote.
    func committing(_ save: OwnWrites.Save, with writer: Connection, _ commit: () throws -> Void) throws {
        try lock.with {
            guard case .commits(let reader) = source else { return try commit() }
            try reader.committing(save, with: writer, commit)
        }
    }

    // MARK: - Looking

    @Sendable private func look() -> FolderWatch.Sight {
        lock.with {
            if source == nil { return .stopped }
            if let lost = fileState() { return .changes(lost) }
            // Somebody may be in the middle of a commit, where there is a rollback journal.
            return ((try? news()) ?? nil).map { .changes($0) } ?? .nothing
        }
    }

    private func news() throws -> ForeignChanges? {
        switch source {
        case .commits(let reader): return try reader.hasNews() ? reader.read() : nil
        case .facts(let before):
            let now = SQLiteKind.writtenState(ofStoreAt: path)
            source = .facts(now)
            return now == before ? nil : ForeignChanges()
        case .unopened:
            source = try open()
            if case .commits = source { return .unknown }
            return nil
        case nil: return nil
        }
    }

    /// News when another file, or none, has the store's name since the last time.
    private func fileState() -> ForeignChanges? {
        let now = FileIdentity(path)
        let state: RemoteChange.File = now == nil ? .removed : now == identity ? .written : .replaced
        defer { file = state }
        guard state != file, state != .written else { return nil }
        var changes = ForeignChanges()
        changes.file = state
        return changes
    }
}

/// Which file a name leads to.
private struct FileIdentity: Equatable {
    let device: UInt
    let number: UInt

    init?(_ path: String) {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return nil }
        (device, number) = (UInt(facts.st_dev), UInt(facts.st_ino))
    }
}
