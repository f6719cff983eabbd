import CPlatform
import Glibc

/// Whose a file is, and who may do what with it.
package struct FilePermissions: Sendable {
    /// nil: that of whoever makes the file.
    private var owner: uid_t?
    /// nil: the one in which the system makes it.
    private var group: gid_t?
    private var mode: mode_t
    /// Who else may do what; its mask stands in the group's place of the file's mode, and not of this one.
    private var list: AccessList?

    /// Those of what is there, or of what a link leads to; nil when nothing is.
    package init?(of path: String) {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return nil }
        (owner, group, mode) = (facts.st_uid, facts.st_gid, facts.st_mode & 0o7777)
        list = AccessList(of: path)
        if let list { mode = mode & ~0o070 | list.groupBits }
    }

    /// Those of a new file that somebody asks for, whatever the process's mask says.
    ///
    /// - Parameter reserved: those of an empty file in whose place it comes.
    package init(mode: UInt32, inPlaceOf reserved: FilePermissions? = nil) {
        (owner, group, self.mode) = (reserved?.owner, reserved?.group, mode)
    }

    /// Those of files that belong to this one and lie beside it.
    package var ofCompanions: FilePermissions {
        var permissions = self
        permissions.mode = mode & 0o666 | 0o600
        return permissions
    }

    /// Those of a folder for such files: who may read them may look for them, too.
    package var ofFolder: FilePermissions {
        var permissions = self
        permissions.mode |= (mode & 0o444) >> 2
        permissions.list = nil
        return permissions
    }

    /// Those of a copy of the file. Who may not read or write this one may not do so with the copy, but for whoever makes it, to whom
    /// it belongs: what is kept from being changed is not kept from having a copy.
    ///
    /// - Parameters:
    ///   - reserved: those of an empty file in whose place the copy comes. What may not be done with it may not be done with the copy,
    ///     either; and the copy belongs to its owner, if that one may read what is copied.
    ///   - asked: the mode that somebody asks for.
    package func ofCopy(inPlaceOf reserved: FilePermissions?, mode asked: UInt32? = nil) -> FilePermissions {
        var permissions = ofCompanions
        (permissions.owner, permissions.list) = (nil, nil)
        if let reserved {
            if reserved.owner == owner || mode & 0o044 == 0o044 { permissions.owner = reserved.owner }
            if reserved.group != group { permissions.mode = modeInAnotherGroup & 0o666 | 0o600 }
            permissions.group = reserved.group
            permissions.mode &= reserved.mode | 0o600
        } else if asked != nil {
            permissions.group = nil
        }
        permissions.mode = asked ?? permissions.mode
        return permissions
    }

    /// In another group, its members and all others may do what the members of this one and all others might.
    private var modeInAnotherGroup: mode_t {
        let common = mode >> 3 & mode & 0o007
        return mode & ~0o077 | common << 3 | common
    }

    // MARK: Giving

    /// Gives them to a file, as far as we may: not everybody may give a file away. By its descriptor, since what has its name may be
    /// something else by now.
    package func give(to descriptor: Int32) {
        if let owner { _ = fchown(descriptor, owner, gid_t.max) }
        let isInGroup = group.map { fchown(descriptor, uid_t.max, $0) == 0 } ?? true
        // After a change of the owner, which takes marks from it.
        fchmod(descriptor, isInGroup ? mode : modeInAnotherGroup)
        if isInGroup, let list { list.give(to: descriptor) }
    }

    /// Gives them to a folder that was just made. One that hands its group on to what is made in it, as the folder above has it,
    /// goes on doing so.
    package func give(toFolderAt path: String) {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var facts = stat()
        // Somebody may have put another folder in its place.
        guard fstat(descriptor, &facts) == 0, facts.st_uid == geteuid() else { return }
        var permissions = self
        permissions.mode |= facts.st_mode & S_ISGID
        permissions.give(to: descriptor)
    }
}

/// Who may do what with a file beside its owner, its group and all others: a POSIX ACL, in the kernel's form.
private struct AccessList {
    private let bytes: [UInt8]

    /// In the entries: what the file's own group may do, and the most that anybody but the owner and all others may.
    private static let (groupTag, maskTag) = (UInt8(0x04), UInt8(0x10))
    private static let (headSize, entrySize, longest) = (4, 8, 64 << 10)

    /// nil for a file without one.
    init?(of path: String) {
        var size = platform_access_list(path, nil, 0)
        guard size > AccessList.headSize, size <= AccessList.longest else { return nil }
        var bytes = [UInt8](repeating: 0, count: size)
        size = platform_access_list(path, &bytes, size)
        guard size == bytes.count else { return nil }
        self.bytes = bytes
    }

    /// What the members of the file's group may do, in their place of a mode.
    var groupBits: mode_t {
        var (group, mask): (UInt8, UInt8) = (0, 0o7)
        for place in stride(
            from: AccessList.headSize, through: bytes.count - AccessList.entrySize, by: AccessList.entrySize)
        {
            if bytes[place] == AccessList.groupTag { group = bytes[place + 2] }
            if bytes[place] == AccessList.maskTag { mask = bytes[place + 2] }
        }
        return mode_t(group & mask & 0o7) << 3
    }

    func give(to descriptor: Int32) { _ = platform_set_access_list(descriptor, bytes, bytes.count) }
}

extension ModelFile {
    /// nil when nothing is there.
    package var permissions: FilePermissions? { FilePermissions(of: path) }
}
