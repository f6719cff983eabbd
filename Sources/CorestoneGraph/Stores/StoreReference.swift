import CorestoneModel
import CorestoneValues

/// The identifier of a row in a custom store: permanent, and unique within an entity tree.
public enum StoreReference: Sendable {
    case integer(Int64)
    /// Text, not empty. It is compared bytewise: composed and decomposed `é` are two references.
    case text(String)
    /// Bytes, not empty.
    case bytes([UInt8])
}

extension StoreReference: Hashable {
    public static func == (a: StoreReference, b: StoreReference) -> Bool {
        switch (a, b) {
        case (.integer(let a), .integer(let b)): a == b
        case (.text(let a), .text(let b)): a.utf8.elementsEqual(b.utf8)
        case (.bytes(let a), .bytes(let b)): a == b
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .integer(let number): hasher.combine(number)
        case .text(var text): text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        case .bytes(let bytes): hasher.combine(bytes)
        }
    }
}

extension StoreReference {
    /// The reference as a value: an integer, text or bytes.
    public var value: PropertyValue {
        switch self {
        case .integer(let number): .int(number)
        case .text(let text): .string(text)
        case .bytes(let bytes): .bytes(Bytes(bytes))
        }
    }

    /// Creates a reference from a value.
    ///
    /// Returns nil for an empty value, and for a value that is not an integer, text or bytes.
    public init?(_ value: PropertyValue) {
        switch value {
        case .int(let number): self = .integer(number)
        case .text(let text) where text.count > 0: self = .text(text.string)
        case .bytes(let bytes) where bytes.count > 0: self = .bytes(Array(bytes.buffer.bytes))
        default: return nil
        }
    }

    /// The part of a URI after the `p`.
    ///
    /// It is a number, text that is escaped as a URL path, or escaped bytes such as `%3C01abff%3E`. Slashes are not
    /// escaped. This is the format of Apple's framework, as tests with it have shown. Text that looks like a number or
    /// bytes is escaped further, so that every reference has a unique URI.
    var uriText: String {
        switch self {
        case .integer(let number): return "\(number)"
        case .bytes(let bytes):
            return "%3C" + bytes.map { StoreReference.digits($0, StoreReference.lower) }.joined() + "%3E"
        case .text(let text):
            let plain = StoreReference.escaped(text.utf8, from: 0)
            if case .text = StoreReference(uriText: plain) { return plain }
            // Escapes the first character that is not escaped yet.
            return StoreReference.escaped(text.utf8, from: text.utf8.first == UInt8(ascii: "<") ? 2 : 1)
        }
    }

    private static let lower = Array("0123456789abcdef".utf8)
    private static let upper = Array("0123456789ABCDEF".utf8)

    /// The characters of a URL path that are not escaped, besides letters and digits.
    private static let pathCharacters = Array("-._~/!$&'()*+,:=@".utf8)

    private static func digits(_ byte: UInt8, _ digits: [UInt8]) -> String {
        String(decoding: [digits[Int(byte >> 4)], digits[Int(byte & 15)]], as: UTF8.self)
    }

