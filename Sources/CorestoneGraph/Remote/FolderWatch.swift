import CPlatform
import CorestoneValues
import Glibc

/// The watcher of a store's file: a thread that runs a check when the file system reports a write.
///
/// Writes to files beside the store whose names have the same beginning are included.
///
/// The file system may report a write before its content is visible. The check is therefore repeated after increasing
/// pauses, until it detects changes or the longest pause is reached. That pause is short if the file system does not
/// report writes.
package final class FolderWatch: @unchecked Sendable {
    /// The result of a check.
    package enum Sight {
        /// No changes of other writers are visible yet.
        case nothing
        case changes(ExternalChanges)
        /// The thread must end.
        case stopped
    }

    private let name: String
    /// A descriptor that is readable when the thread must end.
    private let stopping: Int32
    /// The error code if the descriptor could not be created.
    private let failure: Int32
    /// A descriptor that is readable after an event in the folder; -1 if the system does not provide it.
    private let folder: Int32
    /// The longest pause in milliseconds.
    private let longest: Int32

    /// The shortest pause between two checks in milliseconds.
    private static let shortest: Int32 = 10
    /// The name of the thread, as `top -H` shows it.
    package static let threadName = "corestone watch"

    /// Starts to watch a file.
    ///
    /// - Parameters:
    ///   - path: The path of the file, without symbolic links.
    ///   - listens: Whether to use events of the file system; false in tests.
    ///   - interval: The longest pause in milliseconds; 0 for the default.
    package init(_ path: String, listens: Bool = true, interval: Int32 = 0) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        name = parts.last.map(String.init) ?? path
        let joined = parts.dropLast().joined(separator: "/")
        let place = joined.isEmpty ? "/" : joined
        stopping = platform_event_new()
        failure = stopping < 0 ? errno : 0
        folder = listens ? platform_folder_watch(place) : -1
        let isTold = folder >= 0 && platform_folder_tells(place)
        longest = interval > 0 ? interval : isTold ? 30_000 : 500
    }

    deinit {
        if stopping >= 0 { close(stopping) }
        if folder >= 0 { close(folder) }
    }

    private final class Work {
        let watch: FolderWatch
        let look: @Sendable () -> Sight
        let tell: @Sendable (ExternalChanges) -> Void

        init(
            _ watch: FolderWatch, _ look: @escaping @Sendable () -> Sight,
            _ tell: @escaping @Sendable (ExternalChanges) -> Void
        ) { (self.watch, self.look, self.tell) = (watch, look, tell) }
    }

    /// Starts the thread. It retains the functions until `look` returns `.stopped`.
    ///
    /// - Throws: `.noMemory` if no thread or event descriptor can be created.
    package func start(
        _ path: String, look: @escaping @Sendable () -> Sight, tell: @escaping @Sendable (ExternalChanges) -> Void
    ) throws {
        let work = Unmanaged.passRetained(Work(self, look, tell))
        let code =
            stopping < 0
            ? failure
            : platform_start_thread(
                { work in
                    if let work {
                        let work = Unmanaged<Work>.fromOpaque(work).takeRetainedValue()
                        work.watch.run(work.look, work.tell)
                    }
                    return nil
                }, work.toOpaque())
        guard code == 0 else {
            work.release()
            throw CoreError(
                .noMemory, code: .persistentStoreOperation,
                "cannot create \(stopping < 0 ? "an event descriptor to watch" : "a watcher thread for") \(path), so remote "
                    + "changes are not reported: \(StoreLocation.text(of: code))"
                    + (stopping < 0
                        ? "; close other files, or raise the limit of open files (ulimit -n)"
                        : "; end other threads or raise the thread limit"),
                file: path)
        }
    }

    /// Wakes the thread, whose check then ends it.
    package func stop() { if stopping >= 0 { platform_event_signal(stopping) } }

    private func run(_ look: () -> Sight, _ tell: (ExternalChanges) -> Void) {
        platform_set_thread_name(platform_thread_id(), FolderWatch.threadName)
        var pause = longest
        while true {
            if wait(pause, forFolder: true) { pause = FolderWatch.shortest }
            switch withCallScope(look) {
            case .stopped: return
            case .nothing: pause = pause < longest / 2 ? pause * 2 : longest
            case .changes(let changes):
                pause = FolderWatch.shortest
                withCallScope { tell(changes) }
            }
            _ = wait(FolderWatch.shortest, forFolder: false)
        }
    }

    /// Waits for an event. Returns whether the file system reported the file before the time-out.
    private func wait(_ milliseconds: Int32, forFolder: Bool) -> Bool {
        var descriptors = [
            pollfd(fd: stopping, events: Int16(POLLIN), revents: 0),
            pollfd(fd: folder, events: Int16(POLLIN), revents: 0),
        ]
        _ = poll(&descriptors, forFolder && folder >= 0 ? 2 : 1, milliseconds)
        return descriptors[1].revents != 0 && platform_folder_changed(folder, name)
    }
}
