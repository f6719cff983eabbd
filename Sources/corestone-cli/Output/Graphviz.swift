import Corestone
import CorestoneFileSystem
import Glibc

/// The interface to Graphviz's program `dot`, which draws diagrams.
enum Graphviz {
    /// The file formats that are supported.
    static let fileFormats = ["svg", "png", "pdf"]

    /// Draws DOT text into a file, whose extension is one of the supported formats.
    static func draw(_ text: String, into file: OutputFile) throws {
        var pipeEnds: [Int32] = [0, 0]
        guard pipe(&pipeEnds) == 0 else {
            throw failure(
                "cannot create a pipe to draw \(file.path): \(SystemError.last.text); close other files, or raise the limit of open files (ulimit -n)",
                file)
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, pipeEnds[0], STDIN_FILENO)
        posix_spawn_file_actions_addclose(&actions, pipeEnds[0])
        posix_spawn_file_actions_addclose(&actions, pipeEnds[1])
        var process = pid_t()
        let command: [String] = ["dot", "-T\(file.kind)", "-o", file.draft]
        var words = command.map { strdup($0) } + [nil]
        defer { words.forEach { free($0) } }
        let error = posix_spawnp(&process, "dot", &actions, nil, &words, environ)
        close(pipeEnds[0])
        guard error == 0 else {
            close(pipeEnds[1])
            throw failure(
                error == ENOENT
                    ? "cannot draw \(file.path): Graphviz is not installed or not in PATH; install it (Debian: apt-get "
                        + "install graphviz), or write its text format with -o FILE.dot"
                    : "cannot start dot, a program of Graphviz, to draw "
                        + "\(file.path): \(SystemError(error).text)"
                        + ([EAGAIN, ENOMEM].contains(error)
                            ? "; close other programs, and run the command again"
                            : "; check the installation of Graphviz"),
                file)
        }
        feed(text, to: pipeEnds[1])
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 && errno == EINTR {}
        guard status == 0 else {
            unlink(file.draft)
            let signal = status & 0x7F
            let reason =
                signal == 0
                ? "exit status \(status >> 8 & 0xFF); see the message of dot on standard error"
                : "ended by signal \(signal); run the command again, or write the diagram as text with -o FILE.dot"
            throw failure("dot, a program of Graphviz, failed to draw \(file.path): \(reason)", file)
        }
        try file.commitDraft()
    }

    /// Writes the text to `dot` and closes the pipe. If `dot` exits early, its exit status shows the failure.
    private static func feed(_ text: String, to end: Int32) {
        defer { close(end) }
        let bytes = Array(text.utf8)
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes { Glibc.write(end, $0.baseAddress! + done, bytes.count - done) }
            if count < 0 && errno != EINTR { return }
            done += max(count, 0)
        }
    }

    private static func failure(_ message: String, _ file: OutputFile) -> CoreError {
        CoreError(.storeIO, message, file: file.path)
    }
}
