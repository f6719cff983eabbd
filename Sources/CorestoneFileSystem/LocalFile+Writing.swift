import CorestoneValues
import Glibc

extension LocalFile {
    /// Creates or replaces the file atomically: readers find the complete old or new file, even after a crash.
    ///
    /// - Parameters:
    ///   - permissions: the permissions; nil for those of the existing file, or for a new file those of the process's
    ///     mask.
    ///   - isAboutToReplace: receives the path of the complete draft just before the draft is renamed.
    ///   - progress: receives the number of bytes written. If this function or `isAboutToReplace` throws, the existing
    ///     file stays unchanged.
    package func write(
        _ bytes: [UInt8], permissions: FilePermissions? = nil, isAboutToReplace: (String) throws -> Void = { _ in },
        progress: (_ written: Int) throws -> Void = { _ in }
    ) throws {
        let draft = self.draft
        // Opening the folder can fail, so it is opened before the old file is replaced.
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

    /// Removes the drafts and work folders that crashed processes left next to the file.
    ///
    /// Other processes must not write the file meanwhile.
    package func removeDrafts() {
        for path in drafts where unlink(path) != 0 { WorkFolder.removeAbandoned(path) }
    }

    /// Removes the work folders that crashed processes left next to the file. Those of running processes stay.
    package func removeAbandonedFolders() { drafts.forEach(WorkFolder.removeAbandoned) }

    private var drafts: [String] {
        let (start, end) = (".\(name).", LocalFile.endOfDraft)
        return ((try? folder.entries()) ?? []).compactMap { entry in
            guard entry.hasPrefix(start), entry.hasSuffix(end) else { return nil }
            // Skips drafts of a file whose name only begins with this name.
            let middle = entry.dropFirst(start.count).dropLast(end.count)
            return UInt64(middle, radix: 36) == nil ? nil : folder.child(entry).path
        }
    }

    /// Creates a folder next to the file, for the temporary files of an operation that replaces the file.
    ///
    /// `removeDrafts` removes the folder after a crash. Returns nil if the folder cannot be created, with the reason in
    /// `errno`.
    package func workFolder() -> WorkFolder? {
        WorkFolder(start: folder.child(".\(name).").path, end: LocalFile.endOfDraft)
    }

    /// A file with an unused name next to this file. Its errors name this file.
    var draft: LocalFile {
        let name = ".\(name).\(String(UInt64.random(in: .min ... .max), radix: 36))\(LocalFile.endOfDraft)"
        return LocalFile(folder.child(name).path, shownAs: shown)
    }

    private static let endOfDraft = ".corestone-part"

    /// The maximum length of a file name in bytes.
    ///
    /// The name of the file's draft then does not exceed 255 bytes, the limit of most file systems.
    package static let longestName = 255 - 15 - endOfDraft.utf8.count

    /// The maximum number of bytes between two calls of a progress function.
    private static let bytesAtATime = 1 << 20

    /// Creates a file and flushes it to disk.
    ///
    /// - Parameter permissions: the permissions; nil for those of the process's mask.
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
                let size = min(buffer.count - place, LocalFile.bytesAtATime)
                let count = Glibc.write(descriptor, buffer.baseAddress.map { $0 + place }, size)
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { throw systemFailure("cannot be written") }
                place += count
                try progress(place)
            }
        }
        permissions?.apply(to: descriptor)
        guard fsync(descriptor) == 0 else { throw systemFailure("cannot be flushed to disk") }
    }

    /// Flushes the entries of the folder to disk.
    func synchronize() throws {
        let descriptor = try opened()
        defer { close(descriptor) }
        try synchronize(descriptor)
    }

    private func opened() throws -> Int32 {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let error = SystemError.last
            throw failure(
                "cannot be opened: \(error.text)"
                    + (error.isMissing ? "; check the path" : error.remedyForReading("the folder", lost: nil)))
        }
        return descriptor
    }

    private func synchronize(_ descriptor: Int32) throws {
        // Some file systems do not support this for folders.
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw systemFailure("cannot be flushed to disk") }
    }

    /// Creates the error for the last failed system call, which was to create or write the file.
    package func systemFailure(_ problem: String) -> CoreError {
        let error = SystemError.last
        return failure(
            "\(problem): \(error.text)" + (error.isMissing ? "; check the path" : error.remedyForWriting()))
    }
}
