import CPlatform
import CorestoneValues
import Glibc

extension ModelFile {
    /// Puts a file there, or another one in the place of the one that is there: whoever opens it finds the whole of one or the
    /// other, also after a crash.
    func write(_ bytes: [UInt8]) throws {
        let draft = self.draft
        do {
            try draft.create(bytes)
            guard rename(draft.path, path) == 0 else { throw systemFailure("cannot be replaced") }
        } catch {
            unlink(draft.path)
            throw error
        }
        try ModelFile(folder).synchronize()
    }

    /// A name beside it that nobody has.
    var draft: ModelFile {
        ModelFile(folder).child(".\(name).\(String(UInt64.random(in: .min ... .max), radix: 36)).part")
    }

    /// Writes a new file, down to the disk.
    func create(_ bytes: [UInt8]) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw systemFailure("cannot be made") }
        defer { close(descriptor) }
        try bytes.withUnsafeBytes { buffer in
            var place = 0
            while place < buffer.count {
                let count = Glibc.write(descriptor, buffer.baseAddress.map { $0 + place }, buffer.count - place)
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { throw systemFailure("cannot be written") }
                place += count
            }
        }
        guard fsync(descriptor) == 0 else { throw systemFailure("cannot be brought to the disk") }
    }

    /// Brings the names in a folder to the disk.
    func synchronize() throws {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw systemFailure("cannot be opened") }
        defer { close(descriptor) }
        // Some file systems have no such thing for folders.
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw systemFailure("cannot be brought to the disk") }
    }

    func systemFailure(_ what: String) -> CoreError { failure("\(what): \(String(cString: strerror(errno)))") }
}

/// A folder that is made beside the one that it replaces, so that there never is half a folder.
struct FolderDraft {
    private let target: ModelFile
    /// What will be the folder.
    let file: ModelFile

    /// - Throws: `.storeIO` when there can be no folder, or something else is there.
    init(replacing target: ModelFile) throws {
        guard !target.exists || target.isFolder else { throw target.failure("is a file where a folder belongs") }
        self.target = target
        file = target.draft
        guard mkdir(file.path, 0o777) == 0 else { throw target.systemFailure("cannot be made") }
    }

    /// Brings in what the folder to be replaced holds, as further names of the same files.
    func keep(isDropped: (_ name: String) -> Bool = { _ in false }) throws {
        guard target.exists else { return }
        try FolderDraft.link(target, into: file, depth: 0, isDropped: isDropped)
    }

    /// Folders within folders that are brought along; bundles have one or two.
    private static let maximumDepth = 16

    private static func link(
        _ folder: ModelFile, into copy: ModelFile, depth: Int, isDropped: (String) -> Bool
    ) throws {
        guard depth < maximumDepth else { throw folder.failure("lies \(maximumDepth) folders deep in a bundle") }
        for name in try folder.entries() where !isDropped(name) {
            let (old, new) = (folder.child(name), copy.child(name))
            if old.isFolder, !old.isLink {
                guard mkdir(new.path, 0o777) == 0 else { throw new.systemFailure("cannot be made") }
                try link(old, into: new, depth: depth + 1, isDropped: { _ in false })
            } else if linkat(AT_FDCWD, old.path, AT_FDCWD, new.path, 0) != 0 {
                // A file system without further names.
                try new.create(try old.bytes())
            }
        }
        try copy.synchronize()
    }

    /// Writes a file, within folders that are made, in the place of what was kept.
    func write(_ bytes: [UInt8], to names: String...) throws {
        var place = file
        for name in names.dropLast() {
            place = place.child(name)
            guard place.isFolder || mkdir(place.path, 0o777) == 0 else { throw place.systemFailure("cannot be made") }
        }
        let target = place.child(names.last ?? "")
        unlink(target.path)
        try target.create(bytes)
        try place.synchronize()
    }

    /// Removes a file that was kept, if it is there.
    func remove(_ name: String) { unlink(file.child(name).path) }

    /// Puts the draft into its place; what was there before ends.
    func commit() throws {
        try file.synchronize()
        if target.exists {
            if !platform_exchange(file.path, target.path) {
                // A file system that cannot exchange two names.
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
            guard rename(file.path, target.path) == 0 else { throw target.systemFailure("cannot be made") }
        }
        try ModelFile(target.folder).synchronize()
        discard()
    }

    /// Removes what has not become the folder, or is no longer.
    func discard() { file.remove() }
}

extension ModelFile {
    fileprivate var isLink: Bool {
        var facts = stat()
        return lstat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFLNK
    }

    /// Removes the folder with all that is in it. What cannot be removed stays.
    fileprivate func remove(depth: Int = 0) {
        if isFolder, !isLink, depth < 64 {
            for name in (try? entries()) ?? [] { child(name).remove(depth: depth + 1) }
            rmdir(path)
        } else {
            unlink(path)
        }
    }
}
