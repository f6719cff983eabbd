import CorestoneFormats
import CorestonePredicate
import CorestoneValues

/// Decodes a keyed archive as plain data.
///
/// An example is the value of a transformable attribute in a store of Apple's framework.
///
/// Supports strings, numbers, decimals, dates, data, UUIDs and URLs, in arrays, sets and dictionaries with strings as
/// keys. An ordered set becomes an array, an archive with several roots a dictionary unless a root is named "root", and
/// an object of any other class an `ArchivedObject`. Classes in the archive are never instantiated.
///
/// - Parameter bytes: the archive, a binary or XML property list.
/// - Throws: `.storeCorrupt` if the bytes are not a keyed archive, are inconsistent or exceed a limit.
///   `.unsupported` for an archive of NSArchiver, a dictionary with keys that are not strings, or an object of a
///   supported class with unknown content.
///   In these cases, the application can still decode the bytes.
public func decodeArchive(_ bytes: [UInt8]) throws -> PropertyValue {
    if bytes.starts(with: ArchiveDecoder.typedStream) {
        throw ArchiveDecoder.unsupported("is a typed stream of NSArchiver, not a keyed archive")
    }
    var decoder = ArchiveDecoder(
        reader: try KeyedArchiveReader(bytes, limits: ArchiveDecoder.limits), size: bytes.count)
    return try decoder.decodeRoot()
}

private struct ArchiveDecoder {
    let reader: KeyedArchiveReader
    /// The number of values that may still be decoded.
    ///
    /// The number is limited, because an archive can refer to one object many times.
    private var count = ArchiveDecoder.limits.count
    /// The number of bytes of text and data that may still be decoded.
    ///
    /// An archive that refers to one value many times expands when it is decoded. The limit bounds this expansion.
    private var size: Int
    private let maximumSize: Int

    static var limits: PropertyListLimits {
        var limits = PropertyListLimits()
        limits.count = 1_000_000
        return limits
    }

    /// The limit on decoded text and data, in bytes, for small archives. For a large archive, the limit is twice its
    /// size.
    static let sharedSize = 64 << 20

    /// The first bytes of archives of NSArchiver, the predecessor of NSKeyedArchiver.
    static let typedStream = Array("\u{4}\u{b}streamtyped".utf8)

    static func unsupported(_ problem: String, value: PropertyValue? = nil) -> CoreError {
        CoreError(.unsupported, "the archive \(problem); decode the archive in the application", value: value)
    }

    init(reader: KeyedArchiveReader, size: Int) {
        self.reader = reader
        maximumSize = max(2 * size, ArchiveDecoder.sharedSize)
        self.size = maximumSize
    }

    mutating func decodeRoot() throws -> PropertyValue {
        if reader.roots.count == 1 || reader.roots["root"] != nil { return try decode(reader.root, depth: 0) }
        return .dictionary(try reader.roots.mapValues { try decode($0, depth: 1) })
    }

    private mutating func decode(_ reference: PropertyListValue, depth: Int) throws -> PropertyValue {
        // A cycle exceeds the limit too.
        guard depth <= ArchiveDecoder.limits.depth else {
            throw archiveError(
                "the archive is nested more than \(ArchiveDecoder.limits.depth) levels deep, or contains a cycle; "
                    + "archive a flatter value without cycles"
            )
        }
        count -= 1
        guard count >= 0 else {
            throw archiveError(
                "the archive would expand to more than \(ArchiveDecoder.limits.count) values, which is the limit; archive "
                    + "fewer values"
            )
        }
        switch reader.className(reference) {
        case "NSArray", "NSMutableArray", "NSOrderedSet", "NSMutableOrderedSet":
            return .array(try elements(of: reference, depth: depth))
        case "NSSet", "NSMutableSet": return .set(Set(try elements(of: reference, depth: depth)))
        case "NSDictionary", "NSMutableDictionary": return try dictionary(reference, depth: depth)
        case "NSNull": return .null
        case let name: return try scalar(reference, name, depth: depth)
        }
    }

    private mutating func scalar(
        _ reference: PropertyListValue, _ className: String?, depth: Int
    ) throws -> PropertyValue {
        guard let value = reader.value(reference) else {
            guard let className else { throw ArchiveDecoder.unsupported("contains a value without a class") }
            guard !KeyedArchiveReader.valueClasses.contains(className) else {
                throw ArchiveDecoder.unsupported(
                    "contains an object of class \"\(className)\" with unknown content")
            }
            return .object(try object(reference, className, depth: depth))
        }
        switch value {
        case .text(let text), .uri(let text): try spend(text.count)
        case .bytes(let bytes): try spend(bytes.count)
        default: break
        }
        return value
    }

    /// Decodes the fields of an object of any class.
    private mutating func object(
        _ reference: PropertyListValue, _ className: String, depth: Int
    ) throws -> ArchivedObject {
        var fields: [String: PropertyValue] = [:]
        for (name, value) in reader.fields(reference) ?? [:] where name != "$class" {
            try spend(name.utf8.count)
            if case .array(let values) = value {
                fields[name] = .array(try values.map { try decode($0, depth: depth + 1) })
            } else {
                fields[name] = try decode(value, depth: depth + 1)
            }
        }
        return ArchivedObject(className: className, classes: reader.classes(reference), fields: fields)
    }

    private mutating func spend(_ bytes: Int) throws {
        size -= bytes
        guard size >= 0 else {
            throw archiveError(
                "the archive would expand to more than \(maximumSize) bytes of text and data, which is the limit; "
                    + "archive fewer values"
            )
        }
    }

    private mutating func elements(of reference: PropertyListValue, depth: Int) throws -> [PropertyValue] {
        try reader.members(reference, "NS.objects", "NS.object.").map { try decode($0, depth: depth + 1) }
    }

    private mutating func dictionary(_ reference: PropertyListValue, depth: Int) throws -> PropertyValue {
        let keys = reader.members(reference, "NS.keys", "NS.key.")
        let values = reader.members(reference, "NS.objects", "NS.object.")
        guard keys.count == values.count else {
            throw archiveError(
                "a dictionary in the archive has \(keys.count) key\(keys.count == 1 ? "" : "s") but \(values.count) "
                    + "value\(values.count == 1 ? "" : "s"); archive the dictionary again")
        }
        var entries: [String: PropertyValue] = [:]
        for (key, value) in zip(keys, values) {
            guard let name = reader.string(key) else {
                let kind = reader.className(key).map { "an object of class \"\($0)\"" }
                let found = kind ?? reader.value(key)?.kind ?? "an unknown value"
                throw ArchiveDecoder.unsupported(
                    "contains a dictionary with \(found) as a key instead of a string", value: reader.value(key))
            }
            try spend(name.utf8.count)
            entries[name] = try decode(value, depth: depth + 1)
        }
        return .dictionary(entries)
    }
}
