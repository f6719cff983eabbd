import CorestoneValues
import Glibc

/// A file or folder of a model or store, or a file or folder beside it.
///
/// Errors name the path that the application passed.
package struct LocalFile {
    package let path: String
    /// The path for errors: the application's path, even for a draft and for the target of a link.
    package let shown: String

    package init(_ path: String, shownAs shown: String? = nil) {
        var path = path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        self.path = path
        self.shown = shown ?? path
    }

    /// The last component of the path. `stem` is the name without its extension.
    package var name: String { path.split(separator: "/").last.map(String.init) ?? path }
    package var stem: String { LocalFile.stem(name) }

    package static func stem(_ name: String) -> String {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return name }
        return String(name[..<dot])
    }

    /// The parent folder.
    package var folder: LocalFile {
        guard let slash = path.lastIndex(of: "/") else { return LocalFile(".") }
        return LocalFile(slash == path.startIndex ? "/" : String(path[..<slash]))
    }

    package func child(_ name: String) -> LocalFile {
        func inside(_ path: String) -> String { path == "/" ? "/\(name)" : "\(path)/\(name)" }
        return LocalFile(inside(path), shownAs: inside(shown))
    }

    /// The file status, following links; nil if it cannot be read, for example because the file does not exist.
    package var fileStatus: stat? {
        var fileStatus = stat()
        return stat(path, &fileStatus) == 0 ? fileStatus : nil
    }

    package var isFolder: Bool { fileStatus.map { $0.st_mode & S_IFMT == S_IFDIR } ?? false }
    package var exists: Bool { fileStatus != nil }
    /// The permissions of the file; nil if they cannot be read, for example of a missing file.
    package var permissions: FilePermissions? { FilePermissions(of: path) }

    /// Checks that the file or folder exists.
    ///
    /// - Throws: `.storeIO` if it does not exist, or with the system's error if its status cannot be read.
    package func requireExistence() throws {
        var fileStatus = stat()
        guard stat(path, &fileStatus) != 0 else { return }
        let error = SystemError.last
        throw failure(
            error.isMissing
                ? "does not exist; check the path"
                : "cannot be read: \(error.text)\(error.remedyForFinding(lost: "restore the file from a backup"))")
    }

    /// The maximum number of entries of a folder. Bundles contain a few versions.
    static let maximumEntries = 10_000

    /// Returns the names in the folder, sorted, without `.` and `..`.
    package func entries() throws -> [String] {
        guard let folder = FolderNames(path) else {
            let error = SystemError.last
            throw failure(
                "cannot be listed: \(error.text)"
                    + (error.isMissing ? "; check the path" : error.remedyForReading("the folder", lost: nil)))
        }
        var names: [String] = []
        for name in folder {
            names.append(name)
            guard names.count <= LocalFile.maximumEntries else {
                throw failure(
                    "contains more than \(LocalFile.maximumEntries) files, which is the limit; move unrelated files to another folder"
                )
            }
        }
        return sortedByBytes(names)
    }

    /// Reads a regular file as a whole.
    ///
    /// - Parameters:
    ///   - limit: the maximum size of the file in bytes.
    ///   - holes: the maximum size of all holes of a sparse file in bytes. Holes use memory but no disk space.
    package func bytes(limit: Int, holes: Int = .max) throws -> [UInt8] {
        // O_NONBLOCK, because opening a pipe would wait for a writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            let error = SystemError.last
            throw failure(
                "cannot be read: \(error.text)\(error.isMissing ? "; check the path" : error.remedyForReading())")
        }
        defer { close(descriptor) }
        var fileStatus = stat()
        guard fstat(descriptor, &fileStatus) == 0, fileStatus.st_mode & S_IFMT == S_IFREG else {
            throw failure("is not a regular file")
        }
        guard fileStatus.st_size <= limit else {
            throw failure("has \(fileStatus.st_size) bytes, but the limit is \(limit)")
        }
        let size = Int(fileStatus.st_size)
        if hasHoles(descriptor, size: size, over: holes) {
            throw failure(
                "is a sparse file of \(size) bytes with holes beyond the store's value_limit of \(holes) bytes; raise "
                    + "value_limit if the file is trusted", key: "value_limit", value: .int(Int64(holes)))
        }
        try MemoryCheck.require(size, to: "read \(shown)", file: shown, isOfAtomicStore: holes != .max)
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
        guard errorNumber == 0 else {
            let error = SystemError(errorNumber)
            throw failure("cannot be read: \(error.text)\(error.remedyForReading())")
        }
        return bytes
    }

    /// Creates the error for a failed operation on the file.
    ///
    /// - Parameter problem: the clause after the path.
    package func failure(
        _ problem: String, _ status: Status = .storeIO, entity: String? = nil, key: String? = nil,
        value: PropertyValue? = nil
    ) -> CoreError {
        CoreError(status, code: .coreData, "\(shown) \(problem)", entity: entity, key: key, value: value, file: shown)
    }

    /// Runs `body`, which reads the file. Errors that do not name a file then name this one.
    ///
    /// In these errors, `.storeCorrupt` becomes `.model`.
    package func reading<Result>(as noun: String = "a model", _ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let error as CoreError where error.file == nil {
            throw CoreError(
                error.status == .storeCorrupt ? .model : error.status, code: .coreData,
                "\(shown) cannot be read as \(noun): \(error.message)", entity: error.entity, key: error.key,
                value: error.value, predicate: error.predicate, objectURI: error.objectURI, file: shown,
                offset: error.offset)
        }
    }
}
