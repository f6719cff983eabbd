import CPlatform
import CorestoneGraph
import CorestoneValues
import Glibc

/// A mark on a write-ahead log that names its file.
///
/// SQLite finds a log by the name of the file alone. The log of a store that is renamed, removed or replaced while it is open would
/// so become the log of the next file of that name, and the rows of two stores would mix. The mark is an extended attribute of the
/// log, which SQLite and Apple's framework ignore. A file system without extended attributes keeps no marks.
struct LogMark: Equatable {
    private let log: FileNumber
    private let file: FileNumber

    private static let attribute = "user.corestone.file"
    private static let longest = 100

    /// The mark that the log beside a file should have; nil without a log.
    init?(fileAt path: String) {
        guard let log = FileNumber(path + "-wal"), let file = FileNumber(path) else { return nil }
        (self.log, self.file) = (log, file)
    }

    /// The mark of the log beside a file; nil for a log without one, and for a copy of a marked log.
    private init?(readBeside path: String) {
        var text = [UInt8](repeating: 0, count: LogMark.longest)
        let count = platform_attribute(path + "-wal", LogMark.attribute, &text, text.count)
        let numbers = text.prefix(count).split(separator: UInt8(ascii: " ")).map {
            FileNumber(text: String(decoding: $0, as: UTF8.self))
        }
        guard numbers.count == 2, let log = numbers[0], let file = numbers[1], log == FileNumber(path + "-wal") else {
            return nil
        }
        (self.log, self.file) = (log, file)
    }

    /// Marks the log beside a file.
    func write(besideFileAt path: String) {
        guard LogMark(readBeside: path) != self else { return }
        let text = Array("\(log.text) \(file.text)".utf8)
        _ = platform_set_attribute(path + "-wal", LogMark.attribute, text, text.count)
    }

    /// Whether the log beside a file is marked as the log of another file.
    static func isOfAnotherFile(beside path: String) -> Bool {
        guard let mark = LogMark(readBeside: path), let file = FileNumber(path) else { return false }
        return mark.file != file
    }

    /// Removes an empty log of another file. A process that has that file open does not write into the log, since the file has lost its name.
    static func removeEmptyLogOfAnotherFile(beside place: StorePlace) {
        if !place.hasCompanion("-wal"), isOfAnotherFile(beside: place.path) { removeLog(beside: place.path) }
    }

    private static func removeLog(beside path: String) {
        unlink(path + "-shm")
        unlink(path + "-wal")
    }

    /// Brings the log of a file that has lost its name after it: to its new name, or away with it.
    ///
    /// - Parameter path: the former name. The file is still open.
    /// - Returns: false if the log stays where it is.
    func follow(from path: String) -> Bool {
        guard LogMark(readBeside: path) == self, let (newPath, isRemoved) = whereabouts else { return false }
        if isRemoved {
            LogMark.removeLog(beside: path)
            return true
        }
        guard platform_rename_new(path + "-wal", newPath + "-wal") else { return false }
        _ = platform_rename_new(path + "-shm", newPath + "-shm")
        return true
    }

    /// The path of the open file, and whether it has no name any more; nil if the system does not tell.
    private var whereabouts: (path: String, isRemoved: Bool)? {
        for descriptor in FolderNames("/proc/self/fd").map(Array.init) ?? [] {
            let link = "/proc/self/fd/\(descriptor)"
            guard FileNumber(link) == file else { continue }
            if FileNumber.names(ofFileAt: link) == 0 { return ("", true) }
            guard let path = realpath(link, nil) else { continue }
            defer { free(path) }
            let current = String(cString: path)
            if FileNumber(current) == file { return (current, false) }
        }
        return nil
    }
}

/// A file's number with the time of its creation: numbers of removed files are given to new ones.
private struct FileNumber: Equatable {
    private let number: UInt64
    private let created: Int64

    init?(_ path: String) {
        var (number, created, names): (UInt64, Int64, UInt32) = (0, 0, 0)
        guard platform_file_facts(path, &number, &created, &names) else { return nil }
        (self.number, self.created) = (number, created)
    }

    init?(text: String) {
        let parts = text.split(separator: "@")
        guard parts.count == 2, let number = UInt64(parts[0]), let created = Int64(parts[1]) else { return nil }
        (self.number, self.created) = (number, created)
    }

    var text: String { "\(number)@\(created)" }

    static func names(ofFileAt path: String) -> UInt32 {
        var (number, created, names): (UInt64, Int64, UInt32) = (0, 0, 0)
        return platform_file_facts(path, &number, &created, &names) ? names : 0
    }
}
