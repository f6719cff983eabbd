import CorestoneValues

/// Decodes a binary property list from untrusted bytes.
///
/// Every offset, count and reference is checked before it is used. Cycles, keys that are not strings, and data beyond
/// the limits are rejected.
///
/// - Throws: `.storeCorrupt` with the defect and its byte offset.
public func decodePropertyList(
    _ bytes: [UInt8], limits: PropertyListLimits = PropertyListLimits()
) throws -> PropertyListValue {
    var reader = try BinaryPropertyListReader(bytes: bytes, limits: limits)
    return try reader.readTop()
}

private struct BinaryPropertyListReader {
    private struct Known {
        package let value: PropertyListValue
        /// The number of values in the object, including the object itself. Shared values are counted each time.
        package let weight: Int
        /// The depth of nested containers, including the object itself; 0 for an object that is not a container.
        package let height: Int
    }

    private enum State {
        case unread, underway
        case done(Known)
    }

    private let bytes: [UInt8]
    private let limits: PropertyListLimits
    private let offsetSize: Int
    private let referenceSize: Int
    private let tableStart: Int
    private let top: Int
    private var states: [State]
    /// The number of content bytes that may still be read, which limits how much of the content objects can share.
    private var allowance: Int

    package init(bytes: [UInt8], limits: PropertyListLimits) throws {
        self.bytes = bytes
        self.limits = limits
        // The factor allows for writers that share the content of equal values.
        allowance = 4 * min(bytes.count, Int.max / 4)
        guard bytes.count <= limits.size else {
            throw corrupt("it has \(bytes.count) bytes, but the limit is \(limits.size)", at: 0)
        }
        guard bytes.starts(with: (limits.isStrict ? "bplist00" : "bplist0").utf8) else {
            throw corrupt("it does not begin with \"bplist00\"", at: 0)
        }
        guard bytes.count >= 40 else {
            throw corrupt("it has \(bytes.count) bytes, but must have at least 40", at: 0)
        }
        let trailer = bytes.count - 32
        func word(_ offset: Int) -> UInt64 {
            bytes[(trailer + offset)..<(trailer + offset + 8)].reduce(0) { $0 << 8 | UInt64($1) }
        }
        offsetSize = Int(bytes[trailer + 6])
        referenceSize = Int(bytes[trailer + 7])
        for (place, noun, size) in [(6, "offset", offsetSize), (7, "reference", referenceSize)]
        where !(1...8 ~= size) {
            throw corrupt("the \(noun) size is \(size), but must be 1 to 8", at: trailer + place)
        }
        let (count, top, table) = (word(8), word(16), word(24))
        guard count > 0 else { throw corrupt("the object count is 0, but must be 1 or more", at: trailer + 8) }
        guard table >= 8, table < UInt64(trailer), count <= (UInt64(trailer) - table) / UInt64(offsetSize)
        else {
            throw corrupt(
                "the table of \(count) offset\(count == 1 ? "" : "s") at byte \(table) exceeds the data",
                at: trailer + 8)
        }
        guard top < count else {
            throw corrupt("the root object number \(top) exceeds \(count - 1)", at: trailer + 16)
        }
        let most = min(UInt64(limits.count), table - 8)
        guard count <= most else {
            throw corrupt("the object count is \(count), but the limit is \(most)", at: trailer + 8)
        }
        tableStart = Int(table)
        self.top = Int(top)
        states = Array(repeating: .unread, count: Int(count))
    }

    package mutating func readTop() throws -> PropertyListValue { try read(top, depth: 0).value }

    private func number(at offset: Int, _ count: Int) -> UInt64 {
        bytes[offset..<(offset + count)].reduce(0) { $0 << 8 | UInt64($1) }
    }

