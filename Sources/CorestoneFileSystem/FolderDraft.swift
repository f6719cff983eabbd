import CPlatform
import CorestoneValues
import Glibc

/// A folder that is created beside the folder that it replaces.
///
/// A reader thus never finds an incomplete folder at the final path.
package struct FolderDraft {
    private let target: LocalFile
    /// The draft. `commit` moves it to the final path.
    package let file: LocalFile

    /// Creates the draft of a folder.
    ///
    /// - Throws: `.storeIO` if the draft cannot be created, or if the target is not a folder.
    package init(replacing target: LocalFile) throws {
        guard !target.exists || target.isFolder else {
            throw target.failure("is not a folder; remove it, or choose another path")
        }
        self.target = target
        file = target.draft
        // If a folder is replaced, `commit` applies its permissions to the draft. Until then, other users cannot access
        // the draft.
        try FolderDraft.make(file, target.exists ? 0o700 : 0o777)
    }

    private static func make(_ folder: LocalFile, _ mode: mode_t = 0o777) throws {
        guard mkdir(folder.path, mode) == 0 else { throw folder.systemFailure("cannot be created") }
    }

    /// Copies the contents of the folder to be replaced, as hard links where possible.
    ///
    /// Files and folders directly in it are left out if `isDropped` returns true for their names.
    package func copyTarget(isDropped: (_ name: String) -> Bool = { _ in false }) throws {
        guard target.exists else { return }
        try FolderDraft.link(target, into: file, depth: 0, isDropped: isDropped)
    }

    /// The maximum size, in bytes, of a file that is copied because it cannot be linked.
    private static let maximumFileSize = 1 << 30

    /// The maximum depth of the copied folders. Bundles have one or two levels.
    private static let maximumDepth = 16

    private static func link(
        _ folder: LocalFile, into copy: LocalFile, depth: Int, isDropped: (String) -> Bool = { _ in false }
    ) throws {
        guard depth < maximumDepth else {
            throw folder.failure("is more than \(maximumDepth - 1) folders deep in a bundle; move it up")
        }
        for name in try folder.entries() where !isDropped(name) {
            let (old, new) = (folder.child(name), copy.child(name))
            if old.isFolder, !old.isLink {
                try make(new)
                try link(old, into: new, depth: depth + 1)
                old.permissions?.apply(toFolderAt: new.path)
            } else if linkat(AT_FDCWD, old.path, AT_FDCWD, new.path, 0) != 0 {
                // For example, the file system does not support hard links.
                if let goal = old.linkGoal {
                    guard symlink(goal, new.path) == 0 else { throw new.systemFailure("cannot be created") }
                } else {
                    try new.create(try old.bytes(limit: FolderDraft.maximumFileSize), old.permissions)
                }
            }
        }
        try copy.synchronize()
    }

    /// Writes a file into the draft, in place of a copied file of this name. Creates missing folders in its path.
    package func write(_ bytes: [UInt8], to names: String...) throws {
        var place = file
        for name in names.dropLast() {
            place = place.child(name)
            if place.isLink {
                try replaceLink(place)
            } else if !place.isFolder {
                try FolderDraft.make(place)
            }
        }
        let target = place.child(names.last ?? "")
        let permissions = target.permissions
        unlink(target.path)
        try target.create(bytes, permissions)
        try place.synchronize()
    }

    /// Replaces a copied link with a folder that contains the files of its target.
    ///
    /// The target itself may be outside the bundle and must not be changed.
    private func replaceLink(_ link: LocalFile) throws {
        let goal = try link.withoutLinks()
        unlink(link.path)
        try FolderDraft.make(link)
        guard goal.isFolder else { return }
        try FolderDraft.link(goal, into: link, depth: 1)
        goal.permissions?.apply(toFolderAt: link.path)
    }

    /// Removes a copied file, if it exists.
    package func remove(_ name: String) { unlink(file.child(name).path) }

    /// Moves the draft to its final path. The replaced folder is removed.
    package func commit() throws {
        try file.synchronize()
        if let permissions = target.permissions {
            permissions.apply(toFolderAt: file.path)
            if !platform_exchange(file.path, target.path) {
                // The exchange failed, for example because the file system does not support it.
                let former = target.draft
                guard rename(target.path, former.path) == 0 else { throw target.systemFailure("cannot be replaced") }
                guard rename(file.path, target.path) == 0 else {
                    let error = target.systemFailure("cannot be replaced")
                    rename(former.path, target.path)
                    throw error
                }
                former.remove()
            }
        } else {
            guard rename(file.path, target.path) == 0 else { throw target.systemFailure("cannot be created") }
        }
        try target.folder.synchronize()
        discard()
    }

    /// Removes the draft, or after a commit the replaced folder.
    package func discard() { file.remove() }
}

extension LocalFile {
    /// Removes the file, or the folder with its contents, as far as permissions allow.
    fileprivate func remove(depth: Int = 0) {
        if isFolder, !isLink, depth < 64 {
            // Without this permission, the contents of a read-only folder could not be removed.
            chmod(path, 0o700)
            for name in (try? entries()) ?? [] { child(name).remove(depth: depth + 1) }
            rmdir(path)
        } else {
            unlink(path)
        }
    }
}
