import CorestoneValues

/// Decodes a binary or XML property list. Very old stores contain XML property lists.
///
/// - Throws: `.storeCorrupt` with the error and its byte offset.
public func decodeAnyPropertyList(
    _ bytes: [UInt8], limits: PropertyListLimits = PropertyListLimits()
) throws -> PropertyListValue {
    if bytes.starts(with: "bplist".utf8) { return try decodePropertyList(bytes, limits: limits) }
    guard XMLParser.mayRead(bytes) else {
        throw CoreError(
            .storeCorrupt, code: .persistentStoreOpen, "the bytes are neither a binary nor an XML property list")
    }
    return try decodeXMLPropertyList(bytes, limits: limits)
}

/// Decodes an XML property list from untrusted bytes. Entity declarations are rejected.
///
/// - Throws: `.storeCorrupt` with the error and its byte offset.
public func decodeXMLPropertyList(
    _ bytes: [UInt8], limits: PropertyListLimits = PropertyListLimits()
) throws -> PropertyListValue {
    try XMLPropertyListReader(limits: limits).read(bytes)
}

private final class XMLPropertyListReader: XMLHandler {
    private enum Container {
        case array([PropertyListValue])
        case dictionary([String: PropertyListValue], key: String?)
    }

    private let limits: PropertyListLimits
    private lazy var parser = XMLParser(
        "XML property list", maximumDepth: limits.depth + 2, maximumSize: limits.size, handler: self)
    private var containers: [Container] = []
    private var characters: [UInt8] = []
    /// The element whose text is being read.
    private var leaf: String?
    private var top: PropertyListValue?
    private var count = 0

    package init(limits: PropertyListLimits) { self.limits = limits }

    package func read(_ bytes: [UInt8]) throws -> PropertyListValue {
        try parser.parse(bytes)
        guard let top else { throw parser.corrupt("it does not contain a value") }
        return top
    }

    // MARK: - Elements

    package func start(_ name: String, _ attributes: XMLAttributes) throws {
        if let leaf { throw parser.corrupt("<\(name)> is not allowed within <\(leaf)>") }
        switch name {
        case "plist":
            if count > 0 || !containers.isEmpty { throw parser.corrupt("a <plist> that is not the root element") }
        case "array", "dict":
            guard containers.count < limits.depth else {
                throw parser.corrupt("containers are nested more than \(limits.depth) levels deep, which is the limit")
            }
            containers.append(name == "array" ? .array([]) : .dictionary([:], key: nil))
        case "key", "string", "integer", "real", "true", "false", "date", "data":
            leaf = name
            characters = []
        default: throw parser.corrupt("unknown element <\(name)>")
        }
    }

    package func text(_ bytes: UnsafeRawBufferPointer) { if leaf != nil { characters += bytes } }

    package func end(_ name: String) throws {
        if leaf != nil {
            leaf = nil
            if name == "key" { return try add(key: String(decoding: characters, as: UTF8.self)) }
            guard let value = value(of: name) else {
                let start = String(decoding: characters.prefix(40), as: UTF8.self) + (characters.count > 40 ? "…" : "")
                throw parser.corrupt("<\(name)> contains \"\(start)\", not \(content(of: name))")
            }
            try add(value)
        } else if name != "plist", let container = containers.popLast() {
            switch container {
            case .array(let values): try add(.array(values))
            case .dictionary(let entries, nil): try add(reference(entries) ?? .dictionary(entries))
            case .dictionary(_, let key?): throw parser.corrupt("the key \"\(key)\" does not have a value", key: key)
            }
        }
    }

    /// Decodes the XML form of a reference in a keyed archive; nil for other dictionaries.
    private func reference(_ entries: [String: PropertyListValue]) -> PropertyListValue? {
        guard entries.count == 1, let number = entries["CF$UID"]?.integer else { return nil }
        return UInt32(exactly: number).map { .uid($0) }
    }

    private func add(key: String) throws {
        switch containers.popLast() {
        case .dictionary(let entries, nil)?: containers.append(.dictionary(entries, key: key))
        case .dictionary(_, let former?)?:
            throw parser.corrupt("the key \"\(former)\" does not have a value", key: former)
        default: throw parser.corrupt("the key \"\(key)\" is not in a <dict>", key: key)
        }
    }

    private func add(_ value: PropertyListValue) throws {
        count += 1
        guard count <= limits.count else {
            throw parser.corrupt("it has more than \(limits.count) values, which is the limit")
        }
        switch containers.popLast() {
        case .array(var values)?:
            values.append(value)
            containers.append(.array(values))
        case .dictionary(var entries, let key?)?:
            entries[key] = value
            containers.append(.dictionary(entries, key: nil))
        case .dictionary(_, nil)?: throw parser.corrupt("a value without a key")
        case nil:
            guard top == nil else { throw parser.corrupt("a second root value") }
            top = value
        }
    }

    // MARK: - Scalars

    private func value(of element: String) -> PropertyListValue? {
        let string = String(decoding: characters, as: UTF8.self)
        switch element {
        case "string": return .string(string)
        case "true": return .bool(true)
        case "false": return .bool(false)
        case "integer": return integer(string)
        case "real": return Double(string).map { .real($0) }
        case "date": return (try? ReferenceDate.parse(string, assumingUTC: true)).map { .date($0) }
        case "data": return decodeBase64(characters).map { .data($0) }
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

    /// Returns the content that an element must have, for an error message.
    private func content(of element: String) -> String {
        switch element {
        case "integer": "an integer from \(Int64.min) to \(UInt64.max)"
        case "real": "a number"
        case "date": "a date such as 2001-01-01T00:00:00Z"
        default: "base64"
        }
    }
}
