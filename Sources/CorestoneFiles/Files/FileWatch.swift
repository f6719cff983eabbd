import CorestoneGraph
import CorestoneValues

/// What is known of the states of an atomic store's file: by the store, which reads and writes it, and by its watch.
struct FileSights {
    /// What was read or written last, and before that: a file that is about to get its name is noted a moment before.
    private var current: FileState?
    private var former: FileState?
    /// What the watch has told of.
    private var told: FileState?
    /// Whether the store took over what somebody else wrote, of which the watch has not told.
    private var hasNews = false

    mutating func note(_ state: FileState?) { (former, current) = (current, state) }

    mutating func noteTakenOver() {
        if current == told { return }
        (told, hasNews) = (current, true)
    }

    /// When a watch begins.
    mutating func begin() { (told, hasNews) = (current, false) }

    /// Whether somebody else has written the file since the last time.
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

/// Looks out for what others save into the file of an atomic store. Which rows these are is for their versions to say.
final class FileWatch: StoreWatch {
    private let sights: Locked<FileSights>
    private let path: String
    private let folder: FolderWatch
    /// Whether it ended, and whether the file was there at the last look.
    private let state = Locked((isStopped: false, file: RemoteChange.File.written))

    init(_ path: String, _ sights: Locked<FileSights>, interval: Int32) {
        (self.path, self.sights) = (path, sights)
        folder = FolderWatch(path, interval: interval)
    }

    func start(_ tell: @escaping @Sendable (ForeignChanges) -> Void) throws {
        // A store that was moved has no file until its next save.
        if FileState(path) == nil { state.withLock { $0.file = .removed } }
        sights.withLock { $0.begin() }
        try folder.start(path, look: look, tell: tell)
    }

    func stop() {
        state.withLock { $0.isStopped = true }
        folder.stop()
    }

    @Sendable private func look() -> FolderWatch.Sight {
        let now = FileState(path)
        let (isStopped, isGone) = state.withLock { state in
            let isGone = now == nil && state.file == .written
            state.file = now == nil ? .removed : .written
            return (state.isStopped, isGone)
        }
        if isStopped { return .stopped }
        if isGone {
            var changes = ForeignChanges()
            changes.file = .removed
            return .changes(changes)
        }
        return now.map { now in sights.withLock { $0.look(now) } } ?? false ? .changes(.unknown) : .nothing
    }
}
