import CExpat
import CorestoneFormats
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// A reader of XML stores from untrusted bytes, which uses expat.
///
/// The structure is checked against Apple's document type. Except for attributes within `<metadata>`, unexpected
/// content is an error, because the next save would lose it. Entity declarations are rejected, and external resources
/// are never loaded.
final class XMLStoreReader {
    private let bytes: [UInt8]
    private let path: String
    private var parser: XML_Parser?
    private var failure: (any Error)?
    /// The number of bytes that the parser has received.
    private var fed = 0
    /// Whether the metadata was read and parsing stopped, because the objects are not requested.
    private var isDone = false
    private var place = Place.document
    /// The text of the innermost element.
    let text = XMLBytes(capacity: 4096)
    /// The receiver of the objects; nil if only the metadata is read.
    private var objects: XMLObjects?

    // The content of `<databaseInfo>`.
    private var fields: [Field: String] = [:]
    private var metadataValues: [String: PropertyListValue]?
    private var metadataPlace: Range<Int>?
    /// The property list in `<metadata>`, serialised again, and its open elements.
    private let propertyList = XMLBytes(capacity: 4096)
    private var propertyListElements: [String] = []

    /// The innermost open element, except for elements within `<metadata>`.
    enum Place: Equatable { case document, database, info, field(Field), metadata, object, attribute, relationship }
    enum Field: String { case version, uuid = "UUID", nextObjectID }

    init(_ bytes: [UInt8], _ path: String) { (self.bytes, self.path) = (bytes, path) }

    /// Reads all objects into `nodes`.
    ///
    /// - Parameter skipped: Records content that the model does not have; nil to throw an error for it.
    func read(into nodes: Nodes, _ skipped: SkippedContent?) throws -> StoreMetadata {
        let names: XMLNames
        do { names = try XMLNames(nodes.model) } catch let error as CoreError {
            throw error.within("cannot read \(path)", file: path)
        }
        let objects = XMLObjects(nodes, names, self, size: bytes.count, skipped)
        self.objects = objects
        defer { self.objects = nil }
        try parse()
        let metadata = try metadata()
        try requireMemory(0)
        try objects.finish(lastKey: lastKey())
        return metadata
    }

    /// Reads up to the end of `<databaseInfo>`. `place` is the range of `<metadata>` in the file.
    func readMetadata() throws -> (metadata: StoreMetadata, place: Range<Int>) {
        try parse()
        let metadata = try metadata()
        guard let place = metadataPlace else { throw damaged("its <metadata> is missing") }
        return (metadata, place)
    }

    private func metadata() throws -> StoreMetadata {
        let version = fields[.version] ?? ""
        guard version == XMLFormat.version else {
            throw damaged(
                fields[.version] == nil
                    ? "its <version> is missing"
                    : "its version is \"\(short(version))\", but only version \(XMLFormat.version) can be read",
                value: fields[.version].map { .string($0) },
                remedy: fields[.version] == nil
                    ? "correct the file or restore it from a backup" : "open it with the program that wrote it")
        }
        guard let text = fields[.uuid] else { throw damaged("its <UUID> is missing") }
        guard let uuid = UUIDValue(text) else {
            throw damaged("<UUID> is \"\(short(text))\", which is not a UUID", value: .string(text))
        }
        var metadata = StoreMetadata(uuid: uuid)
        metadata.values = metadataValues ?? [:]
        metadata.values[StoreMetadata.Key.storeType] = .string(StoreType.xml.rawValue)
        return metadata
    }

    /// Returns the name of an entity that the model does not have.
    ///
    /// It comes from the version hashes in the metadata, or else is the type of the object.
    func entityName(ofType type: String) -> String {
        let hashes = metadataValues?[StoreMetadata.Key.hashes]?.dictionary ?? [:]
        return hashes.keys.first { $0.uppercased() == type } ?? type
    }

    private func lastKey() throws -> Int64 {
        guard let text = fields[.nextObjectID] else { throw damaged("its <nextObjectID> is missing") }
        guard let number = Int64(text), number >= 0, number <= XMLFormat.maximumKey else {
            throw damaged(
                "<nextObjectID> is \"\(short(text))\", but must be a number from 0 to \(XMLFormat.maximumKey)",
                value: .string(text))
        }
        return number
    }

    // MARK: Parsing

