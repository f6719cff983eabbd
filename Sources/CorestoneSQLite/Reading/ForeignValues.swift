import CorestoneValues
import Glibc

/// Whether text is ASCII throughout, eight bytes at a time.
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

/// Whether text is well-formed UTF-8: shortest forms, no surrogates, nothing beyond U+10FFFF.
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

/// Binary values that Core Data put into files beside the store.
enum ExternalFile {
    /// The first byte of a column's value: the data follows.
    static let inlineMark: UInt8 = 1
    /// The first byte of a column's value: the name of a file follows, a UUID and a NUL.
    static let fileMark: UInt8 = 2

    /// The name of the file that a column's value refers to; nil when it refers to none. A name that is no UUID could lead
    /// out of the folder.
    static func name(in columnValue: UnsafeRawBufferPointer) -> String? {
        guard columnValue.first == fileMark else { return nil }
        let name = String(decoding: columnValue.dropFirst().prefix { $0 != 0 }, as: UTF8.self)
        return UUIDValue(name) == nil ? nil : name
    }

    /// `.<name without extension>_SUPPORT/_EXTERNAL_DATA` beside the store.
    static func folder(ofStore path: String) -> String {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        let name = parts.last ?? ""
        let stem = name.lastIndex(of: ".").map { $0 == name.startIndex ? name : String(name[..<$0]) } ?? name
        return parts.dropLast().joined(separator: "/") + "/.\(stem)_SUPPORT/_EXTERNAL_DATA"
    }

    /// The bytes of a file; nil when it cannot be read.
    static func read(_ path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG, facts.st_size < 1 << 31 else {
            return nil
        }
        var bytes = [UInt8](repeating: 0, count: Int(facts.st_size))
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeMutableBytes {
                Glibc.read(descriptor, $0.baseAddress.map { $0 + done }, $0.count - done)
            }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return nil }
            done += count
        }
        return bytes
    }
}
