import CorestoneFormats
import CorestoneValues

/// A writer of elements as XML in Xcode's layout.
///
/// Each element is on its own line, indented by four spaces per level.
struct SourceText {
    private(set) var bytes = Array(#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>"#.utf8)

    /// Appends an element.
    ///
    /// - Parameter depth: the level of nesting; nil in mixed content, where white space would be text.
    /// - Throws: `.model` for a character that XML cannot represent.
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
    /// Returns the error with the name of an entity or property element.
    fileprivate func naming(_ element: SourceElement) -> CoreError {
        switch element.name {
        case "entity": with(entity: element.attributes["name"], key: nil)
        case "attribute", "relationship", "fetchedProperty": with(entity: nil, key: element.attributes["name"])
        default: self
        }
    }
}
