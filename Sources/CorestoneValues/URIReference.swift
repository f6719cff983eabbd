/// Whether the bytes are all characters of a URI or a relative reference (RFC 3986).
///
/// Two hexadecimal digits must follow each %.
public func isURIReference(_ bytes: some Collection<UInt8>) -> Bool {
    var digitsToCome = 0
    for byte in bytes {
        if digitsToCome > 0 {
            guard isHexadecimal(byte) else { return false }
            digitsToCome -= 1
        } else if byte == UInt8(ascii: "%") {
            digitsToCome = 2
        } else if !isURICharacter(byte) {
            return false
        }
    }
    return digitsToCome == 0
}

private func isHexadecimal(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "F"),
        UInt8(ascii: "a")...UInt8(ascii: "f"):
        true
    default: false
    }
}

/// Whether a byte is one of the reserved and unreserved characters of RFC 3986, section 2.
private func isURICharacter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"):
        true
    default: "-._~:/?#[]@!$&'()*+,;=".utf8.contains(byte)
    }
}
