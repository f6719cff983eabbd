import CorestoneValues

/// A folder under TMPDIR for the private copy of a store. It is removed as soon as the copy is open, since an open file needs no
/// name. The next folder removes those that a crash left.
enum PrivateFolder {
    private static let prefix = "corestone-copy-"

    /// Returns nil if no folder can be created, and leaves the reason in `errno`.
    static func make() -> WorkFolder? {
        let parent = temporaryFolder
        for name in FolderNames(parent).map(Array.init) ?? [] where name.hasPrefix(prefix) {
            WorkFolder.removeAbandoned("\(parent)/\(name)")
        }
        return WorkFolder(start: "\(parent)/\(prefix)")
    }
}
