import CorestoneGraph
import CorestoneValues
import Glibc

/// A detector of writes to a file that was opened as immutable.
struct ImmutableFileCheck {
    private let path: String
    private let givenPath: String
    private let before: FileStatus

    private struct FileStatus: Equatable {
        var file: UInt = 0
        var size = 0
        var seconds = 0
        var nanoseconds = 0

        init(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return }
            file = status.st_ino
            size = Int(status.st_size)
            seconds = status.st_mtim.tv_sec
            nanoseconds = status.st_mtim.tv_nsec
        }
    }

    init(_ place: StoreLocation) {
        path = place.path
        givenPath = place.given
        before = FileStatus(path)
    }

    /// Whether the file was written. The replacement or move of a file does not count as a write, because the open file
    /// is unchanged.
    private var wasWritten: Bool {
        let now = FileStatus(path)
        return now.file == before.file && now != before
    }

    /// Runs `body`, which reads the file.
    ///
    /// - Parameter isOpenStore: Whether the file is a store of a coordinator, which can be removed and added again.
    /// - Throws: `.storeBusy` if the file was written in the meantime, because the result may be inconsistent.
    func reading<Result>(isOpenStore: Bool = true, _ body: () throws -> Result) throws -> Result {
        do {
            let result = try body()
            if !wasWritten { return result }
        } catch {
            if !wasWritten { throw error }
        }
        throw CoreError(
            .storeBusy, code: .persistentStoreOperation,
            isOpenStore
                ? "\(givenPath) was changed while it was open read-only; \(StoreLocation.addingAgain)"
                : "\(givenPath) was changed while it was read; try again while other connections do not write to it",
            file: givenPath)
    }
}
