/// Whether a text is pure ASCII. Tests eight bytes at a time.
@inline(__always)
func isASCII(_ text: UnsafePointer<UInt8>, _ count: Int) -> Bool {
    let raw = UnsafeRawPointer(text)
    var seen: UInt64 = 0
    var offset = 0
    while offset + 8 <= count {
        seen |= raw.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        offset += 8
    }
    while offset < count {
        seen |= UInt64(text[offset])
        offset += 1
    }
    return seen & 0x8080_8080_8080_8080 == 0
}

/// Whether a text is well-formed UTF-8: shortest forms, no surrogates, no code points above U+10FFFF.
func isUTF8(_ text: UnsafePointer<UInt8>, _ count: Int) -> Bool {
    var place = 0
    while place < count {
        let lead = text[place]
        if lead < 0x80 {
            place += 1
            continue
        }
        let length: Int
        var lowest: UInt8 = 0x80
        var highest: UInt8 = 0xbf
        switch lead {
        case 0xc2...0xdf: length = 2
        case 0xe0: (length, lowest) = (3, 0xa0)
        case 0xed: (length, highest) = (3, 0x9f)
        case 0xe1...0xef: length = 3
        case 0xf0: (length, lowest) = (4, 0x90)
        case 0xf4: (length, highest) = (4, 0x8f)
        case 0xf1...0xf3: length = 4
        default: return false
        }
        guard place + length <= count, (lowest...highest).contains(text[place + 1]) else { return false }
        for following in 2..<max(length, 2) where text[place + following] & 0xc0 != 0x80 { return false }
        place += length
    }
    return true
}
