/// Encodes bytes as base64, with padding and without line breaks.
package func base64(_ bytes: [UInt8]) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    for start in stride(from: 0, to: bytes.count, by: 3) {
        let group = bytes[start..<min(start + 3, bytes.count)]
        let bits = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - group.count))
        for place in 0..<4 {
            let digit = alphabet[Int(bits >> UInt32(18 - 6 * place) & 63)]
            text.append(place <= group.count ? digit : UInt8(ascii: "="))
        }
    }
    return String(decoding: text, as: UTF8.self)
}

/// Decodes base64, without regard to white space.
///
/// Returns nil for other characters that are not base64, for wrong padding, and for truncated text.
package func decodeBase64(_ text: [UInt8]) -> [UInt8]? {
    var (bytes, bits, count, padding): ([UInt8], UInt32, Int, Int) = ([], 0, 0, 0)
    for character in text {
        let digit: UInt32
        switch character {
        case 0x41...0x5A: digit = UInt32(character) - 0x41
        case 0x61...0x7A: digit = UInt32(character) - 0x61 + 26
        case 0x30...0x39: digit = UInt32(character) - 0x30 + 52
        case UInt8(ascii: "+"): digit = 62
        case UInt8(ascii: "/"): digit = 63
        case UInt8(ascii: "="):
            padding += 1
            continue
        case 0x09, 0x0A, 0x0D, 0x20: continue
        default: return nil
        }
        guard padding == 0 else { return nil }
        bits = bits << 6 | digit
        count += 1
        if count % 4 != 1 { bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(6 - 2 * ((count - 1) % 4)))) }
    }
    return (count + padding) % 4 == 0 && padding <= 2 ? bytes : nil
}
