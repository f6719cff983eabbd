import CExpat
import CorestoneValues

/// The handler of parser events. An error that it throws ends parsing and is rethrown.
package protocol XMLHandler: AnyObject {
    func start(_ name: String, _ attributes: XMLAttributes) throws
    func text(_ bytes: UnsafeRawBufferPointer)
    func end(_ name: String) throws
}

/// The attributes of an element, in the order of the document.
package struct XMLAttributes: Sequence {
    fileprivate let pairs: UnsafeMutablePointer<UnsafePointer<XML_Char>?>?

    package func makeIterator() -> AnyIterator<(name: String, value: String)> {
        var place = 0
        return AnyIterator {
            guard let name = pairs?[place], let value = pairs?[place + 1] else { return nil }
            place += 2
            return (String(cString: name), String(cString: value))
        }
    }
}

/// A parser of XML from untrusted bytes, based on expat.
///
/// Entity declarations in the document are rejected, so that entities cannot expand, and external entities are never
/// loaded. The size and the depth are limited.
package final class XMLParser {
    private let document: String
    private let maximumDepth: Int
    private let maximumSize: Int
    private unowned let handler: any XMLHandler
    private var parser: XML_Parser?
    private var failure: (any Error)?
    private var depth = 0

    /// Creates a parser.
    ///
    /// - Parameters:
    ///   - document: the kind of document, for messages.
    ///   - maximumDepth: the maximum depth of nested elements.
    ///   - maximumSize: the maximum size of the document in bytes.
    package init(_ document: String, maximumDepth: Int, maximumSize: Int, handler: any XMLHandler) {
        self.document = document
        self.maximumDepth = maximumDepth
        self.maximumSize = min(maximumSize, Int(Int32.max))
        self.handler = handler
    }

    /// Parses a document.
    ///
    /// - Throws: `.storeCorrupt` with the error and its byte offset.
    ///   `.noMemory` if an allocation fails.
    ///   The handler's error.
    package func parse(_ bytes: [UInt8]) throws {
        guard bytes.count <= maximumSize else {
            throw corrupt("it has \(bytes.count) bytes, but the limit is \(maximumSize)")
        }
        guard let parser = XML_ParserCreate(nil) else { throw noMemory() }
        self.parser = parser
        defer {
            XML_ParserFree(parser)
            self.parser = nil
        }
        XML_SetUserData(parser, Unmanaged.passUnretained(self).toOpaque())
        XML_SetElementHandler(
            parser, { data, name, attributes in XMLParser.from(data)?.start(name, attributes) },
            { data, name in XMLParser.from(data)?.end(name) })
        XML_SetCharacterDataHandler(parser) { data, text, count in XMLParser.from(data)?.text(text, count) }
        XML_SetEntityDeclHandler(parser) { data, _, _, _, _, _, _, _, _ in
            XMLParser.from(data)?.run {
                throw $0.corrupt("entity declarations are not allowed, because entities can expand without limit")
            }
        }
        let status = bytes.withUnsafeBytes { raw in
            XML_Parse(parser, raw.bindMemory(to: CChar.self).baseAddress, Int32(raw.count), 1)
        }
        if let failure { throw failure }
        guard status == XML_STATUS_OK else {
            if XML_GetErrorCode(parser) == XML_ERROR_NO_MEMORY { throw noMemory() }
            throw corrupt(String(cString: XML_ErrorString(XML_GetErrorCode(parser))))
        }
    }

    /// Whether the bytes may be XML: they begin with `<` after optional white space, or with a byte order mark.
    package static func mayRead(_ bytes: [UInt8]) -> Bool {
        let marks: [[UInt8]] = [[0xEF, 0xBB, 0xBF], [0xFE, 0xFF], [0xFF, 0xFE]]
        let first = bytes.first { ![0x09, 0x0A, 0x0D, 0x20].contains($0) }
        return first == UInt8(ascii: "<") || marks.contains { bytes.starts(with: $0) }
    }

    /// Creates an error at the current position of the parser; before and after parsing, for the whole document.
    package func corrupt(_ problem: String, key: String? = nil) -> CoreError {
        let offset = parser.map { Int(XML_GetCurrentByteIndex($0)) }
        let place = offset.map { " at byte \($0)" } ?? ""
        return CoreError(
            .storeCorrupt, code: .persistentStoreOpen,
            "cannot read the \(self.document)\(place): \(problem)", key: key, offset: offset ?? -1)
    }

    private func noMemory() -> CoreError {
        CoreError(.noMemory, "out of memory: cannot read the \(document); free some memory")
    }

    private static func from(_ data: UnsafeMutableRawPointer?) -> XMLParser? {
        data.map { Unmanaged<XMLParser>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Runs a handler function, unless an earlier handler function failed.
    private func run(_ body: (XMLParser) throws -> Void) {
        guard failure == nil else { return }
        do { try body(self) } catch {
            failure = error
            if let parser { XML_StopParser(parser, XML_Bool(XML_FALSE)) }
        }
    }

    private func start(_ name: UnsafePointer<XML_Char>?, _ attributes: UnsafeMutablePointer<UnsafePointer<XML_Char>?>?)
    {
        run { parser in
            parser.depth += 1
            guard parser.depth <= parser.maximumDepth else {
                throw parser.corrupt(
                    "elements are nested more than \(parser.maximumDepth) levels deep, which is the limit")
            }
            try parser.handler.start(name.map { String(cString: $0) } ?? "", XMLAttributes(pairs: attributes))
        }
    }

    private func text(_ bytes: UnsafePointer<XML_Char>?, _ count: Int32) {
        guard failure == nil else { return }
        handler.text(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
    }

    private func end(_ name: UnsafePointer<XML_Char>?) {
        run { parser in
            parser.depth -= 1
            try parser.handler.end(name.map { String(cString: $0) } ?? "")
        }
    }
}
