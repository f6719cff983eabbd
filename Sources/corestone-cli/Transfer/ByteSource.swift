import Corestone
import Glibc

/// Where something stands in a file.
struct FilePlace: CustomStringConvertible {
    let file: String
    let line: Int

    var description: String { "\(file):\(line)" }
}

/// The bytes of a file or of standard input, one after the other, with the number of the line.
final class ByteSource {
    /// For messages.
    let name: String
    /// Bytes of the whole; 0 where nobody knows.
    let size: Int
    private(set) var done = 0
    private var line = 1
    var position: FilePlace { FilePlace(file: name, line: line) }
    private let descriptor: Int32
    private var buffer = [UInt8](repeating: 0, count: 256 << 10)
    private var place = 0
    private var count = 0

    /// - Parameter path: "-" is standard input.
    init(_ path: String) throws {
        name = path == "-" ? "standard input" : path
        descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw ByteSource.failure(path) }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT != S_IFDIR else {
            throw CoreError(.storeIO, "\(path) is a folder; name the files in it", file: path)
        }
        size = facts.st_mode & S_IFMT == S_IFREG ? Int(facts.st_size) : 0
    }

    deinit { if descriptor != STDIN_FILENO { close(descriptor) } }

    /// nil at the end.
    func peek() throws -> UInt8? {
        if place == count { try fill() }
        return place < count ? buffer[place] : nil
    }

    func next() throws -> UInt8? {
        guard let byte = try peek() else { return nil }
        place += 1
        done += 1
        if byte == 0x0A { line += 1 }
        return byte
    }

    private func fill() throws {
        place = 0
        repeat {
            count = read(descriptor, &buffer, buffer.count)
        } while count < 0 && errno == EINTR
        guard count >= 0 else {
            count = 0
            throw ByteSource.failure(name)
        }
    }

    private static func failure(_ path: String) -> CoreError {
        CoreError(.storeIO, "\(path) cannot be read: \(String(cString: strerror(errno)))", file: path)
    }
}
