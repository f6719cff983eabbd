import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// Binary values that Core Data put into files beside the store.
enum ExternalFile {
    /// The first byte of a column's value: the data follows.
    static let inlineMark: UInt8 = 1
    /// The first byte of a column's value: the name of a file follows, a UUID and a NUL.
    static let fileMark: UInt8 = 2

    /// The name of the file that a column's value refers to; nil when it refers to none. A name that is no UUID could lead
    /// out of the folder.
    static func name(in columnValue: UnsafeRawBufferPointer) -> String? {
        guard columnValue.first == fileMark else { return nil }
        let name = String(decoding: columnValue.dropFirst().prefix { $0 != 0 }, as: UTF8.self)
        return UUIDValue(name) == nil ? nil : name
    }

    /// `.<name without extension>_SUPPORT/_EXTERNAL_DATA` beside the store.
    static func folder(ofStore path: String) -> String {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        let name = parts.last ?? ""
        let stem = name.lastIndex(of: ".").map { $0 == name.startIndex ? name : String(name[..<$0]) } ?? name
        return parts.dropLast().joined(separator: "/") + "/.\(stem)_SUPPORT/_EXTERNAL_DATA"
    }

    /// Makes a folder for the files of a store of these permissions; nil: for the owner alone. 0, or an `errno`.
    static func makeFolder(_ path: String, beside permissions: FilePermissions?) -> Int32 {
        guard mkdir(path, 0o700) == 0 else { return errno }
        permissions?.ofCompanions.ofFolder.give(toFolderAt: path)
        return 0
    }

    /// Whether there is a file at the path, and not something else.
    static func isThere(_ path: String) -> Bool {
        var facts = stat()
        return lstat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFREG
    }

    /// Larger files are not read: a record counts bytes in 32 bits, and so do most hosts.
    private static let largest = Int(Int32.max)

    /// Why a file of that size is neither read nor copied, as the end of a sentence, with the remedy; nil when it is.
    static func excess(_ size: Int, _ limits: StoreLimits) -> String? {
        guard size > limits.externalBytes else { return nil }
        return
            "has \(size) bytes, more than external_limit (\(limits.externalBytes)); raise external_limit if the file is trusted"
    }

    static func read(_ path: String, _ limits: StoreLimits) -> ExternalValue {
        // Without O_NONBLOCK a pipe of that name would keep the caller waiting.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            return errno == ENOENT || errno == ENOTDIR
                ? .missing(file: path) : unreadable(path, errno)
        }
        defer { close(descriptor) }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0 else { return unreadable(path, errno) }
        guard facts.st_mode & S_IFMT == S_IFREG else { return unreadable(path, "is not a regular file; restore it") }
        let size = Int(facts.st_size)
        if let excess = excess(size, limits) { return unreadable(path, excess) }
        guard size <= largest else {
            return unreadable(
                path, "has \(size) bytes, but a value is limited to \(largest); replace it with a smaller file")
        }
        // Of what is not there, nobody paid for the memory.
        if hasHoles(descriptor, size: size, over: limits.valueBytes) {
            return unreadable(
                path,
                "is sparse: more of its \(size) bytes are missing than value_limit (\(limits.valueBytes)) allows; raise "
                    + "value_limit if the file is trusted")
        }
        var failure: ExternalValue?
        let bytes = Bytes(count: size) { memory in failure = fill(memory, from: descriptor, at: path) }
        return failure ?? .bytes(bytes)
    }

    /// What went wrong; nil when the memory is full.
    private static func fill(
        _ memory: UnsafeMutableRawBufferPointer, from descriptor: Int32, at path: String
    ) -> ExternalValue? {
        var done = 0
        while done < memory.count {
            let count = Glibc.read(descriptor, memory.baseAddress.map { $0 + done }, memory.count - done)
            if count < 0 && errno == EINTR { continue }
            if count < 0 { return unreadable(path, errno) }
            if count == 0 { return unreadable(path, "was truncated while it was read; read it again") }
            done += count
        }
        return nil
    }

    private static func unreadable(_ path: String, _ what: String) -> ExternalValue {
        .unreadable(file: path, fault: "the backing file \(path) \(what)")
    }

    private static func unreadable(_ path: String, _ code: Int32) -> ExternalValue {
        unreadable(path, "cannot be read: \(StorePlace.text(of: code)); make it readable or restore it")
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
