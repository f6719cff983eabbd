import Corestone

/// What a line of a file says about an object.
struct LoadRecord {
    let line: FilePlace
    /// What the object is called in the file.
    let name: String?
    let entityName: String?
    /// By the names of properties.
    let fields: [(key: String, value: LoadField)]
}

/// What a file has for a property.
enum LoadField {
    /// From JSON.
    case value(PropertyValue)
    /// From CSV; nil for an empty field.
    case text(String?)

    /// Names of objects.
    var references: [String]? {
        switch self {
        case .text(let text): return (text ?? "").split(separator: " ").map { String($0) }
        case .value(.null): return []
        case .value(.text(let text)): return [text.string]
        case .value(.array(let items)):
            var names: [String] = []
            for item in items {
                guard case .text(let text) = item else { return nil }
                names.append(text.string)
            }
            return names
        default: return nil
        }
    }
}

/// A line that cannot be loaded.
struct LoadFailure: Error {
    let line: FilePlace
    let message: String
}

/// Gives what a file has, one after the other.
protocol LoadReader: AnyObject {
    var source: ByteSource { get }
    /// nil at the end. Throws a `LoadFailure` for a line that cannot be read, behind which it goes on.
    func next() throws -> LoadRecord?
}

/// Objects of JSON, one after the other or in an array.
final class JSONLoadReader: LoadReader {
    let source: ByteSource
    private var isInArray = false
    private var isFirst = true

    /// No line is longer.
    private static let longest = 1 << 30

    init(_ source: ByteSource) { self.source = source }

    func next() throws -> LoadRecord? {
        while let byte = try source.peek() {
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0D: _ = try source.next()
            case 0xEF where isFirst: _ = (try source.next(), try source.next(), try source.next())
            case UInt8(ascii: "[") where isFirst:
                _ = try source.next()
                (isInArray, isFirst) = (true, false)
            case UInt8(ascii: ","), UInt8(ascii: "]"):
                guard isInArray else {
                    let line = source.position
                    try skipLine()
                    throw LoadFailure(
                        line: line, message: "begins with \"\(Unicode.Scalar(byte))\" instead of an object")
                }
                _ = try source.next()
            default:
                isFirst = false
                return try object()
            }
        }
        return nil
    }

    private func skipLine() throws { while let byte = try source.next(), byte != 0x0A {} }

    /// The bytes up to the brace that closes the object, or to the end of the line where there is none.
    private func object() throws -> LoadRecord {
        let line = source.position
        guard try source.peek() == UInt8(ascii: "{") else {
            while let byte = try source.peek(), byte != 0x0A, !isInArray || byte != UInt8(ascii: ",") {
                _ = try source.next()
            }
            throw LoadFailure(line: line, message: "is no object of JSON, which begins with {")
        }
        var bytes: [UInt8] = []
        var (depth, isText, isEscaped) = (0, false, false)
        while let byte = try source.peek() {
            if byte == 0x0A, !isInArray, isText || depth == 0 { break }
            bytes.append(byte)
            _ = try source.next()
            if isText {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isText = false
                }
            } else if byte == UInt8(ascii: "\"") {
                isText = true
            } else if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") {
                depth += 1
            } else if byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]") {
                depth -= 1
                if depth <= 0 { break }
            }
            if bytes.count > JSONLoadReader.longest {
                throw LoadFailure(line: line, message: "has an object of more than 1 GB")
            }
        }
        do {
            guard case .dictionary(let members) = try decodeJSON(bytes) else {
                throw LoadFailure(line: line, message: "is no object of JSON")
            }
            return try record(members, line)
        } catch let error as CoreError { throw LoadFailure(line: line, message: error.message) }
    }

    private func record(_ members: [String: PropertyValue], _ line: FilePlace) throws -> LoadRecord {
        func text(_ key: String) throws -> String? {
            switch members[key] {
            case nil, .null: return nil
            case .text(let text): return text.string
            case .int(let number): return String(number)
            default: throw LoadFailure(line: line, message: "has an \(key) that is no text")
            }
        }
        let fields = members.filter { $0.key != "@id" && $0.key != "@entity" }.sorted { $0.key < $1.key }
        return LoadRecord(
            line: line, name: try text("@id"), entityName: try text("@entity"),
            fields: fields.map { ($0.key, .value($0.value)) })
    }
}

