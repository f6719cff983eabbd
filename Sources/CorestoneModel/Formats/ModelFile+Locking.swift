import CorestoneValues
import Glibc

extension ModelFile {
    /// Runs a change of the file or folder while no other writer of models, in this process or another, changes anything in
    /// the folder around it: who adds to a bundle keeps what the one before has added.
    ///
    /// - Throws: `.storeBusy` when another process does not end; `.storeIO` when there is no such folder.
    func alone<Result>(_ change: () throws -> Result) throws -> Result {
        // The folder around it: a bundle itself is exchanged for its successor.
        let descriptor = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw systemFailure("cannot be written, because its folder cannot be opened")
        }
        defer { close(descriptor) }
        return try ModelFile.writers.with {
            try lock(descriptor)
            // Said aloud: a process that was forked off in between has the descriptor too.
            defer { flock(descriptor, LOCK_UN) }
            return try change()
        }
    }

    /// For file systems without locks of their own.
    private static let writers = RecursiveLock(.modelFiles)
    private static let patience = 30.0

    private func lock(_ descriptor: Int32) throws {
        let pause: UInt32 = 5_000
        for _ in 0..<Int(ModelFile.patience * 1_000_000 / Double(pause)) {
            // What cannot be locked is changed without.
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 || (errno != EWOULDBLOCK && errno != EINTR) { return }
            usleep(pause)
        }
        throw failure(
            "is in a folder that another process has locked for \(Int(ModelFile.patience)) seconds; try again",
            .storeBusy)
    }
}
