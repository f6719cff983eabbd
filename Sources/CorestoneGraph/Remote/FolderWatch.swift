import CPlatform
import CorestoneValues
import Glibc

/// A thread that sleeps until the file system tells that a file was written, or one beside it of which the name begins alike, and
/// then has somebody look what that was.
///
/// The file may tell before there is anything to be seen, so it looks again after a while, and after twice that while, until
/// something comes or the longest while is reached; which is short where the file system tells nothing.
package final class FolderWatch: @unchecked Sendable {
    package enum Sight {
        /// Nothing of others that can be seen yet.
        case nothing
        case changes(ForeignChanges)
        /// The thread shall end.
        case stopped
    }

    private let name: String
    /// Readable when the thread is to end.
    private let stopping: Int32
    /// Why there is no such descriptor.
    private let failure: Int32
    /// Readable when something happened in the folder; -1 where the system gives no such descriptor.
    private let folder: Int32
    /// Milliseconds.
    private let longest: Int32

    /// Milliseconds between two looks at least.
    private static let shortest: Int32 = 10
    /// The name of the thread, as `top -H` shows it.
    package static let threadName = "corestone watch"

    /// - Parameters:
    ///   - path: without symbolic links.
    ///   - listens: false for what it would be like where the file system tells nothing.
    ///   - interval: the longest while in milliseconds; 0 for the usual one.
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
        let tell: @Sendable (ForeignChanges) -> Void

        init(
            _ watch: FolderWatch, _ look: @escaping @Sendable () -> Sight,
            _ tell: @escaping @Sendable (ForeignChanges) -> Void
        ) { (self.watch, self.look, self.tell) = (watch, look, tell) }
    }

    /// Begins to look. What is given is kept until `look` says that the thread shall end.
    ///
    /// - Throws: `.noMemory` when the system gives no thread.
    package func start(
        _ path: String, look: @escaping @Sendable () -> Sight, tell: @escaping @Sendable (ForeignChanges) -> Void
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
                    + "changes are not reported: \(StorePlace.text(of: code))"
                    + (stopping < 0
                        ? "; close other files, or raise the limit of open files (ulimit -n)"
                        : "; end other threads or raise the thread limit"),
                file: path)
        }
    }

    /// Has the thread look, which then is to end.
    package func stop() { if stopping >= 0 { platform_event_signal(stopping) } }

    private func run(_ look: () -> Sight, _ tell: (ForeignChanges) -> Void) {
        platform_set_thread_name(platform_thread_id(), FolderWatch.threadName)
        var pause = longest
        while true {
            if wait(pause, forFolder: true) { pause = FolderWatch.shortest }
            switch asCall(look) {
            case .stopped: return
            case .nothing: pause = pause < longest / 2 ? pause * 2 : longest
            case .changes(let changes):
                pause = FolderWatch.shortest
                asCall { tell(changes) }
            }
            _ = wait(FolderWatch.shortest, forFolder: false)
        }
    }

    /// Whether the folder told of the file before the time was over.
    private func wait(_ milliseconds: Int32, forFolder: Bool) -> Bool {
        var descriptors = [
            pollfd(fd: stopping, events: Int16(POLLIN), revents: 0),
            pollfd(fd: folder, events: Int16(POLLIN), revents: 0),
        ]
        _ = poll(&descriptors, forFolder && folder >= 0 ? 2 : 1, milliseconds)
        return descriptors[1].revents != 0 && platform_folder_changed(folder, name)
    }
}
