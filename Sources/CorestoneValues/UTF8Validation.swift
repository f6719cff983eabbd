/// Whether the bytes are well-formed UTF-8 (no overlong forms, no surrogates, nothing beyond U+10FFFF).
public func isValidUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool { firstInvalidUTF8(bytes) == nil }

/// Returns the offset of the first byte that does not start a well-formed sequence.
///
/// Returns nil if all bytes are well-formed UTF-8.
public func firstInvalidUTF8(_ bytes: UnsafeRawBufferPointer) -> Int? {
    var position = 0
    let count = bytes.count
    while true {
        position = asciiPrefix(bytes, from: position)
        guard position < count else { return nil }
        let length = sequenceLength(bytes, at: position)
        guard length > 0 else { return position }
        position += length
    }
}

/// Returns the end of the run of ASCII bytes that begins at `start`.
func asciiPrefix(_ bytes: UnsafeRawBufferPointer, from start: Int = 0) -> Int {
    var position = start
    while position + 8 <= bytes.count,
        bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
    { position += 8 }
    while position < bytes.count, bytes[position] < 0x80 { position += 1 }
    return position
}

/// Returns the length of the multibyte sequence at `position`, 2 to 4; 0 if it is ill-formed.
///
/// The byte at `position` must not be ASCII.
private func sequenceLength(_ bytes: UnsafeRawBufferPointer, at position: Int) -> Int {
    let lead = bytes[position]
    let left = bytes.count - position
    guard left >= 2 else { return 0 }
    let second = bytes[position + 1]
    func continues(_ offset: Int) -> Bool { offset < left && bytes[position + offset] & 0xC0 == 0x80 }
    switch lead {
    case 0xC2...0xDF: return continues(1) ? 2 : 0
    case 0xE0: return second >= 0xA0 && continues(1) && continues(2) ? 3 : 0
    case 0xED: return second < 0xA0 && continues(1) && continues(2) ? 3 : 0
    case 0xE1...0xEF: return continues(1) && continues(2) ? 3 : 0
    case 0xF0: return second >= 0x90 && continues(1) && continues(2) && continues(3) ? 4 : 0
    case 0xF4: return second < 0x90 && continues(1) && continues(2) && continues(3) ? 4 : 0
    case 0xF1...0xF3: return continues(1) && continues(2) && continues(3) ? 4 : 0
    default: return 0
    }
}
