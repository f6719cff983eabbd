import CorestoneGraph
import Glibc

extension StoreLocation {
    /// The process that has the write-ahead log at this path open for a store that was moved elsewhere.
    ///
    /// nil if there is no such process, or if the system does not have a list of locks.
    ///
    /// Every reader and writer of a log locks byte 128 of its index, the `-shm` file (`UNIX_SHM_DMS` of SQLite's
    /// `os_unix.c`). The lock is looked up in the kernel's list of locks, not in the file. Closing a descriptor of the
    /// file would release the locks of this process.
    var processUsingLog: Int32? {
        var status = stat()
        guard stat(path + "-shm", &status) == 0 else { return nil }
        let index = ":\(status.st_ino)"
        // 1: POSIX  ADVISORY  READ 4711 08:01:1234 128 128
        for line in Self.locks().split(separator: UInt8(ascii: "\n")) {
            let words = line.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
            guard words.count == 8, words[1] == "POSIX", words[5].hasSuffix(index), let process = Int32(words[4]),
                let first = Int(words[6]), let last = Int(words[7]), first...max(first, last) ~= 128
            else { continue }
            if !hasDeletedFile(process) { return process }
        }
        return nil
    }

    private static func locks() -> [UInt8] {
        let descriptor = open("/proc/locks", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var list: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65536)
        while case let count = read(descriptor, &part, part.count), count > 0 { list += part[..<count] }
        return list
    }

    /// Whether a process has the deleted file of this path open. If so, the log belongs to the deleted store.
    private func hasDeletedFile(_ process: Int32) -> Bool {
        let folder = "/proc/\(process)/fd"
        guard let entries = opendir(folder) else { return false }
        defer { closedir(entries) }
        let wanted = Array("\(path) (deleted)".utf8)
        var goal = [CChar](repeating: 0, count: Int(PATH_MAX) + 16)
        while let entry = readdir(entries) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            let count = readlink("\(folder)/\(name)", &goal, goal.count)
            if count == wanted.count, goal[..<count].elementsEqual(wanted, by: { UInt8(bitPattern: $0) == $1 }) {
                return true
            }
        }
        return false
    }
}
