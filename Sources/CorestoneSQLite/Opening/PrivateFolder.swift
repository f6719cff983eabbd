import CorestoneValues
import Glibc

/// A folder under TMPDIR for the private copy of a store. It is emptied and removed as soon as the copy is open, since
/// an open file needs no name; what a crash left behind, the next one that is made removes.
final class PrivateFolder {
    let path: String
    /// Keeps a lock on the folder, by which others see that it is in use.
    private let descriptor: Int32

    private static let prefix = "corestone-copy-"
    /// What a copy consists of.
    private static let names = ["store", "store-wal", "store-journal", "store-shm"]
    /// A folder that was made just now may not be locked yet.
    private static let youngestRemains = 60

    static var parent: String { getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp" }

    /// nil, and `errno` says why, when no folder can be made.
    init?() {
        PrivateFolder.removeRemains()
        var template = Array("\(PrivateFolder.parent)/\(PrivateFolder.prefix)XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { return nil }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let reason = errno
            rmdir(path)
            errno = reason
            return nil
        }
        flock(descriptor, LOCK_SH | LOCK_NB)
    }

    deinit {
        PrivateFolder.empty(path)
        rmdir(path)
        close(descriptor)
    }

    private static func empty(_ path: String) { for name in names { unlink("\(path)/\(name)") } }

    /// Folders whose process ended before it could remove them.
    private static func removeRemains() {
        guard let names = FolderNames(parent) else { return }
        for name in names where name.hasPrefix(prefix) { removeIfLeft("\(parent)/\(name)") }
    }

    private static func removeIfLeft(_ path: String) {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_uid == geteuid(),
            facts.st_mtim.tv_sec < time(nil) - youngestRemains, flock(descriptor, LOCK_EX | LOCK_NB) == 0
        else { return }
        empty(path)
        rmdir(path)
    }
}
