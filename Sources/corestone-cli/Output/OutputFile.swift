import Corestone
import CorestoneFileSystem
import Glibc

/// A file that the tool replaces atomically if its content changes. Devices, pipes and sockets are written to directly.
struct OutputFile {
    let path: String

    /// The extension of the name, in lower case.
    var kind: String {
        let name = path.split(separator: "/").last ?? ""
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return "" }
        return name[name.index(after: dot)...].lowercased()
    }

    /// Throws unless the name has one of two extensions.
    func require(_ usual: String, or other: String, for format: String) throws {
        guard kind == usual || kind == other else {
            throw UsageError("\(path) does not have the extension of a \(format); use .\(usual) or .\(other)")
        }
    }

    /// Returns the path with another extension.
    func path(as kind: String) -> String {
        var stem = path
        while stem.count > 1, stem.hasSuffix("/") { stem.removeLast() }
        if !self.kind.isEmpty { stem.removeLast(self.kind.count + 1) }
        return "\(stem).\(kind)"
    }

    /// Whether the path is a device, a pipe or a socket, which must be written to directly instead of being replaced.
    var isSpecial: Bool {
        var status = stat()
        return stat(path, &status) == 0 && ![S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT)
    }

    /// The path after following symbolic links, so that these are kept.
    private var place: String {
        var place = path
        for _ in 0..<40 {
            var link = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
            guard readlink(place, &link, link.count - 1) > 0 else { break }
            let target = link.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
            let folder = place.lastIndex(of: "/").map { String(place[...$0]) } ?? ""
            place = target.hasPrefix("/") ? target : folder + target
        }
        return place
    }

    /// The temporary path to which the file is written before it is renamed.
    var draft: String { place + ".\(getpid()).tmp" }

    /// Renames the draft to the path of the file.
    func commitDraft() throws {
        guard rename(draft, place) == 0 else {
            let reason = OutputFile.reason
            unlink(draft)
            throw failure(reason)
        }
    }

    /// Writes the file.
    ///
    /// - Returns: Whether the content changed, so that the file was written.
    @discardableResult
    func write(_ text: String) throws -> Bool {
        if !isSpecial, let content, content.elementsEqual(text.utf8) { return false }
        let file = try TextFile(path)
        try file.data(text)
        try file.finish()
        try file.commit()
        return true
    }

    /// Writes the file from pieces of lines. Returns whether the content changed.
    func write(_ pieces: AnySequence<[String]>) throws -> Bool {
        let rest = pieces.makeIterator()
        guard let first = rest.next() else { return try write("") }
        func text(_ lines: [String]) -> String { lines.map { $0 + "\n" }.joined() }
        guard var next = rest.next() else { return try write(text(first)) }
        let file = try TextFile(path)
        try file.data(text(first))
        while true {
            try file.data(text(next))
            guard let more = rest.next() else { break }
            next = more
        }
        try file.finish()
        if !isSpecial, hasContent(ofFileAt: draft) { return false }
        try file.commit()
        return true
    }

    /// Whether another file has the same bytes.
    private func hasContent(ofFileAt other: String) -> Bool {
        guard let file = fopen(path, "rb") else { return false }
        defer { fclose(file) }
        guard let otherFile = fopen(other, "rb") else { return false }
        defer { fclose(otherFile) }
        var (a, b) = ([UInt8](repeating: 0, count: 64 << 10), [UInt8](repeating: 0, count: 64 << 10))
        while true {
            let count = fread(&a, 1, a.count, file)
            guard fread(&b, 1, b.count, otherFile) == count, a[..<count] == b[..<count] else { return false }
            if count == 0 { return true }
        }
    }

    static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Removes the folder of a model version with its files.
    ///
    /// Fails if the folder contains folders, because it is then not a version.
    func removeFolder() throws {
        guard let folder = opendir(path) else { throw removalFailure(errno) }
        let names = OutputFile.names(in: folder)
        for name in names { unlink("\(path)/\(name)") }
        guard rmdir(path) == 0 else { throw removalFailure(errno) }
    }

    /// Returns the names in a folder, and closes it.
    private static func names(in folder: OpaquePointer) -> [String] {
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        closedir(folder)
        return names
    }

    /// Removes a folder and its contents. Errors are ignored.
    func removeTree() {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        if status.st_mode & S_IFMT == S_IFDIR, let folder = opendir(path) {
            for name in OutputFile.names(in: folder) { OutputFile(path: "\(path)/\(name)").removeTree() }
        }
        _ = remove(path)
    }

    var exists: Bool { access(path, F_OK) == 0 }

    /// The current content; nil if the file does not exist or cannot be read.
    private var content: [UInt8]? {
        guard let file = fopen(path, "rb") else { return nil }
        defer { fclose(file) }
        var (bytes, piece) = ([UInt8](), [UInt8](repeating: 0, count: 64 << 10))
        while case let count = fread(&piece, 1, piece.count, file), count > 0 { bytes += piece.prefix(count) }
        return bytes
    }

    /// The text of `errno`, with a remedy for a file that cannot be written.
    static var reason: String {
        let error = SystemError.last
        let remedy =
            switch error.number {
            case ENOENT: "; create its folder first"
            case ENOTDIR, EISDIR, EEXIST, ENAMETOOLONG, ELOOP, EINVAL, ETXTBSY: "; choose another path"
            default:
                error.remedyForWriting(error.isReadOnly ? ", or choose another path" : ", and run the command again")
            }
        return error.text + remedy
    }

    private func removalFailure(_ code: Int32) -> CoreError {
        let remedy =
            switch code {
            case _ where SystemError(code).isReadOnly: "; make it and the folder that contains it readable and writable"
            case ENOTEMPTY, EEXIST: "; remove the folders in it, or make it writable"
            default: ""
            }
        return CoreError(
            .storeIO, "cannot remove the folder \(path): \(SystemError(code).text)\(remedy)",
            file: path)
    }

    func failure(_ reason: String) -> CoreError {
        CoreError(.storeIO, "cannot write \(path): \(reason)", file: path)
    }
}