    private mutating func read(_ index: Int, depth: Int) throws -> Known {
        switch states[index] {
        case .underway: throw corrupt("object \(index) contains itself", at: tableStart + index * offsetSize)
        case .done(let known):
            guard depth + known.height <= limits.depth else { throw tooDeep(at: tableStart + index * offsetSize) }
            return known
        case .unread: break
        }
        let offset = number(at: tableStart + index * offsetSize, offsetSize)
        guard offset >= 8, offset < UInt64(tableStart) else {
            throw corrupt(
                "object \(index) is at byte \(offset), outside the object data", at: tableStart + index * offsetSize)
        }
        states[index] = .underway
        let known = try readObject(at: Int(offset), depth: depth)
        states[index] = .done(known)
        return known
    }

    /// Returns the byte range of an object's content, which must end before the offset table.
    private mutating func content(_ start: Int, _ count: UInt64, unit: Int) throws -> Range<Int> {
        guard start <= tableStart, count <= UInt64((tableStart - start) / unit) else {
            let noun = unit == 1 ? "byte" : "element"
            throw corrupt(
                "\(count) \(noun)\(count == 1 ? " does" : "s do") not fit into the remaining bytes", at: start)
        }
        allowance -= Int(count) * unit
        guard allowance >= 0 else { throw corrupt("an object overlaps other objects", at: start) }
        return start..<(start + Int(count) * unit)
    }

    /// Reads the count in a marker or in the integer after it. Returns the count and the start of the content.
    private mutating func length(at offset: Int) throws -> (count: UInt64, start: Int) {
        let small = bytes[offset] & 15
        guard small == 15 else { return (UInt64(small), offset + 1) }
        guard offset + 1 < tableStart, bytes[offset + 1] & 0xF0 == 0x10, bytes[offset + 1] & 15 <= 3 else {
            throw corrupt("the element count is not a 64-bit integer", at: offset + 1)
        }
        let size = 1 << Int(bytes[offset + 1] & 15)
        let range = try content(offset + 2, UInt64(size), unit: 1)
        return (number(at: range.lowerBound, size), range.upperBound)
    }

    private mutating func readObject(at offset: Int, depth: Int) throws -> Known {
        let marker = bytes[offset]
        switch marker >> 4 {
        case 0xA: return try readArray(at: offset, depth: depth)
        case 0xD: return try readDictionary(at: offset, depth: depth)
        default: return Known(value: try readScalar(at: offset), weight: 1, height: 0)
        }
    }

