import CorestoneValues

/// Encodes a binary property list (`bplist00`).
///
/// Equal strings, data and numbers are written once and referenced, as by Apple's writer. Dictionaries are written in
/// the order of their keys, so the result is deterministic.
public func encodePropertyList(_ value: PropertyListValue) -> [UInt8] {
    var writer = BinaryPropertyListWriter()
    let top = writer.collect(value)
    return writer.write(top: top)
}

private struct BinaryPropertyListWriter {
    private enum Node {
        case scalar(PropertyListValue)
        case text(Text)
        case array([Int])
        case dictionary(keys: [Int], values: [Int])
    }

    /// A key that distinguishes different strings and doubles even if `==` treats them as equal.
    private enum ScalarKey: Hashable {
        case text(Text)
        case bits(UInt8, UInt64)
        case data([UInt8])
    }

    private var nodes: [Node] = []
    private var known: [ScalarKey: Int] = [:]

    private mutating func scalar(_ key: ScalarKey, _ node: Node) -> Int {
        if let index = known[key] { return index }
        known[key] = nodes.count
        nodes.append(node)
        return nodes.count - 1
    }

    private mutating func text(_ string: String) -> Int {
        let text = Text(string)
        return scalar(.text(text), .text(text))
    }

    /// Adds a value and its contents to the list of nodes, and returns the value's index.
    ///
    /// A container precedes those of its contents that were not added before.
    package mutating func collect(_ value: PropertyListValue) -> Int {
        switch value {
        case .null: return scalar(.bits(0, 0), .scalar(value))
        case .bool(let flag): return scalar(.bits(1, flag ? 1 : 0), .scalar(value))
        case .integer(let number): return scalar(.bits(2, UInt64(bitPattern: number)), .scalar(value))
        case .unsigned(let number): return scalar(.bits(3, number), .scalar(value))
        case .real(let number): return scalar(.bits(4, number.bitPattern), .scalar(value))
        case .date(let number): return scalar(.bits(5, number.bitPattern), .scalar(value))
        case .uid(let number): return scalar(.bits(6, UInt64(number)), .scalar(value))
        case .data(let bytes): return scalar(.data(bytes), .scalar(value))
        case .string(let string): return text(string)
        case .array(let values):
            let place = nodes.count
            nodes.append(.array([]))
            nodes[place] = .array(values.map { collect($0) })
            return place
        case .dictionary(let entries):
            let place = nodes.count
            nodes.append(.array([]))
            let sorted = entries.map { (key: Text($0.key), value: $0.value) }.sorted { $0.key < $1.key }
            let keys = sorted.map { scalar(.text($0.key), .text($0.key)) }
            nodes[place] = .dictionary(keys: keys, values: sorted.map { collect($0.value) })
            return place
        }
    }

    // MARK: - Bytes

    private var bytes: [UInt8] = Array("bplist00".utf8)

    package mutating func write(top: Int) -> [UInt8] {
        let referenceSize = byteCount(UInt64(nodes.count - 1))
        var offsets: [UInt64] = []
        offsets.reserveCapacity(nodes.count)
        for node in nodes {
            offsets.append(UInt64(bytes.count))
            switch node {
            case .scalar(let value): write(value)
            case .text(let text): write(text)
            case .array(let places):
                mark(0xA0, places.count)
                for place in places { append(UInt64(place), referenceSize) }
            case .dictionary(let keys, let values):
                mark(0xD0, keys.count)
                for place in keys + values { append(UInt64(place), referenceSize) }
            }
        }
        let table = UInt64(bytes.count)
        let offsetSize = byteCount(table)
        for offset in offsets { append(offset, offsetSize) }
        bytes += [0, 0, 0, 0, 0, 0, UInt8(offsetSize), UInt8(referenceSize)]
        append(UInt64(nodes.count), 8)
        append(UInt64(top), 8)
        append(table, 8)
        return bytes
    }

    private func byteCount(_ value: UInt64) -> Int {
        value < 1 << 8 ? 1 : value < 1 << 16 ? 2 : value < 1 << 32 ? 4 : 8
    }

    private mutating func append(_ value: UInt64, _ count: Int) {
        for index in 0..<count { bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(8 * (count - 1 - index)))) }
    }

    /// Writes a marker with its count.
    ///
    /// A small count is part of the marker. A larger count follows the marker as an integer.
    private mutating func mark(_ marker: UInt8, _ count: Int) {
        if count < 15 {
            bytes.append(marker | UInt8(count))
        } else {
            bytes.append(marker | 15)
            integer(UInt64(count))
        }
    }

    private mutating func integer(_ value: UInt64) {
        let size = byteCount(value)
        bytes.append(0x10 | UInt8(size.trailingZeroBitCount))
        append(value, size)
    }

    private mutating func write(_ value: PropertyListValue) {
        switch value {
        case .bool(let flag): bytes.append(flag ? 0x09 : 0x08)
        case .integer(let number): integer(UInt64(bitPattern: number))
        case .unsigned(let number):
            // Eight bytes would be read as a negative number.
            bytes.append(0x14)
            append(0, 8)
            append(number, 8)
        case .real(let number):
            bytes.append(0x23)
            append(number.bitPattern, 8)
        case .date(let number):
            bytes.append(0x33)
            append(number.bitPattern, 8)
        case .data(let data):
            mark(0x40, data.count)
            bytes += data
        case .uid(let number):
            let size = byteCount(UInt64(number))
            bytes.append(0x80 | UInt8(size - 1))
            append(UInt64(number), size)
        case .null, .string, .array, .dictionary: bytes.append(0)
        }
    }

    private mutating func write(_ text: Text) {
        if text.utf8.allSatisfy({ $0 < 0x80 }) {
            mark(0x50, text.count)
            bytes.append(contentsOf: text.utf8)
        } else {
            let units = Array(text.string.utf16)
            mark(0x60, units.count)
            for unit in units { append(UInt64(unit), 2) }
        }
    }
}
