import Glibc

extension ModelFile {
    /// Whose a file is, and who may do what with it.
    struct Permissions {
        fileprivate let owner: uid_t
        fileprivate let group: gid_t
        fileprivate let mode: mode_t
    }

    /// Those of what is there, but for what may be done; of a new file of ours when nothing is there.
    func permissions(mode: UInt32) -> Permissions {
        let former = permissions
        return Permissions(owner: former?.owner ?? uid_t.max, group: former?.group ?? gid_t.max, mode: mode)
    }

    /// nil when nothing is there.
    var permissions: Permissions? {
        facts.map { Permissions(owner: $0.st_uid, group: $0.st_gid, mode: $0.st_mode & 0o7777) }
    }

    /// Who may read and write a copy of what is there: who may do so there, and the owner; nil when nothing is.
    package var modeOfCopies: UInt32? { facts.map { $0.st_mode & 0o666 | 0o600 } }

    /// Takes over the permissions of what it replaces, as far as we may: not everybody may give a file away.
    func take(_ permissions: Permissions) {
        _ = chown(path, permissions.owner, gid_t.max)
        _ = chown(path, uid_t.max, permissions.group)
        // The last: a change of the owner takes marks from it.
        chmod(path, permissions.mode)
    }
}