    private mutating func readScalar(at offset: Int) throws -> PropertyListValue {
        let marker = bytes[offset]
        let size = 1 << Int(marker & 15)
        switch marker {
        case 0x00: return .null
        case 0x08: return .bool(false)
        case 0x09: return .bool(true)
        case 0x10...0x13:
            let range = try content(offset + 1, UInt64(size), unit: 1)
            return .integer(Int64(bitPattern: number(at: range.lowerBound, size)))
        case 0x14:
            let range = try content(offset + 1, 16, unit: 1)
            let (high, low) = (number(at: range.lowerBound, 8), number(at: range.lowerBound + 8, 8))
            if high == 0 { return low > UInt64(Int64.max) ? .unsigned(low) : .integer(Int64(low)) }
            guard high == .max, low > UInt64(Int64.max) else { throw corrupt("an integer exceeds 64 bits", at: offset) }
            return .integer(Int64(bitPattern: low))
        case 0x22:
            let range = try content(offset + 1, 4, unit: 1)
            return .real(Double(Float(bitPattern: UInt32(number(at: range.lowerBound, 4)))))
        case 0x23, 0x33:
            let range = try content(offset + 1, 8, unit: 1)
            let value = Double(bitPattern: number(at: range.lowerBound, 8))
            return marker == 0x23 ? .real(value) : .date(value)
        case 0x40...0x4F:
            let (count, start) = try length(at: offset)
            return .data(Array(bytes[try content(start, count, unit: 1)]))
        case 0x50...0x5F, 0x70...0x7F:
            // 0x7_ is UTF-8 text, which newer writers use and few readers support. 0x5_ is ASCII, a subset of UTF-8.
            if limits.isStrict, marker >= 0x70 {
                throw corrupt("the marker requires a newer version of the format", at: offset)
            }
            let (count, start) = try length(at: offset)
            let range = try content(start, count, unit: 1)
            try bytes.withUnsafeBytes { bytes in
                let text = UnsafeRawBufferPointer(rebasing: bytes[range])
                if limits.isStrict, text.contains(where: { $0 > 0x7F }) {
                    throw corrupt("a string has an invalid encoding", at: offset)
                }
            }
            return .string(String(decoding: bytes[range], as: UTF8.self))
        case 0x60...0x6F:
            let (count, start) = try length(at: offset)
            let range = try content(start, count, unit: 2)
            let units = stride(from: range.lowerBound, to: range.upperBound, by: 2).map {
                UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1])
            }
            let text = String(decoding: units, as: UTF16.self)
            if limits.isStrict, !text.utf16.elementsEqual(units) {
                throw corrupt("a string has an invalid encoding", at: offset)
            }
            return .string(text)
        case 0x80...0x87:
            let range = try content(offset + 1, UInt64(marker & 15) + 1, unit: 1)
            guard let number = UInt32(exactly: number(at: range.lowerBound, range.count)) else {
                throw corrupt("a reference exceeds 32 bits", at: offset)
            }
            return .uid(number)
        default: throw corrupt("unknown marker 0x\(String(marker, radix: 16))", at: offset)
        }
    }

    // MARK: - Containers

    private func reference(at offset: Int) throws -> Int {
        let reference = number(at: offset, referenceSize)
        guard reference < UInt64(states.count) else {
            throw corrupt(
                "a reference is to object \(reference), but the last is \(states.count - 1)", at: offset)
        }
        return Int(reference)
    }

    private mutating func readArray(at offset: Int, depth: Int) throws -> Known {
        guard depth < limits.depth else { throw tooDeep(at: offset) }
        let (count, start) = try length(at: offset)
        let range = try content(start, count, unit: referenceSize)
        var values: [PropertyListValue] = []
        values.reserveCapacity(Int(count))
        var (weight, height) = (1, 0)
        for place in stride(from: range.lowerBound, to: range.upperBound, by: referenceSize) {
            let known = try read(try reference(at: place), depth: depth + 1)
            values.append(known.value)
            (weight, height) = (weight + known.weight, max(height, known.height))
            guard weight <= limits.count else { throw tooMany(at: offset) }
        }
        return Known(value: .array(values), weight: weight, height: height + 1)
    }

    private mutating func readDictionary(at offset: Int, depth: Int) throws -> Known {
        guard depth < limits.depth else { throw tooDeep(at: offset) }
        let (count, start) = try length(at: offset)
        let range = try content(start, count, unit: 2 * referenceSize)
        let half = range.count / 2
        var entries: [String: PropertyListValue] = [:]
        entries.reserveCapacity(Int(count))
        var (weight, height) = (1, 0)
        for place in stride(from: range.lowerBound, to: range.lowerBound + half, by: referenceSize) {
            let key = try read(try reference(at: place), depth: depth + 1)
            guard case .string(let name) = key.value else { throw corrupt("a key is not a string", at: place) }
            let known = try read(try reference(at: place + half), depth: depth + 1)
            if entries.updateValue(known.value, forKey: name) != nil, limits.isStrict {
                throw corrupt("duplicate key \"\(name)\"", at: place, key: name)
            }
            (weight, height) = (weight + 1 + known.weight, max(height, known.height))
            guard weight <= limits.count else { throw tooMany(at: offset) }
        }
        return Known(value: .dictionary(entries), weight: weight, height: height + 1)
    }

    private func tooDeep(at offset: Int) -> CoreError {
        corrupt("containers are nested more than \(limits.depth) levels deep, which is the limit", at: offset)
    }
    private func tooMany(at offset: Int) -> CoreError {
        corrupt("it has more than \(limits.count) values, which is the limit", at: offset)
    }
}

private func corrupt(_ problem: String, at offset: Int, key: String? = nil) -> CoreError {
    CoreError(
        .storeCorrupt, code: .persistentStoreOpen,
        "binary property list, byte \(offset): \(problem)", key: key,
        offset: offset)
}
