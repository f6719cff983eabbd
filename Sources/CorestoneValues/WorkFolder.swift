import Glibc

/// A folder for temporary files, which is removed with everything in it at the end.
///
/// It holds a lock (`flock`) on the folder. A folder without one was left by a process that ended, and `removeAbandoned`
/// removes it.
package final class WorkFolder {
    package let path: String
    private let descriptor: Int32

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
            let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            if descriptor < 0 {
                if errno == ENOENT { continue }
                let reason = errno
                rmdir(path)
                errno = reason
                return nil
            }
            // Another process may have found the folder before it was locked, and removed it.
            flock(descriptor, LOCK_SH)
            var facts = stat()
            if fstat(descriptor, &facts) == 0, facts.st_nlink > 0 {
                (self.path, self.descriptor) = (path, descriptor)
                return
            }
            close(descriptor)
        }
    }

    deinit {
        removeTree(at: path)
        close(descriptor)
    }

    /// Removes a folder of this user that no process has locked.
    package static func removeAbandoned(_ path: String) {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_uid == geteuid(), flock(descriptor, LOCK_EX | LOCK_NB) == 0
        else {
            return
        }
        removeTree(at: path)
    }
}
