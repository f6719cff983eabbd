import CorestoneAtomicStores
import CorestoneFormats
import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// A reader of `xcmapping.xml`, a Core Data XML store in which Xcode saves a mapping model.
///
/// See docs/reference/mapping.md, "Files".
final class XcodeMappingReader: XMLHandler {
    /// The maximum number of objects in the file.
    static let maximumCount = 250_000

    /// One object of the store.
    struct Record {
        let kind: String
        var attributes: [String: String] = [:]
        /// The IDs of the targets, by relationship.
        var references: [String: [String]] = [:]
    }

    private lazy var parser = XMLParser(
        "mapping model", maximumDepth: 64, maximumSize: Model.maximumFileSize, handler: self)
    private var records: [String: Record] = [:]
    private var order: [String] = []
    private var hasDatabase = false
    /// The object that is being read, and its attribute whose text is being read.
    private var open: (id: String, record: Record)?
    private var attribute: String?
    private var characters: [UInt8] = []

    func read(_ bytes: [UInt8]) throws -> MappingModelParts {
        try parser.parse(bytes)
        let models = order.compactMap { records[$0] }.filter { $0.kind == "XDDEVMAPPINGMODEL" }
        guard let model = models.first else { throw parser.corrupt("an XDDEVMAPPINGMODEL object was not found") }
        var builder = try XcodeMappingBuilder(model, records)
        return try builder.build()
    }

    // MARK: - Elements

    func start(_ name: String, _ attributes: XMLAttributes) throws {
        guard hasDatabase else {
            guard name == "database" else { throw parser.corrupt("expected <database>, found <\(name)>") }
            hasDatabase = true
            return
        }
        let values = Dictionary(attributes.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        switch name {
        case "object":
            guard open == nil else { throw parser.corrupt("an <object> is inside another one") }
            guard let id = values["id"] else { throw parser.corrupt("an <object> does not have an id") }
            guard let kind = values["type"] else { throw parser.corrupt("the <object> \"\(id)\" does not have a type") }
            guard records[id] == nil else { throw parser.corrupt("two objects have the id \"\(id)\"") }
            guard records.count < XcodeMappingReader.maximumCount else {
                throw parser.corrupt("it exceeds the limit of \(XcodeMappingReader.maximumCount) objects")
            }
            open = (id, Record(kind: kind))
        case "attribute":
            attribute = values["name"]
            characters = []
        case "relationship":
            guard let relationship = values["name"], let references = values["idrefs"] else { return }
            open?.record.references[relationship] = references.split(separator: " ").map(String.init)
        default: break
        }
    }

    /// Decodes the escapes of an XML store: `<` is `\u3c00`, with the low byte first.
    private func unescaped(_ characters: [UInt8], _ attribute: String) throws -> String {
        guard characters.contains(UInt8(ascii: "\\")) else { return String(decoding: characters, as: UTF8.self) }
        let text = XMLBytes(capacity: characters.count)
        text.append(characters)
        guard text.unescape() else {
            throw parser.corrupt("the attribute \"\(attribute)\" contains half of a surrogate pair")
        }
        return text.string
    }

    func text(_ bytes: UnsafeRawBufferPointer) { if open != nil, attribute != nil { characters += bytes } }

    func end(_ name: String) throws {
        if name == "attribute", let attribute {
            open?.record.attributes[attribute] = try unescaped(characters, attribute)
            self.attribute = nil
        } else if name == "object", let (id, record) = open {
            records[id] = record
            order.append(id)
            open = nil
        }
    }
}
