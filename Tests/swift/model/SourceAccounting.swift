import CorestoneValues
import Foundation
import FoundationXML

@testable import CorestoneModel

/// A source model's XML as Foundation reads it: the independent reader.
final class XMLNode {
    let name: String
    let attributes: [String: String]
    /// Elements, and runs of text that are more than white space, which have no name.
    var children: [XMLNode] = []
    let text: String

    init(_ name: String, _ attributes: [String: String], text: String = "") {
        (self.name, self.attributes, self.text) = (name, attributes, text)
    }

    func children(_ name: String) -> [XMLNode] { children.filter { $0.name == name } }
    /// The number of elements and attributes, including the node itself.
    var weight: Int { children.reduce(1 + attributes.count) { $0 + $1.weight } }

    static func == (node: XMLNode, element: SourceElement) -> Bool {
        node.name == element.name && node.attributes == element.attributes && node.text == element.text
            && node.children.count == element.elements.count
            && zip(node.children, element.elements).allSatisfy { $0 == $1 }
    }

    static func parse(_ bytes: [UInt8]) -> XMLNode? {
        let builder = Builder()
        let parser = FoundationXML.XMLParser(data: Data(bytes))
        parser.delegate = builder
        return parser.parse() ? builder.top.children.first : nil
    }

    private final class Builder: NSObject, XMLParserDelegate {
        let top = XMLNode("", [:])
        lazy var open = [top]
        var text = ""

        private func endText() {
            defer { text = "" }
            if text.unicodeScalars.allSatisfy({ [" ", "\t", "\r", "\n"].contains($0) }) { return }
            open[open.count - 1].children.append(XMLNode("", [:], text: text))
        }

        func parser(
            _ parser: FoundationXML.XMLParser, didStartElement name: String, namespaceURI: String?,
            qualifiedName: String?, attributes: [String: String]
        ) {
            endText()
            open.append(XMLNode(name, attributes))
            open[open.count - 2].children.append(open[open.count - 1])
        }

        func parser(
            _ parser: FoundationXML.XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
        ) {
            endText()
            open.removeLast()
        }

        func parser(_ parser: FoundationXML.XMLParser, foundCharacters string: String) { text += string }
        func parser(_ parser: FoundationXML.XMLParser, foundCDATA data: Data) {
            text += String(decoding: data, as: UTF8.self)
        }
    }
}

/// Counts the elements and attributes of a source model that the model understands, keeps or loses.
///
/// Content is kept among the extras.
struct SourceAccounting {
    private(set) var understood = 0
    private(set) var kept = 0
    private(set) var lost: [String] = []
    private let model: Model

    init(_ source: XMLNode, readAs model: Model) {
        self.model = model
        count(source)
    }

    /// Counts the attributes of a node. An attribute that is not among the extras is understood or lost, as
    /// `isUnderstood` returns.
    private mutating func attributes(
        of node: XMLNode, _ extras: SourceExtras, _ path: String, _ isUnderstood: (String, String) -> Bool
    ) {
        for (name, value) in node.attributes {
            if extras.attributes[name] == value {
                kept += 1
            } else if extras.attributes[name] == nil, isUnderstood(name, value) {
                understood += 1
            } else {
                lost.append("\(path)@\(name)=\(value)")
            }
        }
    }

    /// Counts a child as a whole. A child that is not among the extras is understood or lost, as `isUnderstood`
    /// returns.
    private mutating func child(
        _ place: Int, of node: XMLNode, _ extras: SourceExtras, _ path: String, _ isUnderstood: (XMLNode) -> Bool
    ) {
        let child = node.children[place]
        if extras.elements.contains(where: { $0.place == place && child == $0 }) {
            kept += child.weight
        } else if isUnderstood(child) {
            understood += child.weight
        } else {
            lost.append("\(path)/\(child.name)\(child.text)")
        }
    }

    private mutating func count(_ source: XMLNode) {
        understood += 1
        let identifiers = model.versionIdentifiers.joined(separator: ",")
        attributes(of: source, model.extras, "model") { $0 == "userDefinedModelVersionIdentifier" && $1 == identifiers }
        for (place, node) in source.children.enumerated() {
            if node.name == "entity", let entity = model.entity(named: node.attributes["name"] ?? "") {
                count(node, entity)
            } else {
                let model = model
                child(place, of: source, model.extras, "model") { model.has($0) }
            }
        }
        let types = Dictionary(source.children("composite").map { ($0.attributes["name"] ?? "", $0) }) { first, _ in
            first
        }
        for attribute in model.entities.flatMap(\.ownAttributes) { countElements(of: attribute, types) }
    }

    /// Counts the declarations of a composite type once for each attribute of the type.
    private mutating func countElements(of attribute: Attribute, _ types: [String: XMLNode]) {
        for (element, node) in zip(
            attribute.elements, types[attribute.compositeName ?? ""]?.children("attribute") ?? [])
        {
            count(node, element, "\(attribute.entity.name).\(element.path)") { element.has($0, $1) }
            countElements(of: element, types)
        }
    }

    private mutating func count(_ node: XMLNode, _ entity: Entity) {
        understood += 1
        attributes(of: node, entity.extras, entity.name) { entity.has($0, $1) }
        for (place, child) in node.children.enumerated() {
            let name = child.attributes["name"] ?? ""
            let path = "\(entity.name).\(name)"
            if child.name == "attribute", let attribute = entity.ownAttributes.first(where: { $0.name == name }) {
                count(child, attribute, path) { attribute.has($0, $1) }
            } else if child.name == "relationship",
                let found = entity.ownRelationships.first(where: { $0.name == name })
            {
                count(child, found, path) { found.has($0, $1) }
            } else if child.name == "fetchedProperty",
                let found = entity.ownFetchedProperties.first(where: { $0.name == name })
            {
                count(child, found, path) { found.hasShared($0, $1) }
            } else {
                self.child(place, of: node, entity.extras, entity.name) { entity.has($0) }
            }
        }
    }

    private mutating func count(
        _ node: XMLNode, _ property: Property, _ path: String, _ isUnderstood: (String, String) -> Bool
    ) {
        understood += 1
        attributes(of: node, property.extras, path, isUnderstood)
        for place in node.children.indices {
            child(place, of: node, property.extras, path) { child in
                switch child.name {
                case "userInfo": return child.isUserInfo(property.userInfo)
                case "fetchRequest":
                    return (property as? FetchedProperty)?.fetchRequest.has(child, named: "fetchedPropertyFetchRequest")
                        ?? false
                default: return false
                }
            }
        }
    }
}
