import CPlatform
import CorestoneGraph
import CorestoneValues
import Glibc

/// A thread that looks out for what others commit to a store.
///
/// It sleeps until the file system tells that the store's file, its log or its journal was written, and then asks SQLite whether
/// that was a commit. The file may tell before the commit can be seen, so it looks again after a while, and after twice that
/// while, until something comes or the longest while is reached; which is short where the file system tells nothing.
final class SQLiteWatch: StoreWatch, @unchecked Sendable {
    private let isReadOnly: Bool
    private let tell: @Sendable (ForeignChanges) -> Void
    private let path: String
    private let name: String
    /// Guards what follows; nothing else is locked under it.
    private let lock = RecursiveLock(.watch)
    /// nil once stopped: the thread, which ends a moment later, keeps nothing of the store.
    private var source: Source?
    private var schema: StoreSchema?
    private let hasHistory: Bool
    /// Readable when the thread is to end.
    private let stopping: Int32
    /// Readable when something happened in the store's folder; -1 where the system gives no such descriptor.
    private let folder: Int32
    /// Milliseconds.
    private let longest: Int32
    private var file: RemoteChange.File = .written
    private let identity: FileIdentity?

    /// Milliseconds between two looks at least.
    private static let shortest: Int32 = 10

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
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        name = parts.last.map(String.init) ?? path
        let place = parts.dropLast().joined(separator: "/")
        identity = FileIdentity(path)
        stopping = platform_event_new()
        folder = listens ? platform_folder_watch(place.isEmpty ? "/" : place) : -1
        let isTold = folder >= 0 && platform_folder_tells(place.isEmpty ? "/" : place)
        longest = store.watchInterval > 0 ? store.watchInterval : isTold ? 30_000 : 500
        isReadOnly = store.isReadOnly
    }

    /// Begins to watch: what is committed from now on is told.
    func start() throws {
        try lock.with { source = isReadOnly ? .facts(SQLiteWatch.facts(of: path)) : try open() }
        guard stopping >= 0, startThread() else {
            stop()
            throw CoreError(
                .noMemory, code: .persistentStoreOperation,
                "the system gives no thread to watch \(path) (error \(errno)); nothing tells what others write there",
                file: path)
        }
    }

    private func open() throws -> Source? {
        guard let schema else { return nil }
        do { return .commits(try ChangeReader(path: path, schema: schema, hasHistory: hasHistory)) } catch let error
            as CoreError where error.status == .storeBusy
        { return .unopened }
    }

    deinit {
        if stopping >= 0 { close(stopping) }
        if folder >= 0 { close(folder) }
    }

    func stop() {
        // The thread and the file are the parent's after a fork, and so is the descriptor that would wake it.
        if platform_is_forked() { return }
        lock.with {
            if case .commits(let reader) = source { reader.close() }
            source = nil
            schema = nil
        }
        if stopping >= 0 { platform_event_signal(stopping) }
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

    // MARK: - The thread

    private func startThread() -> Bool {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        defer { pthread_attr_destroy(&attributes) }
        // Signals are for the host's threads.
        var (all, former) = (sigset_t(), sigset_t())
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &former)
        defer { pthread_sigmask(SIG_SETMASK, &former, nil) }
        var thread = pthread_t()
        let watch = Unmanaged.passRetained(self)
        let code = pthread_create(
            &thread, &attributes,
            { watch in
                if let watch { Unmanaged<SQLiteWatch>.fromOpaque(watch).takeRetainedValue().run() }
                return nil
            }, watch.toOpaque())
        if code != 0 { watch.release() }
        return code == 0
    }

    /// The name of the thread, as `top -H` shows it.
    static let threadName = "corestone watch"

    private func run() {
        platform_set_thread_name(pthread_self(), SQLiteWatch.threadName)
        var pause = longest
        while true {
            if wait(pause, forFolder: true) { pause = SQLiteWatch.shortest }
            switch look() {
            case .stopped: return
            case .nothing: pause = pause < longest / 2 ? pause * 2 : longest
            case .changes(let changes):
                pause = SQLiteWatch.shortest
                tell(changes)
            }
            _ = wait(SQLiteWatch.shortest, forFolder: false)
        }
    }

    /// Whether the folder told of the store's file before the time was over.
    private func wait(_ milliseconds: Int32, forFolder: Bool) -> Bool {
        var descriptors = [
            pollfd(fd: stopping, events: Int16(POLLIN), revents: 0),
            pollfd(fd: folder, events: Int16(POLLIN), revents: 0),
        ]
        _ = poll(&descriptors, forFolder && folder >= 0 ? 2 : 1, milliseconds)
        return descriptors[1].revents != 0 && platform_folder_changed(folder, name)
    }

    // MARK: - Looking

    private enum Sight {
        /// Nothing of others that can be seen yet.
        case nothing
        case changes(ForeignChanges)
        case stopped
    }

    private func look() -> Sight {
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
            let now = SQLiteWatch.facts(of: path)
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

    /// Of the file and its log: what differs when they were written.
    private static func facts(of path: String) -> String {
        [path, path + "-wal"].map { path in
            var facts = stat()
            guard stat(path, &facts) == 0 else { return "" }
            return "\(facts.st_ino) \(facts.st_size) \(facts.st_mtim.tv_sec) \(facts.st_mtim.tv_nsec)"
        }.joined(separator: "/")
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
