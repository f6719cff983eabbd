import Glibc

/// Ctrl-C, and being asked to end, for commands that have something to remove first. A second time ends the tool at once.
struct Interruption: Error {
    nonisolated(unsafe) private static var signalNumber: Int32 = 0

    static var hasCome: Bool { signalNumber != 0 }

    /// From now on the command asks whether it has come.
    static func await() {
        signalNumber = 0
        for number in [SIGINT, SIGTERM, SIGHUP] {
            // What is ignored stays so, as of programs under nohup.
            var action = sigaction()
            sigaction(number, nil, &action)
            guard unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 0 else { continue }
            action = sigaction()
            action.__sigaction_handler.sa_handler = { Interruption.signalNumber = $0 }
            // Without SA_RESTART: reading from a pipe ends.
            action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND))
            sigaction(number, &action, nil)
        }
    }

    static func check() throws {
        if signalNumber != 0 { throw Interruption() }
    }

    /// Ends the tool as if it had not waited, when everything is removed.
    static func endIfCome() {
        guard signalNumber != 0 else { return }
        signal(signalNumber, SIG_DFL)
        raise(signalNumber)
    }
}
