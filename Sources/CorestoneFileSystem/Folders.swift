import Glibc

/// The names of a folder's entries, in no particular order, without `.` and `..`.
///
/// The sequence can be iterated only once, by one thread at a time.
package final class FolderNames: Sequence, IteratorProtocol {
    private let stream: OpaquePointer

    /// Opens a folder. Returns nil if it cannot be read, with the reason in `errno`.
    package init?(_ path: String) {
        guard let stream = opendir(path) else { return nil }
        self.stream = stream
    }

    deinit { closedir(stream) }

    /// The descriptor of the open folder, for functions such as `fstatat`.
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

/// Removes a file, or a folder with its contents, as far as permissions allow.
///
/// Symbolic links are removed, not followed.
package func removeTree(at path: String) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return }
    guard status.st_mode & S_IFMT == S_IFDIR else {
        unlink(path)
        return
    }
    for name in FolderNames(path).map(Array.init) ?? [] { removeTree(at: "\(path)/\(name)") }
    rmdir(path)
}

/// The folder for temporary files: `TMPDIR`, or `/tmp` if that is not set.
package var temporaryFolder: String { getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp" }
