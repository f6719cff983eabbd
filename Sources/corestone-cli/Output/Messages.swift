import Corestone
import Glibc

/// The output on standard error.
///
/// The tool's own output there goes through this type, so that text from files, names and paths cannot control the
/// terminal or look like a message of the tool. Log lines of the library and messages of `dot` bypass this type.
enum Messages {
    /// The maximum length of a message in bytes; the middle of a longer message is left out.
    private static let maximumBytes = 64 << 10

    /// Prints a message. Line ends are kept only before an indented line; all others are printed as `⏎`.
    static func printMessage(_ message: String) {
        put("\(Tool.name): \(message.shortened(to: maximumBytes).visible(.indented))\n")
    }

    /// Prints a message, followed by text of the tool itself, such as a usage line.
    static func printMessage(_ message: String, then usage: String) {
        put("\(Tool.name): \(message.shortened(to: maximumBytes).visible(.indented))\n\(usage.visible(.all))")
    }

    /// Prints text of the tool itself.
    static func printText(_ text: String) { put(text.visible(.all)) }

    /// Prints a question without a line end.
    static func ask(_ question: String) { put(question.shortened(to: maximumBytes).visible()) }

    /// Replaces the current line; an empty text clears it.
    static func redraw(_ line: String) { put("\r\(line.visible())\u{1B}[K") }

    private static func put(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            var done = 0
            while done < bytes.count {
                let count = Glibc.write(STDERR_FILENO, bytes.baseAddress! + done, bytes.count - done)
                if count < 0, errno != EINTR { return }
                done += max(count, 0)
            }
        }
    }
}
