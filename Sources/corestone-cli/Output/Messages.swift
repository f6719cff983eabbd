import Corestone
import Glibc

/// Standard error. All that the tool says there goes through here, so that nothing in a file which it reads, and nothing in a
/// name or a path, is a command to the terminal or looks like a message of its own.
enum Messages {
    /// What is more than this, is shown without its middle.
    private static let longest = 64 << 10

    /// One message; its further lines are indented.
    static func tell(_ message: String) {
        put("\(Tool.name): \(message.shortened(to: longest).visible(.indented))\n")
    }

    /// A message, and below it the tool's own text, such as how a command is used.
    static func tell(_ message: String, then own: String) {
        put("\(Tool.name): \(message.shortened(to: longest).visible(.indented))\n\(own.visible(.all))")
    }

    /// The tool's own text alone.
    static func tell(own text: String) { put(text.visible(.all)) }

    /// Asks, and leaves the cursor behind the question.
    static func ask(_ question: String) { put(question.shortened(to: longest).visible()) }

    /// Draws one line in the place of the one before; an empty one takes it away.
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
