import Glibc

/// The headers and the library that were installed with this tool.
struct Installation {
    static let libraryName = "libcorestone.so.1"

    /// The folder of the headers; nil if it was not found, or if compilers search it without a flag.
    let headers: String?
    /// The folder of the library; nil if it was not found, or if linkers search it without a flag.
    let library: String?

    /// The installation of this program, whose file is in `bin` of a prefix or of the Python package.
    static var ofThisTool: Installation {
        guard let tool = realpath("/proc/self/exe", nil) else { return Installation(headers: nil, library: nil) }
        defer { free(tool) }
        let parts = String(cString: tool).split(separator: "/").dropLast(2)
        let prefix = parts.map { "/\($0)" }.joined()
        if prefix == "/usr" || prefix.isEmpty { return Installation(headers: nil, library: nil) }
        let folders = ["\(prefix)/lib", "\(prefix)/lib64", prefix]
        return Installation(
            headers: isThere("\(prefix)/include/corestone.h") ? "\(prefix)/include" : nil,
            library: folders.first { isThere("\($0)/\(libraryName)") })
    }

    private static func isThere(_ path: String) -> Bool { access(path, F_OK) == 0 }
}
