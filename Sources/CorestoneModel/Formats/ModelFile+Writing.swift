import CorestoneValues
import Glibc

extension ModelFile {
    /// Puts a file there, or another one in the place of the one that is there: whoever opens it finds the whole of one or the
    /// other, also after a crash.
    ///
    /// - Parameters:
    ///   - permissions: nil for those of the file that is there; where none is, what the process's mask says.
    ///   - isAboutToReplace: gets the path under which all lies, a moment before it gets its name.
    ///   - progress: receives the bytes that are written. If it throws, the file stays as it is.
    package func write(
        _ bytes: [UInt8], permissions: FilePermissions? = nil, isAboutToReplace: (String) throws -> Void = { _ in },
        progress: (_ written: Int) throws -> Void = { _ in }
    ) throws {
        let draft = self.draft
        // Whatever can fail shall do so before the old file is gone.
        let folder = try self.folder.opened()
        defer { close(folder) }
        do {
            try draft.create(bytes, permissions ?? self.permissions, progress)
            try isAboutToReplace(draft.path)
            guard rename(draft.path, path) == 0 else { throw systemFailure("cannot be replaced") }
        } catch {
            unlink(draft.path)
            throw error
        }
        try self.folder.synchronize(folder)
    }

    /// Removes the drafts and folders beside the file that a crash left. Only while no process writes the file.
    package func removeDrafts() {
        for path in drafts where unlink(path) != 0 { WorkFolder.removeAbandoned(path) }
    }

    /// Removes the folders beside the file that a crash left. Those of processes that run stay.
    package func removeAbandonedFolders() { drafts.forEach(WorkFolder.removeAbandoned) }

    private var drafts: [String] {
        let (start, end) = (".\(name).", ModelFile.endOfDraft)
        return ((try? folder.entries()) ?? []).compactMap { entry in
            guard entry.hasPrefix(start), entry.hasSuffix(end) else { return nil }
            // Not those of a file whose name only begins like this one's.
            let middle = entry.dropFirst(start.count).dropLast(end.count)
            return UInt64(middle, radix: 36) == nil ? nil : folder.child(entry).path
        }
    }

    /// A folder beside the file, for work whose result replaces it. `removeDrafts` removes it if a crash leaves it.
    /// Returns nil if it cannot be created, and leaves the reason in `errno`.
    package func workFolder() -> WorkFolder? {
        WorkFolder(start: folder.child(".\(name).").path, end: ModelFile.endOfDraft)
    }

    /// A name beside it that nobody has; errors call it as the file itself.
    var draft: ModelFile {
        let name = ".\(name).\(String(UInt64.random(in: .min ... .max), radix: 36))\(ModelFile.endOfDraft)"
        return ModelFile(folder.child(name).path, shownAs: shown)
    }

    private static let endOfDraft = ".corestone-part"

    /// Bytes of a name beside which there is room for that of a draft, of 255 that file systems take.
    package static let longestName = 255 - 15 - endOfDraft.utf8.count

    /// Bytes between two calls of a progress function.
    private static let bytesAtATime = 1 << 20

    /// Writes a new file, down to the disk.
    /// - Parameter permissions: nil for what the process's mask says.
    func create(
        _ bytes: [UInt8], _ permissions: FilePermissions?, _ progress: (_ written: Int) throws -> Void = { _ in }
    ) throws {
        let mode: mode_t = permissions == nil ? 0o666 : 0o600
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw systemFailure("cannot be created") }
        defer { close(descriptor) }
        try bytes.withUnsafeBytes { buffer in
            var place = 0
            while place < buffer.count {
                let size = min(buffer.count - place, ModelFile.bytesAtATime)
                let count = Glibc.write(descriptor, buffer.baseAddress.map { $0 + place }, size)
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { throw systemFailure("cannot be written") }
                place += count
                try progress(place)
            }
        }
        permissions?.give(to: descriptor)
        guard fsync(descriptor) == 0 else { throw systemFailure("cannot be flushed to disk") }
    }

    /// Brings the names in a folder to the disk.
    func synchronize() throws {
        let descriptor = try opened()
        defer { close(descriptor) }
        try synchronize(descriptor)
    }

    private func opened() throws -> Int32 {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw systemFailure("cannot be opened") }
        return descriptor
    }

    private func synchronize(_ descriptor: Int32) throws {
        // Some file systems have no such thing for folders.
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw systemFailure("cannot be flushed to disk") }
    }

    func systemFailure(_ what: String) -> CoreError { failure("\(what): \(String(cString: strerror(errno)))") }
}