    private func parse() throws {
        let prolog = try XMLProlog(bytes) { self.damaged($0, at: $1, value: $2, remedy: nil) }.bytes
        guard let parser = XML_ParserCreate(nil) else {
            throw CoreError(
                .noMemory, "out of memory: cannot read \(path); free some memory, or use an SQLite store", file: path)
        }
        self.parser = parser
        defer {
            XML_ParserFree(parser)
            self.parser = nil
        }
        XML_SetUserData(parser, Unmanaged.passUnretained(self).toOpaque())
        XML_SetElementHandler(
            parser,
            { data, name, attributes in
                XMLStoreReader.run(data) { try $0.start(name, XMLAttributeList(start: attributes)) }
            }, { data, _ in XMLStoreReader.run(data) { try $0.end() } })
        XML_SetCharacterDataHandler(parser) { data, text, count in
            XMLStoreReader.run(data) { try $0.appendText(UnsafeRawBufferPointer(start: text, count: Int(count))) }
        }
        let isWhole =
            prolog.withUnsafeBytes { feed($0, isLast: false) }
            && bytes.withUnsafeBytes { feed(UnsafeRawBufferPointer(rebasing: $0[prolog.count...]), isLast: true) }
        if let failure { throw failure }
        if !isWhole && !isDone, XML_GetErrorCode(parser) == XML_ERROR_NO_MEMORY {
            throw CoreError(
                .noMemory, "out of memory: cannot read \(path); free some memory, or use an SQLite store", file: path)
        }
        if !isWhole && !isDone { throw damaged(String(cString: XML_ErrorString(XML_GetErrorCode(parser)))) }
    }

    private func feed(_ piece: UnsafeRawBufferPointer, isLast: Bool) -> Bool {
        // Memory is checked for each piece, so that a file is rejected only if it really does not fit.
        let most = 1 << 18
        var rest = piece
        while rest.count > most {
            if !feedNext(UnsafeRawBufferPointer(rebasing: rest[..<most]), isLast: false) { return false }
            rest = UnsafeRawBufferPointer(rebasing: rest[most...])
        }
        return feedNext(rest, isLast: isLast)
    }

    /// Checks that enough memory is free to continue.
    ///
    /// Tables of rows double as they grow, and a long text is copied as it grows.
    private func requireMemory(_ more: Int) throws {
        try MemoryCheck.require(more * 4 + fed / 2 + text.count * 4, to: "read \(path)", file: path)
    }

    private func feedNext(_ piece: UnsafeRawBufferPointer, isLast: Bool) -> Bool {
        do { try requireMemory(piece.count) } catch {
            failure = error
            return false
        }
        fed += piece.count
        return feedOnce(piece, isLast: isLast)
    }

    private func feedOnce(_ piece: UnsafeRawBufferPointer, isLast: Bool) -> Bool {
        let start = piece.bindMemory(to: CChar.self).baseAddress
        return XML_Parse(parser, start, Int32(piece.count), isLast ? 1 : 0) == XML_STATUS_OK
    }

    /// Runs a part of the reader, unless reading has failed or is complete.
    private static func run(_ data: UnsafeMutableRawPointer?, _ body: (XMLStoreReader) throws -> Void) {
        guard let data else { return }
        Unmanaged<XMLStoreReader>.fromOpaque(data)._withUnsafeGuaranteedRef { reader in
            if reader.failure != nil || reader.isDone { return }
            do { try body(reader) } catch { reader.failure = error }
            if reader.failure != nil || reader.isDone { XML_StopParser(reader.parser, XML_Bool(XML_FALSE)) }
        }
    }

    // MARK: Elements

    private func start(_ name: UnsafePointer<XML_Char>?, _ attributes: XMLAttributeList) throws {
        guard let name else { return }
        switch place {
        case .object where XMLAttributeList.isSame(name, "attribute"):
            place = .attribute
            text.removeAll()
            try objects?.beginAttribute(attributes)
        case .object where XMLAttributeList.isSame(name, "relationship"):
            place = .relationship
            try objects?.setRelationship(attributes)
        case .database where XMLAttributeList.isSame(name, "object") && metadataPlace != nil:
            place = .object
            try objects?.begin(attributes)
        case .metadata:
            let name = String(cString: name)
            propertyListElements.append(name)
            propertyList.append("<\(name)>")
        default:
            try startOther(String(cString: name))
            if let (name, _) = attributes.first { throw unexpected("the attribute \"\(short(name))\"", .string(name)) }
        }
    }

    private func startOther(_ name: String) throws {
        switch (place, name) {
        case (.document, "database"): place = .database
        case (.document, _):
            throw damaged("its root element is <\(short(name))>, but must be <database>", value: .string(name))
        case (.database, "object"): throw damaged("an <object> precedes <databaseInfo>, which must come first")
        case (.database, "databaseInfo") where metadataPlace == nil && fields.isEmpty: place = .info
        case (.info, "metadata") where metadataPlace == nil:
            place = .metadata
            metadataPlace = position..<position
        case (.info, _):
            guard let field = Field(rawValue: name), fields[field] == nil else {
                throw unexpected("the element <\(short(name))>", .string(name))
            }
            place = .field(field)
            text.removeAll()
        default: throw unexpected("the element <\(short(name))>", .string(name))
        }
    }

    private func end() throws {
        switch place {
        case .attribute:
            place = .object
            try objects?.endAttribute()
        case .relationship: place = .object
        case .object:
            place = .database
            objects?.end()
        case .field(let field):
            place = .info
            fields[field] = String(
                text.string.unicodeScalars.filter { !$0.properties.isWhitespace }.map(Character.init))
        case .metadata: try endInMetadata()
        case .info:
            guard metadataPlace != nil else { throw damaged("its <metadata> is missing") }
            place = .database
            isDone = objects == nil
        case .database, .document: place = .document
        }
    }

