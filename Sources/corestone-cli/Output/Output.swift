import Corestone
import Glibc

/// Standard output: buffered, and silent when its reader has seen enough.
///
/// All that the tool prints goes through here. What is for people shows no name or value of a file as a command to the terminal,
/// nor as a line of its own; what is for programs is as it is, for its own format has escapes, except on a terminal.
final class Output {
    /// The reader of a pipe is gone.
    struct ReaderLeft: Error {}

    let isTerminal = isatty(STDOUT_FILENO) == 1
    /// Whether a program reads along; a person reads a terminal, and opens a file later.
    let isPipe = {
        var facts = stat()
        return fstat(STDOUT_FILENO, &facts) == 0 && [S_IFIFO, S_IFSOCK].contains(facts.st_mode & S_IFMT)
    }()
    /// Columns of the terminal, or of what `COLUMNS` says; nil where lines may be as long as they like.
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

    // MARK: For people

    /// Bytes of a line that tells of names and the like; the middle of a longer one is left out.
    private static let longestLine = 10_000

    /// One line.
    ///
    /// - Parameters:
    ///   - bold: its beginning, which stands out on a terminal that can show it.
    ///   - isWhole: whether its length is what was asked for, as of the values of objects.
    func line(bold: String = "", _ text: String = "", isWhole: Bool = false) throws {
        func shown(_ text: String) -> String {
            (isWhole ? text : text.shortened(to: Output.longestLine)).visible()
        }
        let start = shown(bold)
        try put((usesColour && !start.isEmpty ? "\u{1B}[1m\(start)\u{1B}[0m" : start) + shown(text) + "\n")
    }

    /// Words, in lines as wide as the terminal, else of `width` columns.
    func paragraph(_ text: String, indent: Int = 0, orWidth width: Int = .max) throws {
        let text = text.shortened(to: Output.longestLine)
        try put(Paragraph.wrap(text, width: self.width ?? width, indent: indent))
    }

    /// Text of the tool's own, such as its help, with its lines as they are.
    func own(_ text: String) throws { try put(text.visible(.all)) }

    // MARK: For programs

    /// Text in a format that programs read.
    func data(_ text: String) throws { try put(isTerminal ? text.visible(.all) : text) }

    /// JSON for programs, and for people who look at it.
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
        // Somebody watches a terminal; a pipe wants few large pieces.
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
                    throw ReaderLeft()
                } else if errno != EINTR {
                    let code = errno
                    let target = [ENOSPC, EDQUOT].contains(code) ? "a file on a disk with free space" : "a file"
                    throw CoreError(
                        .storeIO,
                        "cannot write to standard output: \(String(cString: strerror(code))); redirect it to \(target)")
                }
            }
        }
    }
}
