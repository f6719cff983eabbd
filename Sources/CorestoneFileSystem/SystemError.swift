import Glibc

/// An error of the operating system: its number (`errno`), its description, and the remedies in messages.
package struct SystemError: Hashable, Sendable {
    package let number: Int32

    package init(_ number: Int32) { self.number = number }

    /// The error of the last failed system call on the calling thread.
    package static var last: SystemError { SystemError(errno) }

    /// The system's description. Can be called on any thread, unlike `strerror`.
    package var text: String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard strerror_r(number, &buffer, buffer.count) == 0 else { return "error \(number)" }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Whether the path does not exist.
    package var isMissing: Bool { number == ENOENT || number == ENOTDIR }
    /// Whether the permissions do not allow the access.
    package var isDenied: Bool { number == EACCES || number == EPERM }
    /// Whether the permissions or the file system do not allow to write.
    package var isReadOnly: Bool { isDenied || number == EROFS }
    /// Whether the disk or the quota is full.
    package var isOutOfSpace: Bool { number == ENOSPC || number == EDQUOT }
    /// Whether the process or the system has too many open files.
    package var isOutOfDescriptors: Bool { number == EMFILE || number == ENFILE }
}

// MARK: - Remedies

// Each remedy begins with the semicolon that separates it from the problem, and is empty for other errors.
extension SystemError {
    package static let closeFiles = "close other files, or raise the limit of open files (ulimit -n)"

    /// The remedy if too many files are open.
    package var remedyForDescriptors: String { isOutOfDescriptors ? "; \(SystemError.closeFiles)" : "" }

    /// Returns the remedy for a file or folder that cannot be read.
    ///
    /// - Parameters:
    ///   - file: The file or folder in the remedy.
    ///   - lost: The remedy for a file that is lost; nil without a remedy.
    package func remedyForReading(
        _ file: String = "the file", lost: String? = "restore the file from a backup"
    ) -> String {
        if isDenied {
            return "; grant read permission on \(file) and search permission on the folders of its path"
        }
        if let lost, [EIO, ELOOP, ENODATA].contains(number) { return "; \(lost)" }
        return remedyForDescriptors
    }

    /// Returns the remedy for a path whose existence or status cannot be determined.
    ///
    /// That requires only search permission on the folders of the path.
    ///
    /// - Parameter lost: The remedy for a file that is lost; nil without a remedy.
    package func remedyForFinding(lost: String? = nil) -> String {
        isDenied ? "; grant search permission on the folders of the path" : remedyForReading(lost: lost)
    }

    /// Returns the remedy for a file or folder that cannot be written, created or removed.
    ///
    /// - Parameters:
    ///   - folder: The folder that contains the file.
    ///   - rest: The end of the remedy.
    package func remedyForWriting(in folder: String = "its folder", _ rest: String = "") -> String {
        // For example, the file belongs to another user, in a folder with the sticky bit.
        if number == EPERM { return "; check the permissions of the file and of \(folder)\(rest)" }
        if isReadOnly { return "; make \(folder) writable\(rest)" }
        if isOutOfSpace { return "; free some space\(rest)" }
        return remedyForDescriptors
    }

    /// The remedy for a temporary file that cannot be created or written.
    ///
    /// Empty for an error that another folder does not prevent.
    package var remedyForTemporaryFile: String {
        if isOutOfDescriptors { return remedyForDescriptors }
        return number == EIO || number == ENOMEM ? "" : "; set TMPDIR to a writable folder with free space"
    }
}