    private func endInMetadata() throws {
        if let element = propertyListElements.popLast() { return propertyList.append("</\(element)>") }
        place = .info
        let start = metadataPlace?.lowerBound ?? 0
        metadataPlace = start..<max(start, position + Int(XML_GetCurrentByteCount(parser)))
        if propertyList.count == 0 { return }
        do { metadataValues = try decodeXMLPropertyList(propertyList.array).dictionary } catch let error as CoreError
            where error.status != .noMemory
        {
            // Without the offset in the message, which is one in `propertyList`, not in the file.
            let reason = error.message.withoutRemedy.drop { $0 != ":" }.dropFirst(2)
            throw damaged("<metadata> is invalid: \(reason)", key: error.key, value: error.value)
        }
        if metadataValues == nil { throw damaged("<metadata> does not contain a dictionary") }
    }

    private func appendText(_ bytes: UnsafeRawBufferPointer) throws {
        switch place {
        case .attribute, .field: text.append(bytes)
        case .metadata where !propertyListElements.isEmpty:
            for byte in bytes {
                switch byte {
                case UInt8(ascii: "<"): propertyList.append("&lt;")
                case UInt8(ascii: "&"): propertyList.append("&amp;")
                case UInt8(ascii: "\r"): propertyList.append("&#13;")
                default: propertyList.append(byte)
                }
            }
        default:
            if let stray = bytes.first(where: { ![0x09, 0x0A, 0x0D, 0x20].contains($0) }) {
                throw unexpected("text (byte \(stray))", .int(Int64(stray)))
            }
        }
    }

    // MARK: Errors

    /// The byte offset of the parser.
    var position: Int { parser.map { Int(XML_GetCurrentByteIndex($0)) } ?? 0 }

    /// Creates the error for a damaged file.
    ///
    /// - Parameters:
    ///   - offset: The byte offset; nil for the current offset of the parser.
    ///   - object: The URI of an object.
    ///   - remedy: The remedy; nil if `problem` implies or contains it.
    func damaged(
        _ problem: String, at offset: Int? = nil, entity: String? = nil, key: String? = nil,
        value: PropertyValue? = nil, object: String? = nil,
        remedy: String? = "correct the file or restore it from a backup"
    ) -> CoreError {
        let text = remedy.map { "\(problem); \($0)" } ?? problem
        return error(.storeCorrupt, .persistentStoreOpen, text, offset, entity, key, value, object)
    }

    /// Creates the error for content that differs from the model.
    func mismatch(
        _ problem: String, entity: String?, key: String? = nil, value: PropertyValue? = nil, object: String? = nil
    ) -> CoreError {
        error(.modelMismatch, .persistentStoreIncompatibleVersionHash, problem, nil, entity, key, value, object)
    }

    private func unexpected(_ content: String, _ value: PropertyValue) -> CoreError {
        damaged("\(content) is not allowed here and would be lost in a save", value: value, remedy: "remove it")
    }

    private func error(
        _ status: Status, _ code: CocoaCode, _ problem: String, _ offset: Int?, _ entity: String?, _ key: String?,
        _ value: PropertyValue?, _ object: String?
    ) -> CoreError {
        let offset = offset ?? (parser == nil ? nil : position)
        let line = offset.map { bytes.prefix(max($0, 0)).reduce(1) { $1 == UInt8(ascii: "\n") ? $0 + 1 : $0 } }
        return CoreError(
            status, code: code,
            "\(path) cannot be read as an XML store\(line.map { " (line \($0))" } ?? ""): \(problem)", entity: entity,
            key: key, value: value, objectURI: object, file: path, offset: offset ?? -1)
    }

    /// Returns the URI of an object for an error, or nil if its key or the store's identifier is not known yet.
    func uri(ofKey key: Int64, _ entity: Entity) -> String? {
        guard key > 0, let uuid = fields[.uuid].flatMap({ UUIDValue($0) }) else { return nil }
        return ObjectID.uri(ofKey: key, entity: entity.name, store: uuid.description)
    }

    func short(_ text: String) -> String { text.utf8.count > 60 ? "\(text.prefix(60))…" : text }
}

/// The attributes of an element, as the parser passes them.
struct XMLAttributeList: Sequence, IteratorProtocol {
    var start: UnsafeMutablePointer<UnsafePointer<XML_Char>?>?

    mutating func next() -> (name: UnsafePointer<XML_Char>, value: UnsafePointer<XML_Char>)? {
        guard let place = start, let name = place[0], let value = place[1] else { return nil }
        start = place + 2
        return (name, value)
    }

    var first: (name: String, value: String)? {
        var list = self
        return list.next().map { (String(cString: $0.name), String(cString: $0.value)) }
    }

    static func isSame(_ name: UnsafePointer<XML_Char>, _ text: StaticString) -> Bool {
        var place = 0
        while place < text.utf8CodeUnitCount {
            if UInt8(bitPattern: name[place]) != text.utf8Start[place] { return false }
            place += 1
        }
        return name[place] == 0
    }
}
