import Corestone
import CorestoneFileSystem
import Glibc

/// A position in a file.
struct FilePlace: CustomStringConvertible {
    let file: String
    let line: Int

    var description: String { "\(file):\(line)" }
}

/// A reader of a file or standard input byte by byte, which counts lines and columns.
final class ByteSource {
    /// The name for messages.
    let name: String
    /// The maximum length of a line, an object or a field, in bytes.
    static let longest = 1 << 30
    /// The total size in bytes; 0 if it is unknown.
    let size: Int
    private(set) var done = 0
    private var line = 1
    /// The column of the next byte, in characters, starting at 1.
    private(set) var column = 1
    var position: FilePlace { FilePlace(file: name, line: line) }
    private static let standardInput = "standard input"
    private let descriptor: Int32
    private var buffer = [UInt8](repeating: 0, count: 256 << 10)
    private var place = 0
    private var count = 0

    /// Opens a file.
    ///
    /// - Parameter path: The path; "-" is standard input.
    init(_ path: String) throws {
        name = path == "-" ? ByteSource.standardInput : path
        descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw ByteSource.failure(path) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw ByteSource.failure(name) }
        guard status.st_mode & S_IFMT != S_IFDIR else {
            throw CoreError(
                .storeIO, "\(name) is a folder, not a file; pass the files in it", file: path == "-" ? nil : path)
        }
        size = status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : 0
    }

    deinit { if descriptor != STDIN_FILENO { close(descriptor) } }

    /// Returns the next byte without consuming it; nil at the end.
    func peek() throws -> UInt8? {
        if place == count { try fill() }
        return place < count ? buffer[place] : nil
    }

    func next() throws -> UInt8? {
        guard let byte = try peek() else { return nil }
        place += 1
        done += 1
        // CR without LF also ends a line.
        if byte == 0x0A {
            (line, column) = (line + 1, 1)
        } else if byte == 0x0D {
            if try peek() != 0x0A { (line, column) = (line + 1, 1) }
        } else if byte & 0xC0 != 0x80 {
            column += 1
        }
        return byte
    }

    /// Reads the rest of the line, and consumes its end (LF, CRLF or CR).
    func readLine(into bytes: inout [UInt8]) throws {
        let start = position
        while try peek() != nil {
            let end = buffer[place..<count].firstIndex { $0 == 0x0A || $0 == 0x0D } ?? count
            bytes += buffer[place..<end]
            done += end - place
            place = end
            if bytes.count > ByteSource.longest {
                throw LoadFailure(
                    line: start,
                    message: "the line exceeds 1 GB, the limit for one object; put each object on its own line, "
                        + "or shorten its values")
            }
            guard end < count else { continue }
            if try next() == 0x0D, try peek() == 0x0A { _ = try next() }
            return
        }
    }

    /// Skips a UTF-8 byte order mark.
    func skipMark() throws {
        if place == count { try fill() }
        guard count - place >= 3, buffer[place..<place + 3].elementsEqual([0xEF, 0xBB, 0xBF]) else { return }
        place += 3
        done += 3
    }

    private func fill() throws {
        place = 0
        repeat {
            count = read(descriptor, &buffer, buffer.count)
            if count < 0 && errno == EINTR { try Interruption.check() }
        } while count < 0 && errno == EINTR
        guard count >= 0 else {
            count = 0
            throw ByteSource.failure(name)
        }
    }

    private static func failure(_ path: String) -> CoreError {
        let error = SystemError.last
        let remedy =
            path == standardInput
            ? "; redirect a file to it, or pass FILE"
            : error.isMissing ? "; check the path" : error.remedyForReading(lost: nil)
        return CoreError(
            .storeIO, "cannot read \(path): \(error.text)\(remedy)",
            file: path == standardInput ? nil : path)
    }
}
