import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// The first bytes of a file, which say what kind of file it is.
struct FileHeader {
    /// Up to 4096.
    private let bytes: [UInt8]

    init(_ connection: Connection) throws { bytes = try connection.bytes(from: 0, count: 4096) }

    var isDatabase: Bool { bytes.starts(with: Array("SQLite format 3\0".utf8)) }

    /// Bytes of a page; 0 when the header is cut off, or names no size that pages can have.
    var pageSize: Int {
        guard bytes.count >= 18 else { return 0 }
        let size = Int(bytes[16]) << 8 | Int(bytes[17])
        if size == 1 { return 65536 }
        return size >= 512 && size & (size - 1) == 0 ? size : 0
    }

    /// Bytes of the database as its last writer counted them; 0 when it did not, as old versions of SQLite.
    var size: Int {
        guard bytes.count >= 100, bytes[24..<28] == bytes[92..<96] else { return 0 }
        return bytes[28..<32].reduce(0) { $0 << 8 | Int($1) } * pageSize
    }

    /// Grows with every transaction that changes the first page, be it in the file or in its log.
    var changeCounter: UInt32 {
        guard bytes.count >= 28 else { return 0 }
        return bytes[24..<28].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Whether the file was last written with a write-ahead log.
    var usesLog: Bool { bytes.count > 18 && bytes[18] == 2 }

    /// The type of store that it is, as far as its bytes tell; nil for what is none that can be opened.
    func storeType(_ connection: Connection) throws -> StoreType? {
        if isDatabase { return .sqlite }
        if isXMLStore { return .xml }
        if isText { return nil }
        return contains(StoreType.binaryMark) ? .binary : nil
    }

    /// Throws unless the file is an SQLite database; the error says what it is instead, as far as its bytes tell.
    func requireDatabase(_ place: StorePlace, _ connection: Connection) throws {
        if isDatabase || bytes.isEmpty { return }
        throw other(try kind(place, connection, wanted: .sqlite), place)
    }

    /// Throws when the file is no store of a type that has no other test than to be read; what may be a damaged one passes.
    func require(_ type: StoreType, _ place: StorePlace, _ connection: Connection) throws {
        if bytes.isEmpty { return }
        let found = try storeType(connection)
        if found == type { return }
        if found == nil {
            if type == .xml, XMLParser.mayRead(bytes), !contains("<model") { return }
            if type == .binary, bytes.starts(with: Array("bplist0".utf8)), !contains("NSManagedObjectModel") { return }
        }
        throw other(try kind(place, connection, wanted: type), place)
    }

    private func other(_ kind: Kind, _ place: StorePlace) -> CoreError {
        CoreError(
            kind.isStore ? .unsupported : .notAStore,
            code: kind.isStore ? .persistentStoreInvalidType : .persistentStoreOpen,
            "\(place.given) is \(kind.text)", file: place.given)
    }

    private struct Kind {
        /// What completes "… is", and the remedy.
        let text: String
        /// A store of another type than ours.
        var isStore = false

        static func ofType(_ type: StoreType, wanted: StoreType) -> Kind {
            let name = type.rawValue
            return Kind(
                text:
                    "\(type == .binary ? "a" : "an") \(name) store, not a store of type \(wanted.rawValue); add it with the "
                    + "type \"\(name)\"", isStore: true)
        }

        static let otherStore =
            "migrate it to an SQLite or XML store with Apple's framework (migratePersistentStore)"
    }

    /// Texts in it may have any character.
    private var isXMLStore: Bool { XMLParser.mayRead(bytes) && contains("<database") }

    private func kind(_ place: StorePlace, _ connection: Connection, wanted: StoreType) throws -> Kind {
        if isDatabase { return .ofType(.sqlite, wanted: wanted) }
        if isXMLStore { return .ofType(.xml, wanted: wanted) }
        if isText {
            if contains("<model") {
                return Kind(
                    text: "a model in source form, not a store; pass it as the model of a store")
            }
            return Kind(text: "a text file, not a store; pass the path of a store or of a new file")
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
        return Kind(text: "not \(name); pass the path of a store or of a new file")
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
        return Kind(text: "a property list, not a store; pass the path of a store")
    }

    private static let packed: [(mark: [UInt8], name: String)] = [
        ([0x1f, 0x8b], "gzip"), (Array("PK\u{3}\u{4}".utf8), "zip"), ([0xfd] + Array("7zXZ".utf8), "xz"),
        (Array("BZh".utf8), "bzip2"), ([0x28, 0xb5, 0x2f, 0xfd], "Zstandard"), (Array("7z".utf8) + [0xbc, 0xaf], "7z"),
    ]

    private var isText: Bool {
        let start = bytes.starts(with: [0xef, 0xbb, 0xbf]) ? bytes.dropFirst(3) : bytes[...]
        return start.allSatisfy { $0 >= 0x20 && $0 != 0x7f || [9, 10, 13].contains($0) }
    }

    /// Encrypted bytes are as even as chance makes them. Fewer than a kilobyte tell nothing.
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
