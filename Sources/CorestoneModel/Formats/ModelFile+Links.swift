import CorestoneValues
import Glibc

extension ModelFile {
    /// What a symbolic link says that it leads to; nil for anything else.
    var linkGoal: String? {
        var goal = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = goal.withUnsafeMutableBytes { buffer in
            buffer.withMemoryRebound(to: CChar.self) { chars in
                chars.baseAddress.map { readlink(path, $0, chars.count) } ?? 0
            }
        }
        return count > 0 ? String(decoding: goal[..<count], as: UTF8.self) : nil
    }

    var isLink: Bool { linkGoal != nil }

    /// The file itself, or what the link leads to, which need not be there yet. Errors call it as before.
    ///
    /// - Throws: `.storeIO` for links in a circle.
    func withoutLinks() throws -> ModelFile {
        var file = self
        for _ in 0...ModelFile.maximumLinks {
            guard let goal = file.linkGoal else { return file }
            file = ModelFile(goal.hasPrefix("/") ? goal : file.folder.child(goal).path, shownAs: shown)
        }
        throw failure(
            "is a chain of more than \(ModelFile.maximumLinks) symbolic links, which is the limit; check the links for a cycle"
        )
    }

    /// As many as Linux follows.
    private static let maximumLinks = 40

    /// Whether something else lies in the folder, on whatever ways both are named.
    func contains(_ other: ModelFile) -> Bool {
        guard let own = realPath, let inner = other.realPath else { return false }
        return inner.utf8.starts(with: (own + "/").utf8)
    }

    private var realPath: String? {
        guard let text = realpath(path, nil) else { return nil }
        defer { free(text) }
        return String(cString: text)
    }
}
