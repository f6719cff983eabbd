import CorestoneValues

/// Escapes text for XML.
///
/// - Parameter place: the description of the text's location, which follows the text in the error message.
/// - Throws: `.model` for a character that XML cannot represent.
package func escapedXML(
    _ text: String, isAttribute: Bool = false, in place: @autoclosure () -> String = ""
) throws -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "&": escaped += "&amp;"
        case "<": escaped += "&lt;"
        case ">": escaped += "&gt;"
        case "\"" where isAttribute: escaped += "&quot;"
        // A parser would convert a line end or a tab in an attribute to a space.
        case "\n" where isAttribute: escaped += "&#10;"
        case "\t" where isAttribute: escaped += "&#9;"
        case "\r": escaped += "&#13;"
        case "\n", "\t": escaped.unicodeScalars.append(scalar)
        case "\u{0}"..."\u{1F}", "\u{FFFE}", "\u{FFFF}":
            let digits = String(scalar.value, radix: 16, uppercase: true)
            throw CoreError(
                .model, code: .coreData,
                "\"\(text.prefix(40))\(text.count > 40 ? "…" : "")\"\(place()) contains the character "
                    + "U+\(String(repeating: "0", count: 4 - digits.count))"
                    + "\(digits), which XML cannot represent; remove the character", value: .string(text))
        default: escaped.unicodeScalars.append(scalar)
        }
    }
    return escaped
}
