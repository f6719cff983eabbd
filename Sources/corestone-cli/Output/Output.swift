import Corestone
import Glibc

/// Standard output: buffered, and silent when its reader has seen enough.
final class Output {
    /// The reader of a pipe is gone.
    struct ReaderLeft: Error {}

    let isTerminal = isatty(STDOUT_FILENO) == 1
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

    func write(_ text: String) throws {
        buffer.append(contentsOf: text.utf8)
        // Somebody watches a terminal; a pipe wants few large pieces.
        if buffer.count >= Output.capacity || isTerminal { try flush() }
    }

    /// Text that stands out on a terminal that can show it.
    func emphasised(_ text: String) -> String { usesColour ? "\u{1B}[1m\(text)\u{1B}[0m" : text }

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
                    throw CoreError(.storeIO, "cannot write the output: \(String(cString: strerror(errno)))")
                }
            }
        }
    }
}
