import Glibc

/// A folder for temporary files, which is removed with everything in it at the end.
///
/// It holds a lock on a file in it. A folder without a lock was left by a process that ended, and `removeAbandoned` removes it.
package final class WorkFolder {
    package let path: String
    private let lock: Int32

    /// Creates a folder that only this user may enter.
    ///
    /// - Parameters:
    ///   - start: the path of the folder up to its random part.
    ///   - end: the end of its name.
    ///
    /// Returns nil if that fails, and leaves the reason in `errno`.
    package init?(start: String, end: String = "") {
        while true {
            let path = "\(start)\(String(UInt64.random(in: .min ... .max), radix: 36))\(end)"
            guard mkdir(path, 0o700) == 0 else {
                if errno == EEXIST { continue }
                return nil
            }
            let lock = WorkFolder.lockFile(path)
            if lock < 0 {
                if errno == ENOENT { continue }
                let reason = errno
                rmdir(path)
                errno = reason
                return nil
            }
            // Another process may have found the folder before it was locked, and removed it.
            flock(lock, LOCK_SH)
            var facts = stat()
            if fstat(lock, &facts) == 0, facts.st_nlink > 0 {
                (self.path, self.lock) = (path, lock)
                return
            }
            close(lock)
        }
    }

    deinit {
        removeTree(at: path)
        close(lock)
    }

    private static func lockFile(_ path: String) -> Int32 {
        open("\(path)/.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    }

    /// Removes a folder of this user that no process has locked.
    package static func removeAbandoned(_ path: String) {
        var facts = stat()
        guard lstat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFDIR, facts.st_uid == geteuid() else { return }
        let lock = lockFile(path)
        guard lock >= 0 else { return }
        defer { close(lock) }
        if flock(lock, LOCK_EX | LOCK_NB) == 0 { removeTree(at: path) }
    }
}
