import CorestoneFormats
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// The first bytes of a file, from which its type is detected.
struct FileHeader {
    /// The first bytes, at most 4,096.
    private let bytes: [UInt8]

    init(_ connection: Connection) throws { bytes = try connection.bytes(from: 0, count: 4096) }

    var isDatabase: Bool { bytes.starts(with: Array("SQLite format 3\0".utf8)) }

    /// The page size in bytes; 0 if the header is truncated or the size is invalid.
    var pageSize: Int {
        guard bytes.count >= 18 else { return 0 }
        let size = Int(bytes[16]) << 8 | Int(bytes[17])
        if size == 1 { return 65536 }
        return size >= 512 && size & (size - 1) == 0 ? size : 0
    }

    /// The size of the database in bytes, as recorded by its last writer; 0 if it was not recorded. Old versions of
    /// SQLite do not record it.
    var size: Int {
        guard bytes.count >= 100, bytes[24..<28] == bytes[92..<96] else { return 0 }
        return bytes[28..<32].reduce(0) { $0 << 8 | Int($1) } * pageSize
    }

    /// A counter that increases with every transaction that changes the first page, in the file or in its log.
    var changeCounter: UInt32 {
        guard bytes.count >= 28 else { return 0 }
        return bytes[24..<28].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Whether the file was last written with a write-ahead log.
    var usesLog: Bool { bytes.count > 18 && bytes[18] == 2 }

    /// Returns the type of store that the bytes indicate, or nil for a file that cannot be opened as a store.
    func storeType(_ connection: Connection) throws -> StoreType? {
        if isDatabase { return .sqlite }
        if isXMLStore { return .xml }
        if isText { return nil }
        return contains(StoreType.binaryMark) ? .binary : nil
    }

    /// Throws unless the file is an SQLite database or empty. The error describes the type of the file.
    func requireDatabase(_ place: StoreLocation, _ connection: Connection) throws {
        if isDatabase || bytes.isEmpty { return }
        throw other(try kind(place, connection, wanted: .sqlite), place)
    }

    /// Throws if the file is not a store of the given atomic type.
    ///
    /// An empty file passes. A file that may be a damaged store passes too, because only reading it can show whether it
    /// is one.
    func require(_ type: StoreType, _ place: StoreLocation, _ connection: Connection) throws {
        if bytes.isEmpty { return }
        let found = try storeType(connection)
        if found == type { return }
        if found == nil {
            if type == .xml, XMLParser.mayRead(bytes), !contains("<model") { return }
            if type == .binary, bytes.starts(with: Array("bplist0".utf8)), !contains("NSManagedObjectModel") { return }
        }
        throw other(try kind(place, connection, wanted: type), place)
    }

    private func other(_ kind: Kind, _ place: StoreLocation) -> CoreError {
        CoreError(
            kind.isStore ? .unsupported : .notAStore,
            code: kind.isStore ? .persistentStoreInvalidType : .persistentStoreOpen,
            "\(place.given) is \(kind.text)", file: place.given)
    }

    private struct Kind {
        /// Completes "… is", and contains the remedy.
        let text: String
        /// Whether the file is a store of another type.
        var isStore = false

        static func ofType(_ type: StoreType, wanted: StoreType) -> Kind {
            let name = type.rawValue
            return Kind(
                text:
                    "\(type == .binary ? "a" : "an") \(name) store, not a store of type \(wanted.rawValue); use the "
                    + "type \"\(name)\"", isStore: true)
        }

        static let otherStore =
            "migrate it to an SQLite or XML store with Apple's framework (migratePersistentStore)"
    }

    /// Whether the file looks like an XML store. It must be tested before `isText`, which is usually true for an XML
    /// store too.
    private var isXMLStore: Bool { XMLParser.mayRead(bytes) && contains("<database") }

    private func kind(_ place: StoreLocation, _ connection: Connection, wanted: StoreType) throws -> Kind {
        if isDatabase { return .ofType(.sqlite, wanted: wanted) }
        if isXMLStore { return .ofType(.xml, wanted: wanted) }
        if isText {
            if contains("<model") {
                return Kind(
                    text: "a model in source form, not a store; pass it as the model of a store")
            }
            return Kind(text: "a text file, not a store; check the path")
        }
        if contains(StoreType.binaryMark) { return .ofType(.binary, wanted: wanted) }
        if bytes.starts(with: Array("bplist0".utf8)) { return try propertyListKind(connection, wanted) }
        if bytes.starts(with: [0x04, 0x0b] + Array("streamtyped".utf8)) {
            return Kind(
                text: "an archive of Apple's framework, possibly a binary store; \(Kind.otherStore)", isStore: true)
        }
        if let format = FileHeader.packed.first(where: { bytes.starts(with: $0.mark) })?.name {
            return Kind(text: "a \(format) archive, not a store; extract it and open the store inside")
        }
        if looksEncrypted {
            return Kind(
                text: "not a readable SQLite database: it appears to be encrypted (by SQLCipher, for example); "
                    + "decrypt it with its key and open the result")
        }
        let name = wanted == .sqlite ? "an SQLite database" : "a store of type \(wanted.rawValue)"
        return Kind(text: "not \(name); check the path")
    }

    private func propertyListKind(_ connection: Connection, _ wanted: StoreType) throws -> Kind {
        let all = try connection.bytes(from: 0, count: 16 << 20)
        func names(_ text: String) -> Bool { position(of: Array(text.utf8), in: all) != nil }
        if names("NSStoreModelVersionHashes") {
            let text = "a binary store of Apple's framework, not a store of type \(wanted.rawValue); \(Kind.otherStore)"
            return Kind(text: text, isStore: true)
        }
        if names("NSManagedObjectModel") {
            return Kind(text: "a compiled model, not a store; pass it as the model of a store")
        }
        return Kind(text: "a property list, not a store; check the path")
    }

    private static let packed: [(mark: [UInt8], name: String)] = [
        ([0x1f, 0x8b], "gzip"), (Array("PK\u{3}\u{4}".utf8), "zip"), ([0xfd] + Array("7zXZ".utf8), "xz"),
        (Array("BZh".utf8), "bzip2"), ([0x28, 0xb5, 0x2f, 0xfd], "Zstandard"), (Array("7z".utf8) + [0xbc, 0xaf], "7z"),
    ]

    private var isText: Bool {
        let start = bytes.starts(with: [0xef, 0xbb, 0xbf]) ? bytes.dropFirst(3) : bytes[...]
        return start.allSatisfy { $0 >= 0x20 && $0 != 0x7f || [9, 10, 13].contains($0) }
    }

    /// Whether the bytes are distributed as evenly as random ones, as encrypted bytes are. Fewer than 1,024 bytes do
    /// not suffice for this test.
    private var looksEncrypted: Bool {
        guard bytes.count >= 1024 else { return false }
        var counts = [Int](repeating: 0, count: 256)
        for byte in bytes { counts[Int(byte)] += 1 }
        let entropy = counts.reduce(0.0) { sum, count in
            let share = Double(count) / Double(bytes.count)
            return count == 0 ? sum : sum - share * log2(share)
        }
        return entropy > 7.6
    }

    private func contains(_ text: String) -> Bool { position(of: Array(text.utf8), in: bytes) != nil }
}