/// Lines of CSV (RFC 4180); the first one names the columns.
final class CSVLoadReader: LoadReader {
    let source: ByteSource
    /// What columns are called in the model; empty for one that is left out.
    private let map: [String: String]
    private let separator: UInt8
    private var columns: [String]?

    init(_ source: ByteSource, map: [String: String], separator: UInt8) {
        (self.source, self.map, self.separator) = (source, map, separator)
    }

    func next() throws -> LoadRecord? {
        if columns == nil { try readHead() }
        guard let columns else { return nil }
        var line = source.position
        guard var fields = try row() else { return nil }
        // An empty line is none.
        while fields.count == 1, fields[0] == nil, columns.count > 1 {
            line = source.position
            guard let more = try row() else { return nil }
            fields = more
        }
        guard fields.count == columns.count else {
            throw LoadFailure(
                line: line,
                message:
                    "has \(plural(fields.count, "field")) under \(plural(columns.count, "column")); put quotes around text with commas"
            )
        }
        var (name, entity): (String?, String?)
        var found: [(String, LoadField)] = []
        for (column, field) in zip(columns, fields) {
            switch column {
            case "@id": name = field
            case "@entity": entity = field
            case "": break
            default: found.append((column, .text(field)))
            }
        }
        return LoadRecord(line: line, name: name, entityName: entity, fields: found)
    }

    private func readHead() throws {
        if try source.peek() == 0xEF { _ = (try source.next(), try source.next(), try source.next()) }
        let line = source.position
        guard let names = try row() else { return }
        var result: [String] = []
        for name in names {
            let key = name.map { map[$0] ?? $0 } ?? ""
            guard key.isEmpty || !result.contains(key) else {
                throw UsageError("\(line): two columns are \"\(key)\"; --map \"\(key)=\" leaves one out")
            }
            result.append(key)
        }
        let unknown = map.keys.sorted().first { key in !names.contains { $0 == key } }
        if let unknown {
            let hint =
                nearestName(to: unknown, among: names.compactMap { $0 }).map { "; did you mean \"\($0)\"?" } ?? ""
            throw UsageError("--map: \(source.name) has no column \"\(unknown)\"\(hint)")
        }
        columns = result
    }

    /// nil at the end; an empty field without quotes is nil.
    private func row() throws -> [String?]? {
        guard try source.peek() != nil else { return nil }
        let line = source.position
        var fields: [String?] = []
        var (bytes, isQuoted): ([UInt8], Bool) = ([], false)
        func end() throws {
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw LoadFailure(line: line, message: "is not UTF-8")
            }
            fields.append(text.isEmpty && !isQuoted ? nil : text)
            (bytes, isQuoted) = ([], false)
        }
        while let byte = try source.next() {
            switch byte {
            case UInt8(ascii: "\"") where bytes.isEmpty && !isQuoted:
                isQuoted = true
                try quoted(&bytes, line)
            case separator: try end()
            case 0x0D where try source.peek() == 0x0A: break
            case 0x0A:
                try end()
                return fields
            default: bytes.append(byte)
            }
        }
        try end()
        return fields
    }

    private func quoted(_ bytes: inout [UInt8], _ line: FilePlace) throws {
        while let byte = try source.next() {
            if byte != UInt8(ascii: "\"") {
                bytes.append(byte)
            } else if try source.peek() == UInt8(ascii: "\"") {
                _ = try source.next()
                bytes.append(byte)
            } else {
                return
            }
        }
        throw LoadFailure(line: line, message: "has a quote that is never closed")
    }
}
