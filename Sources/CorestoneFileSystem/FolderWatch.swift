import CPlatform
import CorestoneValues
import Glibc

/// The watcher of a file: a thread that runs a check after each reported write, and at intervals.
///
/// Writes to files whose names begin with the file's name and a hyphen are included.
///
/// The file system may report a write before its content is visible. The check is therefore repeated after pauses that
/// increase up to the longest pause. The longest pause is short if the file system does not report the writes of all
/// processes.
package final class FolderWatch: @unchecked Sendable {
    /// The result of a check.
    package enum Check {
        /// No changes of other writers are visible yet.
        case unchanged
        /// There are changes of other writers. The thread then calls `report`.
        case changed(report: () -> Void)
        /// The thread must end.
        case stopped
    }

    private let name: String
    /// A descriptor that is readable when the thread must end.
    private let stopping: Int32
    /// The error code if `stopping` could not be created; otherwise 0.
    private let failure: Int32
    /// A descriptor that is readable after an event in the folder; -1 if events cannot or must not be used.
    private let folder: Int32
    /// The longest pause in milliseconds.
    private let longest: Int32

    /// The shortest pause between two checks in milliseconds.
    private static let shortest: Int32 = 10
    /// The name of the thread, as `top -H` shows it.
    package static let threadName = "corestone watch"

    /// Creates a watcher, whose thread is not yet started.
    ///
    /// - Parameters:
    ///   - path: The path of the file, without symbolic links.
    ///   - usesEvents: Whether to use events of the file system; false simulates a file system without notifications.
    ///   - interval: The longest pause in milliseconds; 0 for the default.
    package init(_ path: String, usesEvents: Bool = true, interval: Int32 = 0) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        name = parts.last.map(String.init) ?? path
        let joined = parts.dropLast().joined(separator: "/")
        let place = joined.isEmpty ? "/" : joined
        stopping = platform_event_new()
        failure = stopping < 0 ? errno : 0
        folder = usesEvents ? platform_folder_watch(place) : -1
        let reportsWrites = folder >= 0 && platform_folder_reports_writes(place)
        longest = interval > 0 ? interval : reportsWrites ? 30_000 : 500
    }

    deinit {
        if stopping >= 0 { close(stopping) }
        if folder >= 0 { close(folder) }
    }

    private final class Work {
        let watch: FolderWatch
        let check: @Sendable () -> Check

        init(_ watch: FolderWatch, _ check: @escaping @Sendable () -> Check) {
            (self.watch, self.check) = (watch, check)
        }
    }

    /// Starts the thread, which retains `check` until `check` returns `.stopped`.
    ///
    /// - Throws: `.noMemory` if the thread cannot be created, or if the event descriptor could not be created.
    package func start(_ path: String, check: @escaping @Sendable () -> Check) throws {
        let work = Unmanaged.passRetained(Work(self, check))
        let code =
            stopping < 0
            ? failure
            : platform_start_thread(
                { work in
                    if let work {
                        let work = Unmanaged<Work>.fromOpaque(work).takeRetainedValue()
                        work.watch.run(work.check)
                    }
                    return nil
                }, work.toOpaque())
        guard code == 0 else {
            work.release()
            throw failure(path, code)
        }
    }

    /// Returns the error for a watcher that could not be started.
    private func failure(_ path: String, _ code: Int32) -> CoreError {
        let remedy =
            switch code {
            case EMFILE: SystemError.closeFiles
            case ENFILE: "close files of other processes, or raise the system's limit (fs.file-max)"
            case EAGAIN: "end other threads, or raise the limit of threads (ulimit -u)"
            default: "free some memory"
            }
        return CoreError(
            .noMemory, code: .persistentStoreOperation,
            "cannot create \(stopping < 0 ? "an event descriptor" : "a watcher thread") for remote changes of \(path): "
                + "\(SystemError(code).text); \(remedy)",
            file: path)
    }

    /// Wakes the thread. To end it, the check must then return `.stopped`.
    package func stop() { if stopping >= 0 { platform_event_signal(stopping) } }

    private func run(_ check: () -> Check) {
        platform_set_thread_name(platform_thread_id(), FolderWatch.threadName)
        var pause = longest
        while true {
            if wait(pause, forFolder: true) { pause = FolderWatch.shortest }
            switch withCallScope(check) {
            case .stopped: return
            case .unchanged: pause = pause < longest / 2 ? pause * 2 : longest
            case .changed(let report):
                pause = FolderWatch.shortest
                withCallScope(report)
            }
            _ = wait(FolderWatch.shortest, forFolder: false)
        }
    }

    /// Waits for an event. Returns whether the file system reported a write before the time-out.
    private func wait(_ milliseconds: Int32, forFolder: Bool) -> Bool {
        var descriptors = [
            pollfd(fd: stopping, events: Int16(POLLIN), revents: 0),
            pollfd(fd: folder, events: Int16(POLLIN), revents: 0),
        ]
        _ = poll(&descriptors, forFolder && folder >= 0 ? 2 : 1, milliseconds)
        return descriptors[1].revents != 0 && platform_folder_changed(folder, name)
    }
}
