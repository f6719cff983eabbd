import Glibc

/// A folder for temporary files, which is removed with its contents when the object is deallocated.
///
/// The object holds a lock on a file in the folder. A folder without a lock belonged to a process that has ended;
/// `removeAbandoned` removes it.
package final class WorkFolder {
    package let path: String
    private let lock: Int32

    /// Creates a folder that only this user can enter.
    ///
    /// Returns nil if the folder cannot be created, with the reason in `errno`.
    ///
    /// - Parameters:
    ///   - start: the path of the folder up to the random part of its name.
    ///   - end: the end of the name.
    package init?(start: String, end: String = "") {
        while true {
            let path = "\(start)\(String(UInt64.random(in: .min ... .max), radix: 36))\(end)"
            guard mkdir(path, 0o700) == 0 else {
                if errno == EEXIST { continue }
                return nil
            }
            let lock = open("\(path)/\(WorkFolder.lockName)", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
            if lock < 0 {
                if errno == ENOENT { continue }
                let reason = errno
                rmdir(path)
                errno = reason
                return nil
            }
            // Another process may have found the folder before the lock was set, and removed it.
            flock(lock, LOCK_SH)
            var status = stat()
            if fstat(lock, &status) == 0, status.st_nlink > 0 {
                (self.path, self.lock) = (path, lock)
                return
            }
            close(lock)
        }
    }

    deinit {
        WorkFolder.remove(path)
        close(lock)
    }

    private static let lockName = ".lock"

    /// Removes a folder, and its lock file last: as long as other files are left, it counts as a work folder.
    private static func remove(_ path: String) {
        for name in FolderNames(path).map(Array.init) ?? [] where name != lockName { removeTree(at: "\(path)/\(name)") }
        removeTree(at: path)
    }

    /// Creates a folder in `temporaryFolder`, and removes those of this prefix that crashed processes left.
    ///
    /// Returns nil if the folder cannot be created, with the reason in `errno`.
    package static func temporary(_ prefix: String) -> WorkFolder? {
        for name in FolderNames(temporaryFolder).map(Array.init) ?? [] where name.hasPrefix(prefix) {
            // Skips folders of the user that have other names with this prefix.
            guard UInt64(name.dropFirst(prefix.count), radix: 36) != nil else { continue }
            removeAbandoned("\(temporaryFolder)/\(name)")
        }
        return WorkFolder(start: "\(temporaryFolder)/\(prefix)")
    }

    /// Removes a work folder of this user that no process has locked.
    ///
    /// A folder without the lock file is not removed, unless it is empty. A process that ended just after creating a
    /// work folder, or just before removing one, left it empty. A running process whose folder is removed before it
    /// creates the lock file creates another folder.
    package static func removeAbandoned(_ path: String) {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid() else { return }
        if rmdir(path) == 0 { return }
        let lock = open("\(path)/\(lockName)", O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard lock >= 0 else { return }
        defer { close(lock) }
        if flock(lock, LOCK_EX | LOCK_NB) == 0 { remove(path) }
    }
}
