import CExpat
import CorestoneValues

/// Reads a property list of either form: binary, or the XML of very old stores.
/// - Throws: `.storeCorrupt` with what is wrong and at which byte.
public func decodeAnyPropertyList(
    _ bytes: [UInt8], limits: PropertyListLimits = PropertyListLimits()
) throws -> PropertyListValue {
    bytes.starts(with: "bplist".utf8)
        ? try decodePropertyList(bytes, limits: limits) : try decodeXMLPropertyList(bytes, limits: limits)
}

/// Reads a property list in XML from untrusted bytes. Entities of the document's own are refused.
/// - Throws: `.storeCorrupt` with what is wrong and at which byte.
public func decodeXMLPropertyList(
    _ bytes: [UInt8], limits: PropertyListLimits = PropertyListLimits()
) throws -> PropertyListValue {
    try XMLPropertyListReader(limits: limits).read(bytes)
}

private final class XMLPropertyListReader {
    private enum Container {
        case array([PropertyListValue])
        case dictionary([String: PropertyListValue], key: String?)
    }

    private let limits: PropertyListLimits
    private var parser: XML_Parser?
    private var containers: [Container] = []
    private var text: [UInt8] = []
    /// The element whose text is being read.
    private var leaf: String?
    private var top: PropertyListValue?
    private var count = 0
    private var failure: CoreError?

    init(limits: PropertyListLimits) { self.limits = limits }

    func read(_ bytes: [UInt8]) throws -> PropertyListValue {
        guard bytes.count <= min(limits.size, Int(Int32.max)) else {
            throw corrupt("it has \(bytes.count) bytes; \(limits.size) is the most that is read")
        }
        guard let parser = XML_ParserCreate(nil) else {
            throw CoreError(.noMemory, "there was no memory to read a property list")
        }
        self.parser = parser
        defer {
            XML_ParserFree(parser)
            self.parser = nil
        }
        XML_SetUserData(parser, Unmanaged.passUnretained(self).toOpaque())
        XML_SetElementHandler(
            parser, { data, name, _ in XMLPropertyListReader.from(data)?.start(name) },
            { data, name in XMLPropertyListReader.from(data)?.end(name) })
        XML_SetCharacterDataHandler(parser) { data, text, count in XMLPropertyListReader.from(data)?.append(text, count)
        }
        XML_SetEntityDeclHandler(parser) { data, _, _, _, _, _, _, _, _ in
            XMLPropertyListReader.from(data)?.fail("an entity of its own, which property lists do not have")
        }
        let status = bytes.withUnsafeBytes { raw in
            XML_Parse(parser, raw.bindMemory(to: CChar.self).baseAddress, Int32(raw.count), 1)
        }
        if let failure { throw failure }
        guard status == XML_STATUS_OK else {
            throw corrupt(String(cString: XML_ErrorString(XML_GetErrorCode(parser))))
        }
        guard let top else { throw corrupt("no value in it") }
        return top
    }

    private static func from(_ data: UnsafeMutableRawPointer?) -> XMLPropertyListReader? {
        data.map { Unmanaged<XMLPropertyListReader>.fromOpaque($0).takeUnretainedValue() }
    }

    private func corrupt(_ what: String) -> CoreError {
        let offset = parser.map { Int(XML_GetCurrentByteIndex($0)) } ?? 0
        return CoreError(
            .storeCorrupt, code: .persistentStoreOpen,
            "the XML property list cannot be read: at byte \(offset), \(what)", offset: offset)
    }

    private func fail(_ what: String) {
        guard failure == nil else { return }
        failure = corrupt(what)
        if let parser { XML_StopParser(parser, XML_Bool(XML_FALSE)) }
    }

    // MARK: - Elements

    private func start(_ name: UnsafePointer<XML_Char>?) {
        guard failure == nil, let name = name.map({ String(cString: $0) }) else { return }
        guard leaf == nil else { return fail("<\(name)> within <\(leaf ?? "")>") }
        switch name {
        case "plist":
            if count > 0 || !containers.isEmpty { fail("a second <plist>") }
        case "array", "dict":
            guard containers.count < limits.depth else { return fail("more than \(limits.depth) nested containers") }
            containers.append(name == "array" ? .array([]) : .dictionary([:], key: nil))
        case "key", "string", "integer", "real", "true", "false", "date", "data":
            leaf = name
            text = []
        default: fail("the unknown element <\(name)>")
        }
    }

    private func append(_ bytes: UnsafePointer<XML_Char>?, _ length: Int32) {
        guard leaf != nil, let bytes else { return }
        UnsafeRawBufferPointer(start: bytes, count: Int(length)).withMemoryRebound(to: UInt8.self) { text += $0 }
    }

    private func end(_ name: UnsafePointer<XML_Char>?) {
        guard failure == nil, let name = name.map({ String(cString: $0) }) else { return }
        if leaf != nil {
            leaf = nil
            if name == "key" { return take(key: String(decoding: text, as: UTF8.self)) }
            guard let value = value(of: name) else {
                return fail("<\(name)> holds \"\(String(decoding: text.prefix(40), as: UTF8.self))\"")
            }
            take(value)
        } else if name != "plist", let container = containers.popLast() {
            switch container {
            case .array(let values): take(.array(values))
            case .dictionary(let entries, nil): take(reference(entries) ?? .dictionary(entries))
            case .dictionary(_, let key?): fail("the key \"\(key)\" without a value")
            }
        }
    }

    /// How an XML property list spells a reference of a keyed archive.
    private func reference(_ entries: [String: PropertyListValue]) -> PropertyListValue? {
        guard entries.count == 1, let number = entries["CF$UID"]?.integer else { return nil }
        return UInt32(exactly: number).map { .uid($0) }
    }

    private func take(key: String) {
        guard case .dictionary(let entries, nil)? = containers.popLast() else {
            return fail("the key \"\(key)\" where none belongs")
        }
        containers.append(.dictionary(entries, key: key))
    }

    private func take(_ value: PropertyListValue) {
        count += 1
        guard count <= limits.count else { return fail("more than \(limits.count) values") }
        switch containers.popLast() {
        case .array(var values)?:
            values.append(value)
            containers.append(.array(values))
        case .dictionary(var entries, let key?)?:
            entries[key] = value
            containers.append(.dictionary(entries, key: nil))
        case .dictionary(_, nil)?: fail("a value without a key")
        case nil:
            guard top == nil else { return fail("a second value on top") }
            top = value
        }
    }

    // MARK: - Scalars

    private func value(of element: String) -> PropertyListValue? {
        let string = String(decoding: text, as: UTF8.self)
        switch element {
        case "string": return .string(string)
        case "true": return .bool(true)
        case "false": return .bool(false)
        case "integer": return integer(string)
        case "real": return Double(string).map { .real($0) }
        case "date": return (try? ReferenceDate.parse(string, assumingUTC: true)).map { .date($0) }
        case "data": return decodeBase64(text).map { .data($0) }
        default: return nil
        }
    }

    private func integer(_ string: String) -> PropertyListValue? {
        if let number = Int64(string) { return .integer(number) }
        if let number = UInt64(string) { return .unsigned(number) }
        guard string.hasPrefix("0x") || string.hasPrefix("0X"), let number = UInt64(string.dropFirst(2), radix: 16)
        else {
            return nil
        }
        return Int64(exactly: number).map { .integer($0) } ?? .unsigned(number)
    }
}
