import CorestoneFileSystem
import CorestoneGraph
import CorestoneValues

/// The known states of an atomic store's file, shared by the store and its watcher.
struct FileSights {
    /// The state that was last read or written.
    private var current: FileState?
    /// The state before `current`, needed because a new file is recorded shortly before it is renamed.
    private var former: FileState?
    /// The last state that the watcher reported.
    private var told: FileState?
    /// Whether the store read changes of another writer that the watcher has not reported yet.
    private var hasNews = false

    mutating func note(_ state: FileState?) { (former, current) = (current, state) }

    mutating func noteTakenOver() {
        if current == told { return }
        (told, hasNews) = (current, true)
    }

    /// Resets the state when a watcher starts.
    mutating func begin() { (told, hasNews) = (current, false) }

    /// Whether another process or coordinator wrote the file since the last call.
    mutating func look(_ now: FileState) -> Bool {
        if hasNews {
            hasNews = false
            return true
        }
        if now == current || now == former || now == told { return false }
        told = now
        return true
    }
}

/// A watcher of an atomic store's file, for saves by other processes and coordinators.
///
/// It does not determine the changed rows; the versions of the rows show the changes.
final class StoreFileWatch: StoreWatch {
    private let sights: Locked<FileSights>
    private let path: String
    private let folder: FolderWatch
    /// Whether the watcher was stopped, and whether the file existed at the last check.
    private let state = Locked((isStopped: false, file: RemoteChange.File.written))

    init(_ path: String, _ sights: Locked<FileSights>, interval: Int32) {
        (self.path, self.sights) = (path, sights)
        folder = FolderWatch(path, interval: interval)
    }

    func start(_ tell: @escaping @Sendable (ExternalChanges) -> Void) throws {
        // A moved store does not have a file until its next save.
        if FileState(path) == nil { state.withLock { $0.file = .removed } }
        sights.withLock { $0.begin() }
        try folder.start(path) { [self] in check(tell) }
    }

    func stop() {
        state.withLock { $0.isStopped = true }
        folder.stop()
    }

    private func check(_ tell: @escaping @Sendable (ExternalChanges) -> Void) -> FolderWatch.Check {
        let now = FileState(path)
        let (isStopped, isGone) = state.withLock { state in
            let isGone = now == nil && state.file == .written
            state.file = now == nil ? .removed : .written
            return (state.isStopped, isGone)
        }
        if isStopped { return .stopped }
        if isGone {
            return .changed {
                var changes = ExternalChanges()
                changes.file = .removed
                tell(changes)
            }
        }
        guard let now, sights.withLock({ $0.look(now) }) else { return .unchanged }
        return .changed { tell(.unknown) }
    }
}
