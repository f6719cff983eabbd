import Glibc

/// The names in a folder, in no order, without `.` and `..`.
///
/// One pass only; one thread at a time.
package final class FolderNames: Sequence, IteratorProtocol {
    private let stream: OpaquePointer

    /// Returns nil if the folder cannot be read, and leaves the reason in `errno`.
    package init?(_ path: String) {
        guard let stream = opendir(path) else { return nil }
        self.stream = stream
    }

    deinit { closedir(stream) }

    /// The open folder, for `fstatat` and its kind.
    package var descriptor: Int32 { dirfd(stream) }

    package func next() -> String? {
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: entry.pointee.d_name)) {
                    String(cString: $0)
                }
            }
            if name != "." && name != ".." { return name }
        }
        return nil
    }
}

/// Removes a file, or a folder with everything in it, as far as that is permitted. Links are removed, not followed.
package func removeTree(at path: String) {
    var facts = stat()
    guard lstat(path, &facts) == 0 else { return }
    guard facts.st_mode & S_IFMT == S_IFDIR else {
        unlink(path)
        return
    }
    for name in FolderNames(path).map(Array.init) ?? [] { removeTree(at: "\(path)/\(name)") }
    rmdir(path)
}

/// The folder for temporary files: that of `TMPDIR`, else `/tmp`.
package var temporaryFolder: String { getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp" }