    /// Returns the text, escaped for a URI.
    ///
    /// - Parameter first: The number of leading bytes that are always escaped.
    private static func escaped(_ text: String.UTF8View, from first: Int) -> String {
        var result = ""
        for (place, byte) in text.enumerated() {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"),
                _ where pathCharacters.contains(byte):
                if place >= first {
                    result.unicodeScalars.append(Unicode.Scalar(byte))
                    continue
                }
            default: break
            }
            result += "%" + digits(byte, upper)
        }
        return result
    }

    /// Creates a reference from the text of a URI; nil if the text is not that of a reference.
    init?(uriText text: some StringProtocol) {
        if let number = Int64(text), "\(number)" == String(text) {
            self = .integer(number)
            return
        }
        let raw = Array(text.utf8)
        if raw.count > 6, raw.count % 2 == 0, raw.starts(with: "%3C".utf8), raw.suffix(3).elementsEqual("%3E".utf8),
            let bytes = StoreReference.bytes(ofDigits: raw[3..<(raw.count - 3)])
        {
            self = .bytes(bytes)
            return
        }
        var plain: [UInt8] = []
        var place = 0
        while place < raw.count {
            guard raw[place] == UInt8(ascii: "%") else {
                plain.append(raw[place])
                place += 1
                continue
            }
            guard place + 2 < raw.count, let high = StoreReference.digit(raw[place + 1]),
                let low = StoreReference.digit(raw[place + 2])
            else { return nil }
            plain.append(high << 4 | low)
            place += 3
        }
        guard !plain.isEmpty, plain.withUnsafeBytes({ firstInvalidUTF8($0) }) == nil else { return nil }
        self = .text(String(decoding: plain, as: UTF8.self))
    }

    private static func bytes(ofDigits digits: ArraySlice<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        for place in stride(from: digits.startIndex, to: digits.endIndex, by: 2) {
            guard lower.contains(digits[place]), lower.contains(digits[place + 1]),
                let high = digit(digits[place]), let low = digit(digits[place + 1])
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension StoreReference: CustomStringConvertible {
    public var description: String {
        switch self {
        case .integer(let number): "\(number)"
        case .text(let text): "\"\(text)\""
        case .bytes(let bytes): "<" + bytes.map { StoreReference.digits($0, StoreReference.lower) }.joined() + ">"
        }
    }
}

/// The mapping between the references and the primary keys of a store. Thread-safe.
///
/// Rows, objects and IDs are identified by keys, which are numbers. A positive number below `firstKey` is its own key;
/// other references are assigned a key at their first use. All stores with the same identifier, in all coordinators of
/// the process, share one table, so that their IDs are equal.
package final class ReferenceTable: @unchecked Sendable {
    /// The first key that is assigned to a reference.
    package static let firstKey: Int64 = 1 << 62

    private struct Known {
        var keys: [StoreReference: Int64] = [:]
        var references: [StoreReference] = []

        mutating func key(of reference: StoreReference, first: Int64) -> Int64 {
            if let key = keys[reference] { return key }
            let key = first + Int64(references.count)
            references.append(reference)
            keys[reference] = key
            return key
        }
    }

    /// The references and keys, by the name of the root entity.
    private let trees = Locked<[String: Known]>([:])

    private struct Entry: Sendable { weak var table: ReferenceTable? }
    private static let tables = Locked<[String: Entry]>([:])

    private init() {}

    /// Returns the table of the stores with an identifier. The callers retain it.
    package static func of(_ identifier: String) -> ReferenceTable {
        tables.withLock { tables in
            if let table = tables[identifier]?.table { return table }
            tables = tables.filter { $0.value.table != nil }
            let table = ReferenceTable()
            tables[identifier] = Entry(table: table)
            return table
        }
    }

    package func key(of reference: StoreReference, _ root: Entity) -> Int64 {
        if case .integer(let number) = reference, number > 0, number < ReferenceTable.firstKey { return number }
        return trees.withLock { trees in
            trees[root.name, default: Known()].key(of: reference, first: ReferenceTable.firstKey)
        }
    }

    package func reference(of key: Int64, _ root: Entity) -> StoreReference {
        if key < ReferenceTable.firstKey { return .integer(key) }
        return trees.withLock { trees in
            guard let known = trees[root.name] else { return .integer(key) }
            let place = Int(key - ReferenceTable.firstKey)
            // Only this table creates keys in this range, so others are invalid.
            return place < known.references.count ? known.references[place] : .integer(key)
        }
    }
}

extension ObjectID {
    /// The reference of the row in a custom store, or the primary key in other stores; nil while the ID is temporary.
    public var storeReference: StoreReference? {
        if isTemporary { return nil }
        return store?.references?.reference(of: reference, entity.root) ?? .integer(reference)
    }
}

extension Store {
    /// Returns the ID of a row, even if the row does not exist.
    ///
    /// - Throws: `.invalidArgument` for an entity of another model or configuration, and for an invalid reference:
    ///   built-in stores accept only positive numbers.
    ///   `.objectGone` if the store is not open.
    public func newObjectID(for entity: Entity, reference: StoreReference) throws -> ObjectID {
        try requireOpen()
        guard knows(entity) else {
            throw CoreError(
                .invalidArgument,
                "\(entity.name) does not belong to the model of the coordinator of \(Coordinator.shown(path)); "
                    + "use the entity of that model",
                entity: entity.name, key: "entity", file: path)
        }
        guard mayContain(entity) else {
            throw CoreError(
                .invalidArgument,
                "\(Coordinator.shown(path)) cannot hold \(entity.name) objects, because its configuration "
                    + "\"\(configuration ?? "")\" does not contain \(entity.name); use another store, or open this one "
                    + "with another configuration",
                entity: entity.name, key: "entity", file: path)
        }
        if let references {
            backing.noteEntity(entity, ofKey: references.key(of: reference, entity.root))
            return ObjectID(store: self, entity: entity, reference: references.key(of: reference, entity.root))
        }
        guard case .integer(let number) = reference, number > 0 else {
            throw CoreError(
                .invalidArgument,
                "\(reference) is not a primary key of \(entity.name) in \(Coordinator.shown(path)); "
                    + "pass an integer above zero", entity: entity.name, key: "reference", value: reference.value,
                file: path)
        }
        return ObjectID(store: self, entity: entity, reference: number)
    }
}
