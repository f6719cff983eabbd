import Corestone

/// A reader of CSV (RFC 4180) with a header line. Lines end with LF, CRLF or CR, in any mixture.
final class CSVLoadReader: LoadReader {
    let source: ByteSource
    /// The property of each mapped column; empty for a skipped column.
    private let map: [Text: String]
    private let separator: UInt8
    /// Whether apostrophes before formulas are removed.
    private let isGuarded: Bool
    private var columns: [String]?

    init(_ source: ByteSource, map: [Text: String], separator: UInt8, isGuarded: Bool) {
        (self.source, self.map, self.separator, self.isGuarded) = (source, map, separator, isGuarded)
    }

    func next() throws -> LoadRecord? {
        if columns == nil { try readHead() }
        guard let columns else { return nil }
        var line = source.position
        guard var fields = try row() else { return nil }
        // Empty lines are skipped.
        while fields.count == 1, fields[0] == nil {
            line = source.position
            guard let more = try row() else { return nil }
            fields = more
        }
        guard fields.count == columns.count else {
            throw LoadFailure(
                line: line,
                message:
                    "the record has \(plural(fields.count, "field")) for \(plural(columns.count, "column")); "
                    + CSVLoadReader.remedy(fields.count, columns.count)
            )
        }
        var (name, entity): (String?, String?)
        var found: [(String, LoadField)] = []
        for (column, field) in zip(columns, fields) {
            switch column {
            case "@id": name = field
            case "@entity": entity = field
            case "": break
            default: found.append((column, .text(isGuarded ? field.map(Formula.bare) : field)))
            }
        }
        return LoadRecord(line: line, name: name, entityName: entity, fields: found)
    }

    /// Returns the remedy for a line with the wrong number of fields.
    private static func remedy(_ fields: Int, _ columns: Int) -> String {
        if fields < columns {
            return "add an empty field for each missing value, or put quotes around text that contains a line break"
        }
        return columns == 1
            ? "put quotes around text that contains a separator, or set the separator of the file with --separator"
            : "remove the extra fields, or put quotes around text that contains a separator"
    }

    private func readHead() throws {
        try source.skipMark()
        let line = source.position
        let names: [String?]?
        // An invalid header ends the load, because no other line can replace it.
        do { names = try row() } catch let failure as LoadFailure { throw UsageError("\(line): \(failure.message)") }
        guard let names else { return }
        var (result, taken): ([String], [Text: String]) = ([], [:])
        for name in names {
            let key = name.map { map[Text($0)] ?? $0 } ?? ""
            if !key.isEmpty, let former = taken.updateValue(name ?? "", forKey: Text(key)) {
                throw UsageError("\(line): \(CSVLoadReader.duplicate(key, of: former, and: name ?? ""))")
            }
            result.append(key)
        }
        let known = Set(names.compactMap { $0.map { Text($0) } })
        if let unknown = map.keys.sorted().first(where: { !known.contains($0) })?.string {
            let hint = nearestName(to: unknown, among: names.compactMap { $0 }).map { "; did you mean \"\($0)\"?" }
            let remedy = names.count == 1 ? "; set the separator of the file with --separator" : ""
            throw UsageError("--map: \(source.name) does not have a column \"\(unknown)\"\(hint ?? remedy)")
        }
        columns = result
    }

    /// Returns the message for two columns that would be loaded as one property.
    private static func duplicate(_ key: String, of former: String, and name: String) -> String {
        if Text(former) == Text(name) { return "two columns are named \"\(name)\"; rename one of them" }
        let skipped = former == key ? former : name
        return
            "the columns \"\(former)\" and \"\(name)\" are both loaded as \"\(key)\"; use --map \"\(skipped)=\" to skip one"
    }

    /// Reads a row; nil at the end of the file.
    ///
    /// An empty field without quotes is nil. An invalid row is read to its end before the error is thrown, unless a
    /// quoted field exceeds the limit.
    private func row() throws -> [String?]? {
        guard try source.peek() != nil else { return nil }
        let line = source.position
        var fields: [String?] = []
        var (bytes, isQuoted): ([UInt8], Bool) = ([], false)
        var wrong: String?
        func name(_ place: Int) -> String {
            guard let columns, place < columns.count, !columns[place].isEmpty else { return "field \(place + 1)" }
            return "field \(place + 1) (\"\(columns[place])\")"
        }
        func end() {
            let text = String(validating: bytes, as: UTF8.self)
            if text == nil, wrong == nil {
                wrong =
                    "\(name(fields.count)) is not valid UTF-8; convert the file first, for example with iconv -t UTF-8"
            }
            fields.append(bytes.isEmpty && !isQuoted ? nil : text)
            (bytes, isQuoted) = ([], false)
        }
        loop: while let byte = try source.next() {
            switch byte {
            case separator: end()
            case 0x0D:
                if try source.peek() == 0x0A { _ = try source.next() }
                break loop
            case 0x0A: break loop
            case UInt8(ascii: "\"") where bytes.isEmpty && !isQuoted:
                isQuoted = true
                if try !quoted(&bytes, name(fields.count), from: line) {
                    let last = source.position.line
                    throw LoadFailure(
                        line: line,
                        message: "\(name(fields.count)) has an unterminated quote"
                            + (last > line.line ? ", so the field includes the rest of the file" : "")
                            + "; close the quote, or put quotes around the field and double each quote in its "
                            + "text (\"\")")
                }
            default:
                if isQuoted, wrong == nil {
                    wrong =
                        "\(name(fields.count)) has text after its closing quote; double a quote that is text (\"\")"
                }
                bytes.append(byte)
            }
        }
        end()
        if let wrong { throw LoadFailure(line: line, message: wrong) }
        return fields
    }

    /// Reads a quoted field. Returns false if the closing quote is missing.
    private func quoted(
        _ bytes: inout [UInt8], _ field: @autoclosure () -> String, from line: FilePlace
    ) throws -> Bool {
        while let byte = try source.next() {
            if byte != UInt8(ascii: "\"") {
                bytes.append(byte)
                if bytes.count > ByteSource.longest {
                    throw LoadFailure(
                        line: line,
                        message: "\(field()) exceeds the limit of 1 GB; check that its quote is closed")
                }
            } else if try source.peek() == UInt8(ascii: "\"") {
                _ = try source.next()
                bytes.append(byte)
            } else {
                return true
            }
        }
        return false
    }
}
