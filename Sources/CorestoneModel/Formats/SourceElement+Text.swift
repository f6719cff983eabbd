import CorestoneValues

/// Writes elements as XML in Xcode's layout: one to a line, four spaces deeper for each level.
struct SourceText {
    private(set) var bytes = Array(#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>"#.utf8)

    /// - Parameter depth: how many elements lie around it; nil between runs of text, where white space would be text too.
    /// - Throws: `.model` for a character that XML has no way to say.
    mutating func add(_ element: SourceElement, depth: Int? = 0) throws {
        if element.name.isEmpty { return bytes += try escapedXML(element.text).utf8 }
        indent(depth)
        bytes += "<\(element.name)".utf8
        for (name, value) in element.orderedAttributes {
            let escaped = try escapedXML(
                value, isAttribute: true,
                in: " (\(name) of <\(element.name)\(element.attributes["name"].map { " name=\"\($0)\"" } ?? "")>)")
            bytes += " \(name)=\"\(escaped)\"".utf8
        }
        guard !element.elements.isEmpty else { return bytes += "/>".utf8 }
        bytes.append(UInt8(ascii: ">"))
        let isMixed = element.elements.contains { $0.name.isEmpty }
        let inner = isMixed ? nil : depth.map { $0 + 1 }
        for child in element.elements {
            do { try add(child, depth: inner) } catch let error as CoreError { throw error.naming(child) }
        }
        if !isMixed { indent(depth) }
        bytes += "</\(element.name)>".utf8
    }

    private mutating func indent(_ depth: Int?) {
        guard let depth else { return }
        bytes.append(UInt8(ascii: "\n"))
        bytes += repeatElement(UInt8(ascii: " "), count: 4 * depth)
    }
}

extension CoreError {
    /// The same error with the name of an element of an entity or a property.
    fileprivate func naming(_ element: SourceElement) -> CoreError {
        switch element.name {
        case "entity": with(entity: element.attributes["name"], key: nil)
        case "attribute", "relationship", "fetchedProperty": with(entity: nil, key: element.attributes["name"])
        default: self
        }
    }
}

/// Text as XML spells it.
/// - Parameter place: where the text stands, behind it in the error.
/// - Throws: `.model` for a character that XML has no way to say.
func escapedXML(
    _ text: String, isAttribute: Bool = false, in place: @autoclosure () -> String = ""
) throws -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "&": escaped += "&amp;"
        case "<": escaped += "&lt;"
        case ">": escaped += "&gt;"
        case "\"" where isAttribute: escaped += "&quot;"
        // A parser would read them as spaces.
        case "\n" where isAttribute: escaped += "&#10;"
        case "\t" where isAttribute: escaped += "&#9;"
        case "\r": escaped += "&#13;"
        case "\n", "\t": escaped.unicodeScalars.append(scalar)
        case "\u{0}"..."\u{1F}", "\u{FFFE}", "\u{FFFF}":
            let digits = String(scalar.value, radix: 16, uppercase: true)
            throw modelError(
                "\"\(text.prefix(40))\"\(place()) contains the character U+\(String(repeating: "0", count: 4 - digits.count))"
                    + "\(digits), which XML cannot represent; remove it", value: .string(text))
        default: escaped.unicodeScalars.append(scalar)
        }
    }
    return escaped
}
