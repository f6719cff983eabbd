import CorestoneValues
import Glibc

extension LocalFile {
    /// The target of a symbolic link; nil for other files.
    package var linkGoal: String? {
        var goal = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = goal.withUnsafeMutableBytes { buffer in
            buffer.withMemoryRebound(to: CChar.self) { chars in
                chars.baseAddress.map { readlink(path, $0, chars.count) } ?? 0
            }
        }
        return count > 0 ? String(decoding: goal[..<count], as: UTF8.self) : nil
    }

    package var isLink: Bool { linkGoal != nil }

    /// Returns the file itself, or the target of a link, which does not have to exist.
    ///
    /// Errors name the original path.
    ///
    /// - Throws: `.storeIO` for a chain of more than 40 links, such as a cycle.
    package func withoutLinks() throws -> LocalFile {
        var file = self
        for _ in 0...LocalFile.maximumLinks {
            guard let goal = file.linkGoal else { return file }
            file = LocalFile(goal.hasPrefix("/") ? goal : file.folder.child(goal).path, shownAs: shown)
        }
        throw failure(
            "is a chain of more than \(LocalFile.maximumLinks) symbolic links, which is the limit; check the links for a cycle"
        )
    }

    /// The maximum number of links that are followed, as in Linux.
    private static let maximumLinks = 40

    /// Whether another file is in this folder or below it, by their real paths. False if one of them does not exist.
    package func contains(_ other: LocalFile) -> Bool {
        guard let own = realPath, let inner = other.realPath else { return false }
        return inner.utf8.starts(with: (own + "/").utf8)
    }

    private var realPath: String? {
        guard let text = realpath(path, nil) else { return nil }
        defer { free(text) }
        return String(cString: text)
    }
}
