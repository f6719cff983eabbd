import CPlatform
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// Where programs keep their data, as the XDG Base Directory Specification has it.
enum DataFolder {
    /// `$XDG_DATA_HOME`, or `.local/share` in `$HOME`, with the application's name behind it. Nothing is made.
    ///
    /// - Throws: `.invalidArgument` where neither variable says anything, or the application's name is none of a folder.
    static func path(application: String) throws -> String {
        guard !application.isEmpty, application != ".", application != "..", !application.utf8.contains(0),
            !application.utf8.contains(UInt8(ascii: "/"))
        else {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOpen,
                "the application name \"\(application)\" is not a valid folder name. Use a name that is not empty, \".\" or \"..\" and does "
                    + "not contain a slash or a NUL character",
                value: .string(application))
        }
        return try home(application) + "/" + application
    }

    private static func home(_ application: String) throws -> String {
        // The specification has relative paths ignored.
        if let home = variable("XDG_DATA_HOME") { return home }
        if let home = variable("HOME") { return home + "/.local/share" }
        throw CoreError(
            .invalidArgument, code: .persistentStoreOpen,
            "cannot find the data folder of \"\(application)\": neither XDG_DATA_HOME nor HOME is an absolute path; set one, "
                + "or pass the path of the store",
            value: .string(application))
    }

    private static func variable(_ name: String) -> String? {
        guard let value = getenv(name).map({ String(cString: $0) }), value.hasPrefix("/") else { return nil }
        let trimmed = String(value.reversed().drop { $0 == "/" }.reversed())
        return trimmed.isEmpty ? "/" : trimmed
    }

    /// The name of the program's file.
    static var program: String { programPath.split(separator: "/").last.map(String.init) ?? "corestone" }

    private static var programPath: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX) + 1) { buffer in
            guard let start = buffer.baseAddress else { return "" }
            let count = readlink("/proc/self/exe", start, Int(PATH_MAX))
            guard count > 0 else { return "" }
            return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }

    /// Makes the folder of a file that is to be, with those above it, for the user alone.
    static func makeFolder(for path: String) throws {
        for (place, byte) in path.utf8.enumerated() where byte == UInt8(ascii: "/") && place > 0 {
            let folder = String(decoding: path.utf8.prefix(place), as: UTF8.self)
            if mkdir(folder, 0o700) == 0 || errno == EEXIST || errno == EISDIR { continue }
            let reason = errno
            // What cannot be written may be there all the same.
            if access(folder, F_OK) == 0 { continue }
            throw CoreError(
                .storeIO, code: .persistentStoreOpen,
                "cannot create the folder \(folder) for \(path): \(String(cString: strerror(reason))); make its parent "
                    + "folder writable, or pass another path for the store", file: path)
        }
    }

    // MARK: Models by name

    private static let endings = [".momd", ".mom", ".xcdatamodeld", ".xcdatamodel"]

    /// The model of a name, from the first folder that has one.
    ///
    /// The folders: those of `CORESTONE_MODEL_PATH`, with colons between them; that of the program; `share/` and the application's
    /// name beside the program's folder; the application's data folder; the same below each of `XDG_DATA_DIRS`; the working folder.
    ///
    /// - Throws: `.model` with the folders where none has it; what reading it fails with.
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
            "cannot find the model \"\(name)\" (\(endings.joined(separator: ", "))) in \(places.joined(separator: ", ")); pass the model, or "
                + "add its folder to CORESTONE_MODEL_PATH", value: .string(name))
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
