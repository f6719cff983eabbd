import CorestoneValues
import Glibc

/// A file or folder that is said to hold a model.
package struct ModelFile {
    package let path: String
    /// What errors call it: the path that the host gave, also of a draft and of what a link leads to.
    let shown: String

    package init(_ path: String, shownAs shown: String? = nil) {
        var path = path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        self.path = path
        self.shown = shown ?? path
    }

    /// The last part of the path, and without what follows its last dot.
    package var name: String { path.split(separator: "/").last.map(String.init) ?? path }
    var stem: String { ModelFile.stem(name) }

    static func stem(_ name: String) -> String {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return name }
        return String(name[..<dot])
    }

    /// The folder it lies in.
    var folder: ModelFile {
        guard let slash = path.lastIndex(of: "/") else { return ModelFile(".") }
        return ModelFile(slash == path.startIndex ? "/" : String(path[..<slash]))
    }

    package func child(_ name: String) -> ModelFile {
        func inside(_ path: String) -> String { path == "/" ? "/\(name)" : "\(path)/\(name)" }
        return ModelFile(inside(path), shownAs: inside(shown))
    }

    /// What the system knows of it, or of what it leads to; nil when nothing is there.
    var facts: stat? {
        var facts = stat()
        return stat(path, &facts) == 0 ? facts : nil
    }

    package var isFolder: Bool { facts.map { $0.st_mode & S_IFMT == S_IFDIR } ?? false }
    package var exists: Bool { facts != nil }

    /// Names in a folder are listed up to this many; bundles hold a few versions.
    static let maximumEntries = 10_000

    /// The names in the folder, sorted; without `.` and `..`.
    package func entries() throws -> [String] {
        guard let folder = FolderNames(path) else {
            throw failure("cannot be listed: \(String(cString: strerror(errno)))")
        }
        var names: [String] = []
        for name in folder {
            names.append(name)
            guard names.count <= ModelFile.maximumEntries else {
                throw failure(
                    "contains more than \(ModelFile.maximumEntries) files, which is the limit; remove files that are not part of the model"
                )
            }
        }
        return sortedByBytes(names)
    }

    /// The whole content of a regular file.
    ///
    /// - Parameter holes: bytes of a sparse file that may be missing: nobody paid for the memory that they take.
    package func bytes(limit: Int = Model.maximumFileSize, holes: Int = .max) throws -> [UInt8] {
        // A pipe would keep us waiting for whoever writes to it.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw failure("cannot be read: \(String(cString: strerror(errno)))") }
        defer { close(descriptor) }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
            throw failure("is not a regular file")
        }
        guard facts.st_size <= limit else {
            throw failure("has \(facts.st_size) bytes, but the limit is \(limit)")
        }
        let size = Int(facts.st_size)
        if hasHoles(descriptor, size: size, over: holes) {
            throw failure(
                "is a sparse file of \(size) bytes with holes beyond the store's value_limit of \(holes) bytes; raise "
                    + "value_limit if the file is trusted", key: "value_limit", value: .int(Int64(holes)))
        }
        try MemoryRoom.require(size, to: "read \(shown)", file: shown, isOfAtomicStore: holes != .max)
        var (count, errorNumber) = (0, Int32(0))
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, used in
            while count < size {
                let got = read(descriptor, buffer.baseAddress.map { $0 + count }, size - count)
                if got < 0 && errno == EINTR { continue }
                if got < 0 { errorNumber = errno }
                if got <= 0 { break }
                count += got
            }
            used = count
        }
        guard errorNumber == 0 else { throw failure("cannot be read: \(String(cString: strerror(errorNumber)))") }
        return bytes
    }

    /// - Parameter what: what follows the path in a sentence.
    package func failure(
        _ what: String, _ status: Status = .storeIO, entity: String? = nil, key: String? = nil,
        value: PropertyValue? = nil
    ) -> CoreError {
        CoreError(status, code: .coreData, "\(shown) \(what)", entity: entity, key: key, value: value, file: shown)
    }

    /// Runs a reader; its errors name the file.
    package func reading<Result>(as noun: String = "a model", _ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let error as CoreError where error.file == nil {
            throw CoreError(
                error.status == .storeCorrupt ? .model : error.status, code: .coreData,
                "\(shown) cannot be read as \(noun): \(error.message)", entity: error.entity, key: error.key,
                value: error.value, file: shown, offset: error.offset)
        }
    }
}
