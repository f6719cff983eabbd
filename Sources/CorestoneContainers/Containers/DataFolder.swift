import CPlatform
import CorestoneFileSystem
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// The folder of a program's data, according to the XDG Base Directory Specification.
enum DataFolder {
    /// Returns `$XDG_DATA_HOME/<application>`, or else `$HOME/.local/share/<application>`. Does not create the folder.
    ///
    /// - Throws: `.invalidArgument` if neither variable is an absolute path, or if the application's name is not a
    ///   valid folder name.
    static func path(application: String) throws -> String {
        guard !application.isEmpty, application != ".", application != "..", !application.utf8.contains(0),
            !application.utf8.contains(UInt8(ascii: "/"))
        else {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOpen,
                "the application name \"\(application)\" is not a valid folder name. Use a name that is not empty, \".\" or \"..\" and does "
                    + "not contain a slash or a NUL byte",
                key: "application", value: .string(application))
        }
        return try home(application) + "/" + application
    }

    private static func home(_ application: String) throws -> String {
        // The specification requires that relative paths are ignored.
        if let home = variable("XDG_DATA_HOME") { return home }
        if let home = variable("HOME") { return home + "/.local/share" }
        throw CoreError(
            .invalidArgument, code: .persistentStoreOpen,
            "cannot find the data folder of \"\(application)\": neither XDG_DATA_HOME nor HOME is an absolute path; "
                + "set one of them to such a path, or pass the path of each store",
            key: "application", value: .string(application))
    }

    private static func variable(_ name: String) -> String? {
        guard let value = getenv(name).map({ String(cString: $0) }), value.hasPrefix("/") else { return nil }
        let trimmed = String(value.reversed().drop { $0 == "/" }.reversed())
        return trimmed.isEmpty ? "/" : trimmed
    }

    /// The name of the program's file; "corestone" if the system does not report the name.
    static var program: String { programPath.split(separator: "/").last.map(String.init) ?? "corestone" }

    private static var programPath: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX) + 1) { buffer in
            guard let start = buffer.baseAddress else { return "" }
            let count = readlink("/proc/self/exe", start, Int(PATH_MAX))
            guard count > 0 else { return "" }
            return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }

    /// Creates the folder of a new file and its missing parent folders, with permissions for the user only.
    static func makeFolder(for path: String) throws {
        for (place, byte) in path.utf8.enumerated() where byte == UInt8(ascii: "/") && place > 0 {
            let folder = String(decoding: path.utf8.prefix(place), as: UTF8.self)
            if mkdir(folder, 0o700) == 0 || errno == EEXIST || errno == EISDIR { continue }
            let error = SystemError.last
            // The folder can exist although its parent is not writable.
            if access(folder, F_OK) == 0 { continue }
            throw CoreError(
                .storeIO, code: .persistentStoreOpen,
                "cannot create the folder \(folder) for \(path): \(error.text); "
                    + (error.isReadOnly
                        ? "make the folder \(LocalFile(folder).folder.path) accessible and writable, or " : "")
                    + "pass another path for the store", file: path)
        }
    }

    // MARK: Models by name

    private static let endings = [".momd", ".mom", ".xcdatamodeld", ".xcdatamodel"]

    /// Returns the model with a name, from the first folder that contains it.
    ///
    /// `folders` are searched first, then the colon-separated folders in `CORESTONE_MODEL_PATH`, the program's folder,
    /// and `../share/<application>` relative to it. The application's data folder, `<application>` in each of
    /// `XDG_DATA_DIRS`, and the working directory follow.
    ///
    /// - Throws: `.model` with the searched folders if the model is not found.
    ///   The error of reading the model.
    static func model(named name: String, application: String, folders: [String]) throws -> Model {
        let places = folders + searchFolders(application)
        for folder in places {
            for ending in endings {
                let path = folder + "/" + name + ending
                if access(path, F_OK) == 0 { return try Model(contentsOf: path) }
            }
        }
        throw CoreError(
            .model, code: .migrationMissingSourceModel,
            "cannot find the model \"\(name)\" (\(endings.joined(separator: ", "))) in \(places.listed); pass the model, or "
                + "add its folder to CORESTONE_MODEL_PATH", key: "name", value: .string(name))
    }

    private static func searchFolders(_ application: String) -> [String] {
        func list(_ name: String, _ fallback: String) -> [String] {
            let value = getenv(name).map { String(cString: $0) } ?? ""
            return (value.isEmpty ? fallback : value).split(separator: ":").map(String.init)
        }
        var found = list("CORESTONE_MODEL_PATH", "")
        let program = String(programPath.reversed().drop { $0 != "/" }.dropFirst().reversed())
        if !program.isEmpty { found += [program, program + "/../share/" + application] }
        if let own = try? path(application: application) { found.append(own) }
        found += list("XDG_DATA_DIRS", "/usr/local/share:/usr/share").filter { $0.hasPrefix("/") }.map {
            $0 + "/" + application
        }
        return found + ["."]
    }
}
