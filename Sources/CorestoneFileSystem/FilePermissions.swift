import CPlatform
import Glibc

/// The owner, group, mode and access list of a file.
package struct FilePermissions: Sendable {
    /// The owner; nil for the user who creates the file.
    private var owner: uid_t?
    /// The group; nil for the group that the system assigns.
    private var group: gid_t?
    private var mode: mode_t
    /// The access list. Its mask replaces the group bits in the file's mode, but not in `mode`.
    private var list: AccessList?

    /// Reads the permissions of a file, following links; nil if they cannot be read, for example of a missing file.
    package init?(of path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        (owner, group, mode) = (status.st_uid, status.st_gid, status.st_mode & 0o7777)
        list = AccessList(of: path)
        if let list { mode = mode & ~0o070 | list.groupBits }
    }

    /// Creates the permissions for a new file with an explicit mode, regardless of the process's mask.
    ///
    /// - Parameter reserved: the permissions of an empty file that the new file replaces. Its owner and group are
    ///   copied.
    package init(mode: UInt32, inPlaceOf reserved: FilePermissions? = nil) {
        (owner, group, self.mode) = (reserved?.owner, reserved?.group, mode)
    }

    /// The permissions of companion files next to this file.
    package var ofCompanions: FilePermissions {
        var permissions = self
        permissions.mode = mode & 0o666 | 0o600
        return permissions
    }

    /// The permissions of a folder for companion files: users who may read the files may also search the folder.
    package var ofFolder: FilePermissions {
        var permissions = self
        permissions.mode |= (mode & 0o444) >> 2
        permissions.list = nil
        return permissions
    }

    /// Returns the permissions for a copy of the file, without its access list.
    ///
    /// Unless a mode is passed, the group and other users do not get read or write permission that they do not have for
    /// the file. The owner of the copy has both, even if the file is read-only.
    ///
    /// - Parameters:
    ///   - reserved: the permissions of an empty file that the copy replaces. The copy gets the group of the empty
    ///     file. Without an explicit mode, the group and other users get only permissions that they also have for the
    ///     empty file. The copy also gets the owner of the empty file, if that user owns the original, or if all users
    ///     may read the original.
    ///   - explicitMode: an explicit mode; nil derives the mode from the original.
    package func ofCopy(inPlaceOf reserved: FilePermissions?, mode explicitMode: UInt32? = nil) -> FilePermissions {
        var permissions = ofCompanions
        (permissions.owner, permissions.list) = (nil, nil)
        if let reserved {
            if reserved.owner == owner || mode & 0o044 == 0o044 { permissions.owner = reserved.owner }
            if reserved.group != group { permissions.mode = modeInAnotherGroup & 0o666 | 0o600 }
            permissions.group = reserved.group
            permissions.mode &= reserved.mode | 0o600
        } else if explicitMode != nil {
            permissions.group = nil
        }
        permissions.mode = explicitMode ?? permissions.mode
        return permissions
    }

    /// The mode for another group.
    ///
    /// Its members and all other users get the permissions that both the original group and all other users have.
    private var modeInAnotherGroup: mode_t {
        let common = mode >> 3 & mode & 0o007
        return mode & ~0o077 | common << 3 | common
    }

    // MARK: Applying

    /// Applies the permissions to a file, as far as the system allows.
    ///
    /// Uses the descriptor, because the path may refer to another file meanwhile.
    package func apply(to descriptor: Int32) {
        if let owner { _ = fchown(descriptor, owner, gid_t.max) }
        let isInGroup = group.map { fchown(descriptor, uid_t.max, $0) == 0 } ?? true
        // The mode is set after the owner and the group, because changing these clears set-user-ID and set-group-ID
        // bits.
        fchmod(descriptor, isInGroup ? mode : modeInAnotherGroup)
        if isInGroup, let list { list.apply(to: descriptor) }
    }

    /// Applies the permissions to a new folder. A set-group-ID bit that the folder inherited from its parent is kept.
    package func apply(toFolderAt path: String) {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var status = stat()
        // Another process may have replaced the folder.
        guard fstat(descriptor, &status) == 0, status.st_uid == geteuid() else { return }
        var permissions = self
        permissions.mode |= status.st_mode & S_ISGID
        permissions.apply(to: descriptor)
    }
}

/// A POSIX ACL in the kernel's form: permissions of a file in addition to those of its mode.
private struct AccessList {
    private let bytes: [UInt8]

    /// The tags of the entries for the owning group and for the mask.
    private static let (groupTag, maskTag) = (UInt8(0x04), UInt8(0x10))
    private static let (headSize, entrySize, longest) = (4, 8, 64 << 10)

    /// Reads the access list of a file; nil without a list, or if it cannot be read or is too long.
    package init?(of path: String) {
        var size = platform_access_list(path, nil, 0)
        guard size > AccessList.headSize, size <= AccessList.longest else { return nil }
        var bytes = [UInt8](repeating: 0, count: size)
        size = platform_access_list(path, &bytes, size)
        guard size == bytes.count else { return nil }
        self.bytes = bytes
    }

    /// The effective permissions of the owning group, as the group bits of a mode.
    package var groupBits: mode_t {
        var (group, mask): (UInt8, UInt8) = (0, 0o7)
        for place in stride(
            from: AccessList.headSize, through: bytes.count - AccessList.entrySize, by: AccessList.entrySize)
        {
            if bytes[place] == AccessList.groupTag { group = bytes[place + 2] }
            if bytes[place] == AccessList.maskTag { mask = bytes[place + 2] }
        }
        return mode_t(group & mask & 0o7) << 3
    }

    package func apply(to descriptor: Int32) { _ = platform_set_access_list(descriptor, bytes, bytes.count) }
}
