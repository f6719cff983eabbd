import CorestonePredicate
import CorestoneValues

/// The prolog of an XML store: an XML declaration and a document type, which refers to Apple's DTD.
///
/// With an external document type, a parser must assume that unknown entities are declared there, and skips references
/// to them. The document type is therefore replaced by spaces, which makes such a reference an error.
struct XMLProlog {
    /// The bytes that the parser reads instead of the beginning of the file, with the same length.
    private(set) var bytes: [UInt8] = []

    init(_ file: [UInt8], _ damaged: (String, Int, PropertyValue?) -> CoreError) throws {
        for mark in [[0xFE, 0xFF], [0xFF, 0xFE], [0x00, 0x3C], [0x3C, 0x00]] as [[UInt8]] where file.starts(with: mark)
        {
            throw damaged("its encoding is UTF-16, but must be UTF-8", 0, nil)
        }
        guard let (start, end) = try XMLProlog.documentType(in: file, damaged) else { return }
        bytes = Array(file[..<end])
        for place in start..<end where bytes[place] != UInt8(ascii: "\n") { bytes[place] = UInt8(ascii: " ") }
    }

    /// Returns the range of the document type; nil without one.
    private static func documentType(
        in file: [UInt8], _ damaged: (String, Int, PropertyValue?) -> CoreError
    ) throws -> (start: Int, end: Int)? {
        var place = file.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        func isAt(_ text: StaticString) -> Bool {
            text.withUTF8Buffer { file[place...].starts(with: $0) }
        }
        /// Skips to the end of the next occurrence of `text`. Returns false if there is no occurrence.
        func skip(behind text: StaticString) -> Bool {
            while place < file.count {
                if isAt(text) {
                    place += text.utf8CodeUnitCount
                    return true
                }
                place += 1
            }
            return false
        }
        while place < file.count {
            if [0x09, 0x0A, 0x0D, 0x20].contains(file[place]) {
                place += 1
            } else if isAt("<!--") {
                place += 4
                if !skip(behind: "-->") { return nil }
            } else if isAt("<?") {
                if !skip(behind: "?>") { return nil }
            } else {
                break
            }
        }
        guard isAt("<!DOCTYPE") else { return nil }
        let start = place
        var words: [[UInt8]] = [[]]
        var quote: UInt8?
        while place < file.count {
            let byte = file[place]
            place += 1
            if byte == quote {
                quote = nil
            } else if quote == nil, byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                quote = byte
            } else if quote == nil, byte == UInt8(ascii: "[") {
                throw damaged(
                    "its document type has an internal subset, which is not allowed; remove the subset", start, nil)
            } else if quote == nil, byte == UInt8(ascii: ">") {
                break
            } else if quote == nil, [0x09, 0x0A, 0x0D, 0x20].contains(byte) {
                words.append([])
                continue
            } else if byte < 0x20 || byte > 0x7E {
                throw damaged(
                    "its document type contains the invalid byte \(byte); remove the byte", place - 1,
                    .int(Int64(byte)))
            }
            words[words.count - 1].append(byte)
        }
        words.removeAll(where: \.isEmpty)
        guard file[place - 1] == UInt8(ascii: ">"), [2, 4].contains(words.count), words[1] == Array("database".utf8),
            words.count == 2 || words[2] == Array("SYSTEM".utf8), words.count == 2 || words[3].count > 1
        else {
            let found = String(decoding: file[start..<min(place, start + 60)], as: UTF8.self)
            throw damaged(
                "its document type is \(PropertyValue.string(found).excerpt), but must be "
                    + "<!DOCTYPE database SYSTEM \"…\">", start, .string(found))
        }
        return (start, place)
    }
}
