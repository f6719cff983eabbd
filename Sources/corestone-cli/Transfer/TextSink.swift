import Corestone
import Glibc

/// A destination for text.
protocol TextSink: AnyObject {
    func data(_ text: String) throws
}

extension Output: TextSink {}

/// A file that is written in pieces to a temporary path, and renamed by `commit`.
final class TextFile: TextSink {
    private let file: OutputFile
    private let isSpecial: Bool
    private var descriptor: Int32
    private var isCommitted = false
    private var buffer: [UInt8] = []
    private static let capacity = 256 << 10

    init(_ path: String) throws {
        file = OutputFile(path: path)
        isSpecial = file.isSpecial
        // An existing draft is left from an earlier run, or is a link by which an attacker would redirect the output.
        if !isSpecial { unlink(file.draft) }
        descriptor =
            isSpecial
            ? open(path, O_WRONLY | O_CLOEXEC) : open(file.draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw file.failure(OutputFile.reason) }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
        if !isCommitted, !isSpecial { unlink(file.draft) }
    }

    func data(_ text: String) throws {
        try Interruption.check()
        buffer.append(contentsOf: text.utf8)
        if buffer.count >= TextFile.capacity { try flush() }
    }

    /// Writes the rest and closes the file.
    func finish() throws {
        try flush()
        close(descriptor)
        descriptor = -1
    }

    /// Renames the temporary file to the path. Without this call, the temporary file is deleted.
    func commit() throws {
        isCommitted = true
        if !isSpecial { try file.commitDraft() }
    }

    private func flush() throws {
        defer { buffer.removeAll(keepingCapacity: true) }
        try buffer.withUnsafeBytes { bytes in
            var done = 0
            while done < bytes.count {
                let count = Glibc.write(descriptor, bytes.baseAddress! + done, bytes.count - done)
                if count >= 0 {
                    done += count
                } else if errno != EINTR {
                    throw file.failure(OutputFile.reason)
                }
            }
        }
    }
}
