import Corestone
import CorestoneFileSystem
import Glibc

/// Buffered standard output. If the reader of a pipe closes it early, the tool ends without an error.
///
/// All text on standard output goes through this class. In text for users, names and values from files cannot control
/// the terminal or begin a new line. Data for programs is not changed, because its format has escapes. On a terminal,
/// control characters are replaced in such data too.
final class Output {
    /// The reader of a pipe closed it.
    struct ReaderClosed: Error {}

    let isTerminal = isatty(STDOUT_FILENO) == 1
    /// Whether a program reads the output. A terminal and a file are for users.
    let isPipe = {
        var status = stat()
        return fstat(STDOUT_FILENO, &status) == 0 && [S_IFIFO, S_IFSOCK].contains(status.st_mode & S_IFMT)
    }()
    /// The number of columns of the terminal, or the value of `COLUMNS`; nil if the length of lines is not limited.
    let width: Int?
    private let usesColour: Bool
    private var buffer: [UInt8] = []
    private static let capacity = 64 << 10

    init() {
        width = Output.columns(isTerminal: isTerminal)
        usesColour = isTerminal && getenv("NO_COLOR") == nil && getenv("TERM").map { String(cString: $0) } != "dumb"
        buffer.reserveCapacity(Output.capacity * 2)
    }

    private static func columns(isTerminal: Bool) -> Int? {
        guard isTerminal else { return nil }
        if let text = getenv("COLUMNS"), let number = Int(String(cString: text)), number > 0 { return number }
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    // MARK: Text for users

    /// The length in bytes above which the middle of a text is left out.
    private static let longestLine = 10_000

    /// Prints one line.
    ///
    /// - Parameters:
    ///   - bold: The beginning of the line, which is bold on a terminal that supports it.
    ///   - isWhole: Whether a long line is not shortened, for instance because it has the requested values of objects.
    func line(bold: String = "", _ text: String = "", isWhole: Bool = false) throws {
        func shown(_ text: String) -> String {
            (isWhole ? text : text.shortened(to: Output.longestLine)).visible()
        }
        let start = shown(bold)
        try put((usesColour && !start.isEmpty ? "\u{1B}[1m\(start)\u{1B}[0m" : start) + shown(text) + "\n")
    }

    /// Prints text wrapped to the width of the terminal, or else to `width` columns.
    func paragraph(_ text: String, indent: Int = 0, orWidth width: Int = .max) throws {
        let text = text.shortened(to: Output.longestLine)
        try put(Paragraph.wrap(text, width: self.width ?? width, indent: indent))
    }

    /// Prints text of the tool itself, such as its help, with its line ends.
    func toolText(_ text: String) throws { try put(text.visible(.all)) }

    // MARK: Data for programs

    /// Prints text in a machine-readable format.
    func data(_ text: String) throws { try put(isTerminal ? text.visible(.all) : text) }

    /// Prints indented JSON.
    func json(_ value: JSON) throws {
        var piece = ""
        try value.pretty { text in
            piece += text
            if piece.utf8.count < Output.capacity { return }
            try data(piece)
            piece = ""
        }
        try data(piece + "\n")
    }

    // MARK: Writing

    private func put(_ text: String) throws {
        buffer.append(contentsOf: text.utf8)
        // Output to a terminal is flushed immediately; a pipe or a file receives few large pieces.
        if buffer.count >= Output.capacity || isTerminal { try flush() }
    }

    func finish() throws { try flush() }

    private func flush() throws {
        defer { buffer.removeAll(keepingCapacity: true) }
        try buffer.withUnsafeBytes { bytes in
            var done = 0
            while done < bytes.count {
                let count = Glibc.write(STDOUT_FILENO, bytes.baseAddress! + done, bytes.count - done)
                if count >= 0 {
                    done += count
                } else if errno == EPIPE {
                    throw ReaderClosed()
                } else if errno != EINTR {
                    let code = errno
                    throw CoreError(
                        .storeIO,
                        "cannot write to standard output: \(SystemError(code).text)\(Output.remedy(code))")
                }
            }
        }
    }

    /// Returns the remedy for a failed write, or an empty text.
    private static func remedy(_ code: Int32) -> String {
        if code == EFBIG { return "; redirect it to a file system for larger files" }
        if [ENOSPC, EDQUOT].contains(code) { return "; redirect it to a file on a disk with free space" }
        var status = stat()
        let isFile = fstat(STDOUT_FILENO, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        return isFile ? "" : "; redirect it to a file"
    }
}
