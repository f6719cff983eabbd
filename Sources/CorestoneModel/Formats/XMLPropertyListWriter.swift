import CorestoneValues

/// A property list in XML, laid out as Apple's own: keys sorted, a tab for each level.
///
/// - Throws: `.invalidArgument` for what XML cannot hold: null, and characters that it lacks.
public func encodeXMLPropertyList(_ value: PropertyListValue) throws -> [UInt8] {
    var writer = XMLPropertyListWriter()
    try writer.add(value, depth: 0)
    return writer.bytes + Array("</plist>\n".utf8)
}

private struct XMLPropertyListWriter {
    var bytes = Array(
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">

        """.utf8)

    mutating func add(_ value: PropertyListValue, depth: Int) throws {
        switch value {
        case .null: throw CoreError(.invalidArgument, "an XML property list has no null")
        case .bool(let flag): line("<\(flag)/>", depth)
        case .integer(let number): line("<integer>\(number)</integer>", depth)
        case .unsigned(let number): line("<integer>\(number)</integer>", depth)
        case .real(let number): line("<real>\(number)</real>", depth)
        case .date(let seconds):
            // The format has no fractions of a second.
            guard let text = ReferenceDate.text(seconds.rounded(.down)) else {
                throw CoreError(.invalidArgument, "an XML property list has no date of \(seconds) seconds")
            }
            line("<date>\(text)</date>", depth)
        case .string(let text): line("<string>\(try escapedXML(text))</string>", depth)
        case .data(let data):
            line("<data>", depth)
            line(base64(data), depth)
            line("</data>", depth)
        case .uid(let number): try add(.dictionary(["CF$UID": .integer(Int64(number))]), depth: depth)
        case .array(let values):
            guard !values.isEmpty else { return line("<array/>", depth) }
            line("<array>", depth)
            for value in values { try add(value, depth: depth + 1) }
            line("</array>", depth)
        case .dictionary(let entries):
            guard !entries.isEmpty else { return line("<dict/>", depth) }
            line("<dict>", depth)
            for key in sortedByBytes(entries.keys) {
                line("<key>\(try escapedXML(key))</key>", depth + 1)
                if let value = entries[key] { try add(value, depth: depth + 1) }
            }
            line("</dict>", depth)
        }
    }

    private mutating func line(_ text: String, _ depth: Int) {
        bytes += repeatElement(UInt8(ascii: "\t"), count: depth)
        bytes += text.utf8
        bytes.append(UInt8(ascii: "\n"))
    }
}
