import CorestoneGraph
import CorestoneValues
import Glibc

/// Notices that a file was written since it was opened as one that does not change.
struct FileWatch {
    private let path: String
    private let given: String
    private let before: Facts

    private struct Facts: Equatable {
        var file: UInt = 0
        var size = 0
        var seconds = 0
        var nanoseconds = 0

        init(_ path: String) {
            var facts = stat()
            guard stat(path, &facts) == 0 else { return }
            file = facts.st_ino
            size = Int(facts.st_size)
            seconds = facts.st_mtim.tv_sec
            nanoseconds = facts.st_mtim.tv_nsec
        }
    }

    init(_ place: StorePlace) {
        path = place.path
        given = place.given
        before = Facts(path)
    }

    /// A file that took the place of the open one, or was moved away, left that one as it was.
    private var wasWritten: Bool {
        let now = Facts(path)
        return now.file == before.file && now != before
    }

    /// Runs `body`, which reads the file. What it read is no consistent state when the file was written meanwhile.
    func reading<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            let result = try body()
            if !wasWritten { return result }
        } catch {
            if !wasWritten { throw error }
        }
        throw CoreError(
            .storeBusy, code: .persistentStoreOperation,
            "\(given) was changed while it was open read-only; open it again to read the new state",
            file: given)
    }
}
