import CorestoneFileSystem
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// The backing files in which Core Data stores large binary values.
enum ExternalFile {
    /// The first byte of a column value that contains the data after this byte.
    static let inlineMark: UInt8 = 1
    /// The first byte of a column value that contains the name of a backing file after this byte: a UUID and a NUL.
    static let fileMark: UInt8 = 2

    /// Returns the name of the backing file of a column value, or nil if the value is not in a backing file.
    ///
    /// A name that is not a UUID is rejected, because it could refer to a file outside the folder.
    static func name(in columnValue: UnsafeRawBufferPointer) -> String? {
        guard columnValue.first == fileMark else { return nil }
        let name = String(decoding: columnValue.dropFirst().prefix { $0 != 0 }, as: UTF8.self)
        return UUIDValue(name) == nil ? nil : name
    }

    /// Returns the folder of the backing files: `.<name without extension>_SUPPORT/_EXTERNAL_DATA` next to the store.
    static func folder(ofStore path: String) -> String {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        let name = parts.last ?? ""
        let stem = name.lastIndex(of: ".").map { $0 == name.startIndex ? name : String(name[..<$0]) } ?? name
        return parts.dropLast().joined(separator: "/") + "/.\(stem)_SUPPORT/_EXTERNAL_DATA"
    }

    /// Returns a folder of backing files and its parent, both of which exist only for these files. The parent is first.
    static func folders(_ folder: String) -> [String] {
        [String(folder[..<(folder.lastIndex(of: "/") ?? folder.startIndex)]), folder]
    }

    /// Creates a folder of backing files and its parent, unless they exist.
    ///
    /// - Parameters:
    ///   - permissions: The permissions of the store; nil restricts the folders to the owner.
    ///   - failure: Returns the error for a folder that cannot be created, from its path and an `errno`.
    // If this function and `synchroniseFolders` were inlined, the optimiser would merge the ends of their loops in some
    // builds only. Builds must be reproducible, so neither function is inlined.
    @inline(never)
    static func makeFolders(
        _ folder: String, beside permissions: FilePermissions?, failure: (String, Int32) -> CoreError
    ) throws {
        for path in folders(folder) {
            guard mkdir(path, 0o700) == 0 else {
                let code = errno
                if code == EEXIST { continue }
                throw failure(path, code)
            }
            permissions?.ofCompanions.ofFolder.apply(toFolderAt: path)
        }
    }

    /// Flushes the entries of a folder of backing files and of its parent to disk.
    @inline(never)
    static func synchroniseFolders(_ folder: String, failure: (String, Int32) -> CoreError) throws {
        for path in folders(folder) {
            let code = synchronise(folder: path)
            guard code == 0 else { throw failure(path, code) }
        }
    }

    /// Whether a regular file exists at the path.
    static func isThere(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// The maximum size of a backing file in bytes. Records store sizes in 32 bits.
    private static let largest = Int(Int32.max)

    /// Returns why a file of the given size is not read or copied, as a clause with its remedy; nil if it is permitted.
    static func excess(_ size: Int, _ limits: StoreLimits) -> String? {
        guard size > limits.externalBytes else { return nil }
        return
            "has \(size) bytes, more than external_limit (\(limits.externalBytes)); raise external_limit if the file is trusted"
    }

    static func read(_ path: String, _ limits: StoreLimits) -> ExternalValue {
        // Without O_NONBLOCK, opening a pipe of that name would block.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            return errno == ENOENT || errno == ENOTDIR
                ? .missing(file: path) : unreadable(path, errno)
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return unreadable(path, errno) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            return unreadable(path, "is not a regular file; restore it from a backup")
        }
        let size = Int(status.st_size)
        if let excess = excess(size, limits) { return unreadable(path, excess) }
        guard size <= largest else {
            return unreadable(
                path, "has \(size) bytes, but a value has at most \(largest); replace the file with a smaller one")
        }
        // Holes do not occupy the disk, so a small file could claim a large amount of memory.
        if hasHoles(descriptor, size: size, over: limits.valueBytes) {
            return unreadable(
                path,
                "is a sparse file of \(size) bytes with holes beyond the store's value_limit of "
                    + "\(limits.valueBytes) bytes; raise value_limit if the file is trusted")
        }
        var failure: ExternalValue?
        let bytes = Bytes(count: size) { memory in failure = fill(memory, from: descriptor, at: path) }
        return failure ?? .bytes(bytes)
    }

    /// Reads the file into memory. Returns the failure; nil if the memory is filled.
    private static func fill(
        _ memory: UnsafeMutableRawBufferPointer, from descriptor: Int32, at path: String
    ) -> ExternalValue? {
        var done = 0
        while done < memory.count {
            let count = Glibc.read(descriptor, memory.baseAddress.map { $0 + done }, memory.count - done)
            if count < 0 && errno == EINTR { continue }
            if count < 0 { return unreadable(path, errno) }
            if count == 0 { return unreadable(path, "was truncated while it was read; repeat the call") }
            done += count
        }
        return nil
    }

    private static func unreadable(_ path: String, _ problem: String) -> ExternalValue {
        .unreadable(file: path, fault: "the backing file \(path) \(problem)")
    }

    private static func unreadable(_ path: String, _ code: Int32) -> ExternalValue {
        unreadable(path, "cannot be read: \(SystemError(code).text)\(SystemError(code).remedyForReading())")
    }
}

extension SQLiteStore {
    func externalValue(named name: String) -> ExternalValue {
        name.isEmpty
            ? .unreadable(
                file: externalFolder,
                fault: "the name of the backing file in the row is damaged; restore the store from a backup")
            : ExternalFile.read("\(externalFolder)/\(name)", options.limits)
    }

    func hasExternalValue(named name: String) -> Bool { ExternalFile.isThere("\(externalFolder)/\(name)") }
}
