import CorestoneValues
import Glibc

extension LocalFile {
    /// Runs a change of the file or folder with an exclusive lock for writers of models.
    ///
    /// No other writer of models changes the parent folder meanwhile, neither in this process nor, if the file system
    /// supports locks, in another. A writer that adds a version to a bundle thus keeps versions that other writers
    /// added.
    ///
    /// - Throws: `.storeBusy` if another process or coordinator still holds the lock after 30 seconds.
    ///   `.storeIO` if the parent folder cannot be opened.
    package func withWriterLock<Result>(_ change: () throws -> Result) throws -> Result {
        // The parent folder is locked, because a bundle itself is replaced.
        let descriptor = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let error = SystemError.last
            throw failure(
                "cannot be written, because its folder cannot be opened: \(error.text)"
                    + (error.isMissing ? "; check the path" : error.remedyForReading("the folder", lost: nil)))
        }
        defer { close(descriptor) }
        return try LocalFile.writers.with {
            try lock(descriptor)
            // Unlocked explicitly, because a child process that was forked meanwhile has the descriptor too.
            defer { flock(descriptor, LOCK_UN) }
            return try change()
        }
    }

    /// The lock that serialises writers of this process, even on file systems without locks.
    private static let writers = RecursiveLock(.modelFiles)
    /// The time-out for the lock, in seconds.
    private static let lockTimeout = 30.0

    private func lock(_ descriptor: Int32) throws {
        let pause: UInt32 = 5_000
        for _ in 0..<Int(LocalFile.lockTimeout * 1_000_000 / Double(pause)) {
            // On a file system that does not support locks, the change runs without this lock.
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 || (errno != EWOULDBLOCK && errno != EINTR) { return }
            usleep(pause)
        }
        throw failure(
            "is in a folder that another process or coordinator has locked (waited "
                + "\(Int(LocalFile.lockTimeout)) seconds); try again",
            .storeBusy)
    }
}
