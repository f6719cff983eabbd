import Glibc

/// The handling of SIGINT, SIGTERM and SIGHUP for commands that must first remove temporary files.
///
/// A second signal ends the tool immediately.
struct Interruption: Error {
    nonisolated(unsafe) private static var signalNumber: Int32 = 0

    static var isReceived: Bool { signalNumber != 0 }

    /// Installs the signal handlers. The command must then poll `isReceived`.
    static func installHandlers() {
        signalNumber = 0
        for number in [SIGINT, SIGTERM, SIGHUP] {
            // Ignored signals stay ignored, for instance under nohup.
            var action = sigaction()
            sigaction(number, nil, &action)
            guard unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 0 else { continue }
            action = sigaction()
            action.__sigaction_handler.sa_handler = { Interruption.signalNumber = $0 }
            // SA_RESTART is not set, so that the signal interrupts reading from a pipe.
            action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND))
            sigaction(number, &action, nil)
        }
    }

    static func check() throws {
        if signalNumber != 0 { throw Interruption() }
    }

    /// Ends the tool with the signal that was received, if any. Temporary files must have been removed.
    static func endIfReceived() {
        guard signalNumber != 0 else { return }
        signal(signalNumber, SIG_DFL)
        raise(signalNumber)
    }
}
