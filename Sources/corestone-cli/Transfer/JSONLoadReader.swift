import Corestone

/// A reader of JSON objects: one per line, concatenated, or in an array.
final class JSONLoadReader: LoadReader {
    let source: ByteSource
    /// Whether each object must be on one line.
    private let isByLine: Bool
    private var state = State.start

    private enum State {
        case start
        /// The file has objects without an array.
        case plain
        /// The reader is after the opening bracket of the array.
        case opened
        /// The reader is after a comma: an element must follow.
        case comma
        /// The reader is after an element: a comma or the closing bracket must follow.
        case element
        case closed
        /// The rest of the file is ignored.
        case over
    }

    init(_ source: ByteSource, isByLine: Bool) { (self.source, self.isByLine) = (source, isByLine) }

    func next() throws -> LoadRecord? {
        if state == .start { try source.skipMark() }
        while let byte = try source.peek() {
            if byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D {
                _ = try source.next()
                continue
            }
            switch state {
            // A byte order mark of UTF-16.
            case .start where byte == 0xFF || byte == 0xFE:
                state = .over
                throw failure("the file is not valid UTF-8; convert it first, for example with iconv -t UTF-8")
            case .start where byte == UInt8(ascii: "["):
                _ = try source.next()
                state = .opened
            case .start, .plain:
                state = .plain
                return isByLine ? try line() : try object()
            case .opened where byte == UInt8(ascii: "]"), .element where byte == UInt8(ascii: "]"):
                _ = try source.next()
                state = .closed
            case .element where byte == UInt8(ascii: ","):
                _ = try source.next()
                state = .comma
            case .element:
                // The next call continues as if there were a comma.
                state = .comma
                throw failure("the array is missing a \",\" between two objects")
            case .comma where byte == UInt8(ascii: "]"), .comma where byte == UInt8(ascii: ","),
                .opened where byte == UInt8(ascii: ","):
                if byte == UInt8(ascii: ",") { _ = try source.next() } else { state = .element }
                throw failure("the array is missing an object before \"\(Unicode.Scalar(byte))\"; remove the comma")
            case .opened, .comma:
                state = .element
                return try object()
            case .closed:
                state = .over
                throw failure("the file has text after the array; remove the text, or load it from a separate file")
            case .over: _ = try source.next()
            }
        }
        switch state {
        case .start where !isByLine:
            state = .over
            throw failure("the file is empty and not valid JSON; write [] for a file without objects")
        case .opened, .comma, .element:
            state = .over
            throw failure(
                "the file ends before the ] of its array; check that the file is complete")
        default: return nil
        }
    }

    private func failure(_ message: String) -> LoadFailure { LoadFailure(line: source.position, message: message) }

    // MARK: Objects

    /// Reads an object that is on one line.
    private func line() throws -> LoadRecord {
        let (place, column) = (source.position, source.column)
        var bytes: [UInt8] = []
        try source.readLine(into: &bytes)
        while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
        guard bytes.first == UInt8(ascii: "{") else { throw JSONLoadReader.noObject(place, bytes) }
        return try record(
            bytes, place, column, "line", "complete the object, or use --format json for objects of several lines")
    }

    /// Reads an object up to its closing brace.
    private func object() throws -> LoadRecord {
        let (place, column) = (source.position, source.column)
        guard try source.peek() == UInt8(ascii: "{") else {
            var found: [UInt8] = []
            while let byte = try source.peek(), byte != 0x0A, byte != 0x0D,
                state == .plain || byte != UInt8(ascii: ",") && byte != UInt8(ascii: "]")
            {
                if found.count < JSONLoadReader.excerptBytes { found.append(byte) }
                _ = try source.next()
            }
            throw JSONLoadReader.noObject(place, found, isElement: state != .plain)
        }
        var bytes: [UInt8] = []
        var (depth, isText, isEscaped) = (0, false, false)
        while let byte = try source.next() {
            bytes.append(byte)
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
            if bytes.count > ByteSource.longest {
                throw LoadFailure(
                    line: place,
                    message:
                        "the object that begins here exceeds the limit of 1 GB; check that its braces and quotes "
                        + "are closed"
                )
            }
        }
        return try record(
            bytes, place, column, "file", "close the object that begins here, or check that the file is complete")
    }

    /// The number of bytes of an excerpt, enough for 40 characters of UTF-8.
    private static let excerptBytes = 160

    /// Creates the error for text that is not an object.
    ///
    /// - Parameter isElement: Whether the text is in an array, so that the file is not CSV.
    private static func noObject(_ line: FilePlace, _ found: [UInt8], isElement: Bool = false) -> LoadFailure {
        let text = String(decoding: found.prefix(excerptBytes), as: UTF8.self)
        let excerpt = text.count > 40 ? String(text.prefix(39)) + "…" : text
        return LoadFailure(
            line: line,
            message:
                "the text \(LoadField.value(.string(excerpt)).excerpt) is not a JSON object, which begins with \"{\""
                + (isElement ? "" : "; use --format csv for CSV"))
    }

    /// Parses a record.
    ///
    /// - Parameters:
    ///   - whole: What ends too early if the JSON is incomplete, for the message.
    ///   - remedy: The remedy for incomplete JSON.
    private func record(
        _ bytes: [UInt8], _ line: FilePlace, _ column: Int, _ whole: String, _ remedy: String
    ) throws -> LoadRecord {
        do {
            guard case .dictionary(let members) = try decodeJSON(bytes, allowsTwins: false, keepsDigits: true) else {
                throw JSONLoadReader.noObject(line, bytes)
            }
            return try LoadRecord(members, line)
        } catch let error as CoreError {
            guard error.offset >= 0 else { throw LoadFailure(line: line, message: error.message) }
            let tail = " (at byte \(error.offset))"
            let words = error.message.hasSuffix(tail) ? String(error.message.dropLast(tail.utf8.count)) : error.message
            if error.offset >= bytes.count {
                throw LoadFailure(line: line, message: "\(words) (at the end of the \(whole)); \(remedy)")
            }
            let (lines, columns) = JSONLoadReader.place(of: error.offset, in: bytes, from: column)
            let location = lines > 0 ? "line \(line.line + lines), column \(columns)" : "column \(columns)"
            throw LoadFailure(line: line, message: "\(words) (\(location))")
        }
    }

    /// Returns the number of lines before a byte, and its column in characters.
    private static func place(of offset: Int, in bytes: [UInt8], from column: Int) -> (lines: Int, column: Int) {
        var (lines, column) = (0, column)
        for (place, byte) in bytes[..<offset].enumerated() {
            if byte == 0x0A && (place == 0 || bytes[place - 1] != 0x0D) || byte == 0x0D {
                (lines, column) = (lines + 1, 1)
            } else if byte & 0xC0 != 0x80, byte != 0x0A {
                column += 1
            }
        }
        return (lines, column)
    }
}
