import Glibc

/// A growable byte buffer, for a file that is written or a text that is read.
package final class XMLBytes {
    private(set) var start: UnsafeMutablePointer<UInt8>
    private(set) var count = 0
    private var capacity: Int

    package init(capacity wanted: Int) {
        capacity = max(wanted, 256)
        start = .allocate(capacity: capacity)
    }

    deinit { start.deallocate() }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }
    package var array: [UInt8] { Array(UnsafeBufferPointer(start: start, count: count)) }
    package var string: String { String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self) }

    func removeAll() { count = 0 }

    /// Truncates the buffer to `count` bytes.
    func shorten(to count: Int) { self.count = count }

    /// Decodes the text in place.
    ///
    /// If decoding fails, the beginning of the encoded text is restored, because the error quotes it.
    func decodeInPlace(_ decode: () -> Bool) -> Bool {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 256) { spelling in
            guard let beginning = spelling.baseAddress else { return decode() }
            let kept = min(count, spelling.count)
            memcpy(beginning, start, kept)
            if decode() { return true }
            memcpy(start, beginning, kept)
            count = kept
            return false
        }
    }

    /// Returns a pointer to space for `more` bytes. The caller writes them and then calls `advance`.
    @inline(__always)
    func room(_ more: Int) -> UnsafeMutablePointer<UInt8> {
        if capacity - count < more { grow(more) }
        return start + count
    }

    @inline(__always)
    func advance(_ more: Int) { count += more }

    private func grow(_ more: Int) {
        capacity = max(capacity * 2, count + more)
        let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        larger.update(from: start, count: count)
        start.deallocate()
        start = larger
    }

    @inline(__always)
    func append(_ byte: UInt8) {
        room(1).pointee = byte
        count += 1
    }

    @inline(__always)
    func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        memcpy(room(bytes.count), source, bytes.count)
        count += bytes.count
    }

    @inline(__always)
    package func append(_ bytes: [UInt8]) { bytes.withUnsafeBytes { append($0) } }

    @inline(__always)
    package func append(_ text: String) {
        var text = text
        text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }
}

// MARK: - Base64

extension XMLBytes {
    /// Appends base64 as Core Data writes it, with line breaks after the first 76 characters and at the end.
    package func append(base64 bytes: UnsafeRawBufferPointer) {
        if bytes.isEmpty { return }
        let firstLine = 57
        let place = room((bytes.count + 2) / 3 * 4 + 2)
        var length = 0
        var offset = 0
        func digit(_ bits: UInt32) -> UInt8 {
            switch bits & 63 {
            case let value where value < 26: 0x41 + UInt8(value)
            case let value where value < 52: 0x61 + UInt8(value - 26)
            case let value where value < 62: 0x30 + UInt8(value - 52)
            case 62: UInt8(ascii: "+")
            default: UInt8(ascii: "/")
            }
        }
        while offset < bytes.count {
            if offset == firstLine {
                place[length] = UInt8(ascii: "\n")
                length += 1
            }
            let left = bytes.count - offset
            var bits = UInt32(bytes[offset]) << 16
            if left > 1 { bits |= UInt32(bytes[offset + 1]) << 8 }
            if left > 2 { bits |= UInt32(bytes[offset + 2]) }
            place[length] = digit(bits >> 18)
            place[length + 1] = digit(bits >> 12)
            place[length + 2] = left > 1 ? digit(bits >> 6) : UInt8(ascii: "=")
            place[length + 3] = left > 2 ? digit(bits) : UInt8(ascii: "=")
            length += 4
            offset += 3
        }
        place[length] = UInt8(ascii: "\n")
        advance(length + 1)
    }

    /// Decodes base64 in place and ignores white space. Returns false for an invalid character or a truncated text.
    func decodeBase64() -> Bool {
        var (bits, digits, padding, target): (UInt32, Int, Int, Int) = (0, 0, 0, 0)
        for place in 0..<count {
            let value: UInt32
            switch start[place] {
            case 0x41...0x5A: value = UInt32(start[place]) - 0x41
            case 0x61...0x7A: value = UInt32(start[place]) - 0x61 + 26
            case 0x30...0x39: value = UInt32(start[place]) - 0x30 + 52
            case UInt8(ascii: "+"): value = 62
            case UInt8(ascii: "/"): value = 63
            case UInt8(ascii: "="):
                padding += 1
                continue
            case 0x09, 0x0A, 0x0D, 0x20: continue
            default: return false
            }
            guard padding == 0 else { return false }
            bits = bits << 6 | value
            digits += 1
            if digits & 3 != 1 {
                start[target] = UInt8(truncatingIfNeeded: bits >> UInt32(6 - 2 * ((digits - 1) & 3)))
                target += 1
            }
        }
        count = target
        return (digits + padding) & 3 == 0 && padding <= 2
    }
}
