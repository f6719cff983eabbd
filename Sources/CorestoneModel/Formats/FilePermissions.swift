import Glibc

/// Whose a file is, and who may do what with it.
package struct FilePermissions {
    /// nil: that of whoever makes the file.
    private let owner: uid_t?
    /// nil: the one in which the system makes it.
    private let group: gid_t?
    private let mode: mode_t

    private init(owner: uid_t?, group: gid_t?, mode: mode_t) {
        (self.owner, self.group, self.mode) = (owner, group, mode)
    }

    /// Those of what is there, or of what a link leads to; nil when nothing is.
    package init?(of path: String) {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return nil }
        self.init(owner: facts.st_uid, group: facts.st_gid, mode: facts.st_mode & 0o7777)
    }

    /// Those of a new file that somebody asks for, whatever the process's mask says.
    ///
    /// - Parameter reserved: those of an empty file in whose place it comes.
    package init(mode: UInt32, inPlaceOf reserved: FilePermissions? = nil) {
        self.init(owner: reserved?.owner, group: reserved?.group, mode: mode)
    }

    /// Those of files that belong to this one and lie beside it.
    package var ofCompanions: FilePermissions {
        FilePermissions(owner: owner, group: group, mode: mode & 0o666 | 0o600)
    }

    /// Those of a folder for such files: who may read them may look for them, too.
    package var ofFolder: FilePermissions {
        FilePermissions(owner: owner, group: group, mode: mode | (mode & 0o444) >> 2)
    }

    /// Those of a copy of the file. Who may not read or write this one may not do so with the copy, but for its owner: what is kept
    /// from being changed is not kept from having a copy.
    ///
    /// - Parameter reserved: those of an empty file in whose place the copy comes: what may not be done with it may not be done with
    ///   the copy, either.
    package func ofCopy(inPlaceOf reserved: FilePermissions?) -> FilePermissions {
        guard let reserved else { return FilePermissions(owner: nil, group: group, mode: ofCompanions.mode) }
        let isSameGroup = reserved.group == group
        return FilePermissions(
            owner: reserved.owner, group: reserved.group,
            mode: reserved.mode & (isSameGroup ? mode : modeInAnotherGroup) & 0o666 | 0o600)
    }

    /// In another group, its members and all others may do what the members of this one and all others might.
    private var modeInAnotherGroup: mode_t {
        let common = mode >> 3 & mode & 0o007
        return mode & ~0o077 | common << 3 | common
    }

    /// Gives them to a file, as far as we may: not everybody may give a file away.
    package func give(to path: String) {
        if let owner { _ = chown(path, owner, gid_t.max) }
        let isInGroup = group.map { chown(path, uid_t.max, $0) == 0 } ?? true
        // The last: a change of the owner takes marks from it.
        chmod(path, isInGroup ? mode : modeInAnotherGroup)
    }
}

extension ModelFile {
    /// nil when nothing is there.
    package var permissions: FilePermissions? { FilePermissions(of: path) }

    func take(_ permissions: FilePermissions) { permissions.give(to: path) }
}
