import CorestoneFileSystem
import CorestoneValues
import Glibc

/// The location of a store's file, and whether the file exists.
package struct StoreLocation {
    package enum State { case missing, empty, present }

    /// The path as the application passed it, for messages.
    package let given: String
    /// The absolute path.
    ///
    /// A later change of the working directory thus has no effect, and SQLite does not treat any name specially.
    package let absolute: String
    /// The absolute path without symbolic links, even if their target does not exist yet.
    ///
    /// SQLite creates companion files beside this path.
    package let path: String
    package let folder: String
    package let state: State
    /// The size in bytes.
    package let size: Int

    /// The path of an SQLite store in memory, for one coordinator.
    package static let inMemoryPath = "/dev/null"

    /// Creates the location of a store in memory.
    package init(inMemory given: String) {
        (self.given, absolute, path, folder, state, size) = (given, given, given, "", .present, 0)
    }

    package var isInMemory: Bool { folder.isEmpty }

    package init(_ given: String) throws {
        self.given = given
        guard !given.isEmpty else {
            throw StoreLocation.failure(
                .invalidArgument, "the path of a store is empty; pass the path of a file", given)
        }
        guard !given.utf8.contains(0) else {
            throw StoreLocation.failure(
                .invalidArgument,
                "the path of the store \"\(given.prefix { $0 != "\0" })\" contains a NUL byte; remove it", given)
        }
        absolute = given.hasPrefix("/") ? given : try StoreLocation.workingDirectory(for: given) + "/" + given
        guard absolute.utf8.last != UInt8(ascii: "/") else {
            try StoreLocation.refuseModel(given)
            throw StoreLocation.failure(
                .invalidArgument, "\(given) ends with a slash, like a folder; pass the path of a file", given)
        }
        path = try StoreLocation.withoutLinks(absolute, given)
        folder = StoreLocation.parts(of: path).folder

        var facts = stat()
        if stat(absolute, &facts) == 0 {
            guard facts.st_mode & S_IFMT == S_IFREG else {
                try StoreLocation.refuseModel(given)
                throw StoreLocation.failure(
                    .notAStore,
                    "\(given) is \(facts.st_mode & S_IFMT == S_IFDIR ? "a folder" : "not a regular file"); "
                        + "pass the path of a file", given)
            }
            size = Int(facts.st_size)
            state = size == 0 ? .empty : .present
            return
        }
        let reason = SystemError.last
        size = 0
        guard reason.number == ENOENT else {
            let remedy =
                switch reason.number {
                case EACCES: "; make each folder of the path accessible"
                case ENOTDIR, ELOOP, ENAMETOOLONG: "; check the path"
                default: ""
                }
            throw StoreLocation.failure(
                .storeIO, "cannot access \(given): \(reason.text)\(remedy)", given)
        }
        guard stat(folder, &facts) == 0, facts.st_mode & S_IFMT == S_IFDIR else {
            throw StoreLocation.failure(
                .storeIO,
                "the folder \(folder) of the store \(given) does not exist; check the path, or create the folder first",
                given)
        }
        state = .missing
    }

    /// The remedy for an open store whose file was replaced.
    package static let addingAgain =
        "remove the store with cst_coordinator_remove_store (remove_store, remove), and add it again with "
        + "cst_coordinator_add_store (add_store, addStore)"

    /// Whether the file has hard links besides the path.
    package var hasOtherNames: Bool {
        var facts = stat()
        return stat(path, &facts) == 0 && facts.st_nlink > 1
    }

    /// Throws if the file is missing or empty.
    package func requireStore() throws {
        switch state {
        case .present: return
        case .empty:
            // The file of a store is never empty. An empty file is of another kind, or the remains of a store.
            throw StoreLocation.failure(
                .notAStore,
                "\(given) is an empty file, not a store; check the path, or restore the store from a backup", given)
        case .missing: throw StoreLocation.failure(.storeIO, "the store \(given) does not exist; check the path", given)
        }
    }

    /// Throws if the path is, by its name, one of Apple's model folders.
    private static func refuseModel(_ given: String) throws {
        var name = given[...]
        while name.last == "/" { name = name.dropLast() }
        guard [".xcdatamodeld", ".xcdatamodel", ".momd"].contains(where: name.hasSuffix) else { return }
        throw failure(
            .notAStore,
            "\(given) has the extension of a model, not of a store; pass the path of the store's file", given)
    }

    /// Returns the path without symbolic links, even if the file does not exist.
    private static func withoutLinks(_ path: String, _ given: String) throws -> String {
        var path = path
        // The limit is the number of links that Linux follows; `stat` fails for a cycle of links.
        for _ in 0..<40 {
            if let whole = try real(path, given) { return whole }
            let (parent, name) = parts(of: path)
            let folder = try real(parent, given) ?? parent
            path = (folder == "/" ? "" : folder) + "/" + name
            guard let target = try target(ofLink: path, given) else { break }
            path = target.hasPrefix("/") ? target : folder + "/" + target
        }
        return path
    }

    /// Returns the target of a symbolic link; nil if the path is not a link.
    private static func target(ofLink path: String, _ given: String) throws -> String? {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
        guard readlink(path, &target, target.count - 1) > 0 else { return nil }
        return try utf8(target, "\(given) resolves to a path", StoreLocation.correctingLink, given)
    }

    /// Returns the resolved path; nil if the path does not exist.
    private static func real(_ path: String, _ given: String) throws -> String? {
        guard let text = realpath(path, nil) else { return nil }
        defer { free(text) }
        return try utf8(text, "\(given) resolves to a path", StoreLocation.correctingLink, given)
    }

    /// Returns a path as a string.
    ///
    /// Throws for a path that is not UTF-8, because a replacement text would be the path of another file.
    private static func utf8(
        _ text: UnsafePointer<CChar>, _ subject: String, _ remedy: String, _ given: String
    ) throws -> String {
        if let path = String(validatingCString: text) { return path }
        throw failure(.invalidUTF8, "\(subject) that is not UTF-8 (\(String(cString: text)))\(remedy)", given)
    }

    /// The remedy for a link to a path that is not UTF-8. A path that is UTF-8 leads there only through a link.
    private static let correctingLink =
        "; rename the folder or file whose name is not UTF-8, and correct the symbolic link"

    private static func parts(of path: String) -> (folder: String, name: Substring) {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return ("/", path[...]) }
        return (slash == path.startIndex ? "/" : String(path[..<slash]), path[path.utf8.index(after: slash)...])
    }

    private static func failure(_ status: Status, _ message: String, _ file: String) -> CoreError {
        CoreError(
            status, code: .persistentStoreOpen, message,
            key: status == .invalidArgument || status == .invalidUTF8 ? "path" : nil, file: file)
    }

    private static func workingDirectory(for given: String) throws -> String {
        guard let text = getcwd(nil, 0) else { return "" }
        defer { free(text) }
        return try utf8(
            text, "\(given) is relative to a path",
            "; rename the folder whose name is not UTF-8, or pass an absolute path", given)
    }

    /// Whether a companion of the store's file, such as its write-ahead log, exists and is not empty.
    package func hasCompanion(_ suffix: String) -> Bool {
        var facts = stat()
        return stat(path + suffix, &facts) == 0 && facts.st_size > 0
    }

    /// The device and inode numbers, which currently identify the file; empty if it does not exist.
    package var number: [UInt] {
        var facts = stat()
        return stat(path, &facts) == 0 ? [UInt(facts.st_dev), UInt(facts.st_ino)] : []
    }

    /// The current size of the file in bytes; 0 if it does not exist.
    package var sizeNow: Int {
        var facts = stat()
        return stat(path, &facts) == 0 ? Int(facts.st_size) : 0
    }

    package var mayWriteFolder: Bool { faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0 }
}
