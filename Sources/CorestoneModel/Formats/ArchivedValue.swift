import CorestoneValues

/// What a keyed archive holds, as plain data: what transformable attributes keep in a store of Apple's framework.
///
/// Strings, numbers, decimals, dates, data, UUIDs and URLs, in arrays, sets and dictionaries with strings as keys. No class
/// that the archive names is ever made.
/// - Parameter bytes: the value of a transformable attribute.
/// - Throws: `.storeCorrupt` when the bytes are no keyed archive or contradict themselves; `.unsupported`, with the class by
///   name, when it holds anything else. The bytes remain what the attribute's own transformer reads.
public func decodeArchive(_ bytes: [UInt8]) throws -> PropertyValue {
    var decoder = ArchiveDecoder(reader: try KeyedArchiveReader(bytes, limits: ArchiveDecoder.limits))
    return try decoder.decode(decoder.reader.root, depth: 0)
}

private struct ArchiveDecoder {
    let reader: KeyedArchiveReader
    /// Values that may still be made: an archive may refer to one object any number of times.
    private var budget = ArchiveDecoder.limits.count

    static var limits: PropertyListLimits {
        var limits = PropertyListLimits()
        limits.count = 1_000_000
        return limits
    }

    init(reader: KeyedArchiveReader) { self.reader = reader }

    mutating func decode(_ reference: PropertyListValue, depth: Int) throws -> PropertyValue {
        // Deeper than this is a circle, too.
        guard depth <= ArchiveDecoder.limits.depth else {
            throw archiveError("the archive is nested more than \(ArchiveDecoder.limits.depth) deep, or in a circle")
        }
        budget -= 1
        guard budget >= 0 else {
            throw archiveError("the archive holds more than \(ArchiveDecoder.limits.count) values")
        }
        switch reader.className(reference) {
        case "NSArray", "NSMutableArray": return .array(try elements(of: reference, depth: depth))
        case "NSSet", "NSMutableSet": return .set(Set(try elements(of: reference, depth: depth)))
        case "NSDictionary", "NSMutableDictionary": return try dictionary(reference, depth: depth)
        case "NSNull": return .null
        case let name:
            if let value = reader.value(reference) { return value }
            throw CoreError(
                .unsupported,
                "the archive holds \(name.map { "an object of class \($0)" } ?? "a value without a class"), which is not "
                    + "plain data; work with its bytes")
        }
    }

    private mutating func elements(of reference: PropertyListValue, depth: Int) throws -> [PropertyValue] {
        try reader.elements(reference).map { try decode($0, depth: depth + 1) }
    }

    private mutating func dictionary(_ reference: PropertyListValue, depth: Int) throws -> PropertyValue {
        let fields = reader.fields(reference) ?? [:]
        let (keys, values) = (fields["NS.keys"]?.array ?? [], fields["NS.objects"]?.array ?? [])
        guard keys.count == values.count else {
            throw archiveError("a dictionary in the archive has \(keys.count) keys and \(values.count) values")
        }
        var entries: [String: PropertyValue] = [:]
        for (key, value) in zip(keys, values) {
            guard let name = reader.string(key) else {
                throw CoreError(
                    .unsupported,
                    "a dictionary in the archive has a key that is no string (\(reader.className(key) ?? "a number")); work "
                        + "with its bytes")
            }
            entries[name] = try decode(value, depth: depth + 1)
        }
        return .dictionary(entries)
    }
}
