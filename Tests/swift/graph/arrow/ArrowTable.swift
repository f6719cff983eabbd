import CPlatform
import Corestone
import Foundation

/// The contents of a stream, as a consumer of the C data interface reads them, with every value as text.
struct ArrowTable {
    var names: [String] = []
    var formats: [String] = []
    /// By column.
    var columns: [[String?]] = []
    /// Rows of each batch.
    var batches: [Int] = []
    /// Buffers that do not begin at a multiple of 64.
    var strayBuffers = 0

    var rows: [[String?]] { (columns.first ?? []).indices.map { row in columns.map { $0[row] } } }

    subscript(name: String) -> [String?] { names.firstIndex(of: name).map { columns[$0] } ?? [] }

    /// Reads the whole stream and releases its arrays.
    init(_ stream: ArrowStream) throws {
        var schema = platform_arrow_schema()
        try stream.exportSchema(to: &schema)
        defer { schema.release(&schema) }
        for child in ArrowTable.children(schema) {
            names.append(String(cString: child.name))
            formats.append(String(cString: child.format))
        }
        columns = names.map { _ in [] }
        var array = platform_arrow_array()
        while try stream.next(into: &array) {
            batches.append(Int(array.length))
            for (place, child) in ArrowTable.children(array).enumerated() {
                note(child)
                let field = ArrowTable.children(schema)[place]
                columns[place] += (0..<Int(array.length)).map { ArrowTable.text(field, child, $0) }
            }
            array.release(&array)
        }
    }

    private static func children(_ schema: platform_arrow_schema) -> [platform_arrow_schema] {
        (0..<Int(schema.n_children)).map { schema.children[$0]!.pointee }
    }
    private static func children(_ array: platform_arrow_array) -> [platform_arrow_array] {
        (0..<Int(array.n_children)).map { array.children[$0]!.pointee }
    }

    private mutating func note(_ array: platform_arrow_array) {
        for place in 0..<Int(array.n_buffers) {
            if let buffer = array.buffers[place], UInt(bitPattern: buffer) % 64 != 0 { strayBuffers += 1 }
        }
        for child in ArrowTable.children(array) { note(child) }
    }

    /// The metadata of a schema's child.
    static func metadata(_ stream: ArrowStream, of name: String) throws -> [String: String] {
        var schema = platform_arrow_schema()
        try stream.exportSchema(to: &schema)
        defer { schema.release(&schema) }
        guard let field = children(schema).first(where: { String(cString: $0.name) == name }),
            var place = field.metadata.map({ UnsafeRawPointer($0) })
        else { return [:] }
        func number() -> Int {
            defer { place += 4 }
            return Int(place.loadUnaligned(as: Int32.self))
        }
        func text() -> String {
            let count = number()
            defer { place += count }
            return String(decoding: UnsafeRawBufferPointer(start: place, count: count), as: UTF8.self)
        }
        var found: [String: String] = [:]
        for _ in 0..<number() {
            let key = text()
            found[key] = text()
        }
        return found
    }

    private static func text(_ field: platform_arrow_schema, _ array: platform_arrow_array, _ row: Int) -> String? {
        let format = String(cString: field.format)
        if format == "n" { return nil }
        if let validity = array.buffers[0], !bit(validity, row) { return nil }
        func value<Value>(_ type: Value.Type) -> Value {
            array.buffers[1]!.load(fromByteOffset: row * MemoryLayout<Value>.size, as: type)
        }
        func range() -> Range<Int> {
            let offsets = array.buffers[1]!
            if format.first!.isUppercase || format == "+L" {
                return Int(
                    offsets.load(fromByteOffset: row * 8, as: Int64.self))..<Int(
                        offsets.load(fromByteOffset: row * 8 + 8, as: Int64.self))
            }
            return Int(
                offsets.load(fromByteOffset: row * 4, as: Int32.self))..<Int(
                    offsets.load(fromByteOffset: row * 4 + 4, as: Int32.self))
        }
        switch format {
        case "b": return "\(bit(array.buffers[1]!, row))"
        case "s": return "\(value(Int16.self))"
        case "i": return "\(value(Int32.self))"
        case "l", "tsu:UTC": return "\(value(Int64.self))"
        case "f": return "\(value(Float.self))"
        case "g": return "\(value(Double.self))"
        case "u", "U":
            let range = range()
            return String(
                decoding: UnsafeRawBufferPointer(start: array.buffers[2]! + range.lowerBound, count: range.count),
                as: UTF8.self)
        case "z", "Z":
            let range = range()
            let bytes = UnsafeRawBufferPointer(start: array.buffers[2]! + range.lowerBound, count: range.count)
            return bytes.map { String(format: "%02x", $0) }.joined()
        case "w:16":
            let bytes = UnsafeRawBufferPointer(start: array.buffers[1]! + row * 16, count: 16)
            return bytes.map { String(format: "%02x", $0) }.joined()
        case "+s":
            let parts = zip(children(field), children(array)).map {
                "\(String(cString: $0.name))=\(text($0, $1, row) ?? "nil")"
            }
            return "{" + parts.joined(separator: ", ") + "}"
        case "+l", "+L":
            let (child, values) = (children(field)[0], children(array)[0])
            return "[" + range().map { text(child, values, $0) ?? "nil" }.joined(separator: ", ") + "]"
        default: return "\(value(Int128.self))"
        }
    }

    private static func bit(_ buffer: UnsafeRawPointer, _ place: Int) -> Bool {
        (buffer + place / 8).load(as: UInt8.self) >> UInt8(place % 8) & 1 != 0
    }
}
