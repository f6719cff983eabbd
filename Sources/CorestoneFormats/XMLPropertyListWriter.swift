import CorestoneValues

/// Encodes an XML property list in Apple's layout: keys are sorted, and each level is indented by a tab.
///
/// - Throws: `.invalidArgument` for null and for dates outside the calendar.
///   `.model` for characters that XML cannot represent.
public func encodeXMLPropertyList(_ value: PropertyListValue) throws -> [UInt8] {
    var writer = XMLPropertyListWriter()
    try writer.add(value, depth: 0)
    return writer.bytes + Array("</plist>\n".utf8)
}

/// Encodes the metadata of an XML store: a property list element in the layout of Core Data.
///
/// - Throws: `.invalidArgument`, with the key of the entry, for a value that `encodeXMLPropertyList` rejects.
package func encodeXMLStoreMetadata(_ values: [String: PropertyListValue]) throws -> [UInt8] {
    var writer = XMLPropertyListWriter(bytes: [], isInStore: true)
    writer.line("<plist version=\"1.0\">", -1)
    do { try writer.add(.dictionary(values), depth: 0) } catch let error as CoreError {
        let key = sortedByBytes(values.keys).first { key in
            (try? encodeXMLPropertyList(.dictionary([key: values[key] ?? .null]))) == nil
        }
        throw CoreError(
            .invalidArgument, code: .persistentStoreSave,
            "an XML store cannot save the metadata key \"\(key ?? "")\": \(error.message)",
            key: key, value: error.value)
    }
    writer.line("</plist>", -1)
    return writer.bytes
}

private struct XMLPropertyListWriter {
    package var bytes = Array(
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">

        """.utf8)
    /// Whether to use the layout of stores.
    ///
    /// This layout is indented by spaces, except for data, which is broken into lines that begin with tabs. It does not
    /// contain short forms of empty elements.
    package var isInStore = false
    private static let depthInStore = 4

    package mutating func add(_ value: PropertyListValue, depth: Int) throws {
        switch value {
        case .null:
            throw CoreError(
                .invalidArgument, "an XML property list cannot represent null; remove the value", value: .null)
        case .bool(let flag): line(empty("\(flag)"), depth)
        case .integer(let number): line("<integer>\(number)</integer>", depth)
        case .unsigned(let number): line("<integer>\(number)</integer>", depth)
        case .real(let number): line("<real>\(number)</real>", depth)
        case .date(let seconds):
            // The format does not support fractions of a second.
            guard let text = ReferenceDate.text(seconds.rounded(.down)) else {
                throw CoreError(
                    .invalidArgument,
                    "an XML property list cannot represent the date \(seconds) "
                        + "(the limit is \(ReferenceDate.calendarLimit) seconds from 2001-01-01)",
                    value: .date(seconds))
            }
            line("<date>\(text)</date>", depth)
        case .string(let text): line("<string>\(try escapedXML(text))</string>", depth)
        case .data(let data) where isInStore: line("<data>\n\(lines(base64(data), depth))</data>", depth)
        case .data(let data):
            line("<data>", depth)
            line(base64(data), depth)
            line("</data>", depth)
        case .uid(let number): try add(.dictionary(["CF$UID": .integer(Int64(number))]), depth: depth)
        case .array(let values):
            guard !values.isEmpty else { return line(empty("array"), depth) }
            line("<array>", depth)
            for value in values { try add(value, depth: depth + 1) }
            line("</array>", depth)
        case .dictionary(let entries):
            guard !entries.isEmpty else { return line(empty("dict"), depth) }
            line("<dict>", depth)
            for key in sortedByBytes(entries.keys) {
                line("<key>\(try escapedXML(key))</key>", depth + 1)
                if let value = entries[key] { try add(value, depth: depth + 1) }
            }
            line("</dict>", depth)
        }
    }

    private func empty(_ name: String) -> String { isInStore ? "<\(name)></\(name)>" : "<\(name)/>" }

    /// Breaks base64 text into lines of 76 columns, including tabs of 8 columns each.
    private func lines(_ text: String, _ depth: Int) -> String {
        let depth = min(depth, 8)
        let tabs = String(repeating: "\t", count: depth)
        var (lines, rest) = ("", Substring(text))
        while !rest.isEmpty {
            lines += tabs + rest.prefix(76 - 8 * depth) + "\n"
            rest = rest.dropFirst(76 - 8 * depth)
        }
        return lines + tabs
    }

    package mutating func line(_ text: String, _ depth: Int) {
        bytes +=
            isInStore
            ? repeatElement(UInt8(ascii: " "), count: 4 * (depth + XMLPropertyListWriter.depthInStore))
            : repeatElement(UInt8(ascii: "\t"), count: depth)
        bytes += text.utf8
        bytes.append(UInt8(ascii: "\n"))
    }
}
