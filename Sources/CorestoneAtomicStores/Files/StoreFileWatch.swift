import CorestoneFileSystem
import CorestoneGraph
import CorestoneValues

/// The known states of an atomic store's file, shared by the store and its watcher.
struct ObservedFileStates {
    /// The state that was last read or written.
    private var current: FileState?
    /// The state before `current`, needed because a new file is recorded shortly before it is renamed.
    private var former: FileState?
    /// The last state that the watcher reported.
    private var reportedState: FileState?
    /// Whether the store read changes of another writer that the watcher has not reported yet.
    private var hasUnreportedChanges = false

    mutating func note(_ state: FileState?) { (former, current) = (current, state) }

    mutating func noteAdopted() {
        if current == reportedState { return }
        (reportedState, hasUnreportedChanges) = (current, true)
    }

    /// Resets the state when a watcher starts.
    mutating func begin() { (reportedState, hasUnreportedChanges) = (current, false) }

    /// Whether another process or coordinator wrote the file since the last call.
    mutating func isForeignWrite(_ now: FileState) -> Bool {
        if hasUnreportedChanges {
            hasUnreportedChanges = false
            return true
        }
        if now == current || now == former || now == reportedState { return false }
        reportedState = now
        return true
    }
}

/// A watcher of an atomic store's file, for saves by other processes and coordinators.
///
/// It does not determine the changed rows; the versions of the rows show the changes.
final class StoreFileWatch: StoreWatch {
    private let observedStates: Locked<ObservedFileStates>
    private let path: String
    private let folder: FolderWatch
    /// Whether the watcher was stopped, and whether the file existed at the last check.
    private let state = Locked((isStopped: false, file: RemoteChange.File.written))

    init(_ path: String, _ observedStates: Locked<ObservedFileStates>, interval: Int32) {
        (self.path, self.observedStates) = (path, observedStates)
        folder = FolderWatch(path, interval: interval)
    }

    func start(_ notify: @escaping @Sendable (ExternalChanges) -> Void) throws {
        // A moved store does not have a file until its next save.
        if FileState(path) == nil { state.withLock { $0.file = .removed } }
        observedStates.withLock { $0.begin() }
        try folder.start(path) { [self] in check(notify) }
    }

    func stop() {
        state.withLock { $0.isStopped = true }
        folder.stop()
    }

    private func check(_ notify: @escaping @Sendable (ExternalChanges) -> Void) -> FolderWatch.Check {
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
                notify(changes)
            }
        }
        guard let now, observedStates.withLock({ $0.isForeignWrite(now) }) else { return .unchanged }
        return .changed { notify(.unknown) }
    }
}
