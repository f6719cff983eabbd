import CSQLite

/// The maximum number of values that the expressions of a file's schema may keep at a time; 0 for files of Core Data.
///
/// The expressions are those of generated columns, CHECK constraints, defaults, indexes and triggers, and of the views
/// that triggers use. Calls of functions that return text or data, concatenations and elements of lists are counted.
/// Plain columns, whose values are in the file, are not counted. In triggers and views, functions whose result is at
/// most as large as their arguments and elements of lists are not counted either.
struct ExpressionParts {
    private(set) var count = 0
    /// Whether the schema searches for one text in another.
    private(set) var searches = false

    init(of connection: Connection) throws {
        let purpose = "read the schema of \(connection.path)"
        // Statements with only one opening parenthesis, as those of most tables and indexes of Core Data, are skipped.
        // An expression without another parenthesis is possible in an index, if it consists of operators.
        let statement = try connection.prepare(
            "SELECT type, name, sql FROM sqlite_schema WHERE sql LIKE '%(%(%' OR sql LIKE '%(%WHERE%' OR sql LIKE '%||%' "
                + "OR sql LIKE '%->%' OR sql LIKE '%LIKE%' OR sql LIKE '%GLOB%' OR type IN ('trigger', 'view')",
            purpose)
        var (triggers, views): ([[SchemaToken]], [(name: String, parts: Int)]) = ([], [])
        while try statement.step(purpose) {
            let tokens = SchemaToken.all(in: statement)
            if ExpressionParts.search(tokens) { searches = true }
            switch statement.text(0) {
            case "table": add(ExpressionParts.inTable(tokens))
            case "index": add(ExpressionParts.inIndex(tokens))
            case "trigger": triggers.append(tokens)
            case "view":
                views.append((statement.text(1)?.lowercased() ?? "", ExpressionParts.in(tokens, growing: true)))
            default: break
            }
        }
        for trigger in triggers { add(ExpressionParts.in(trigger, growing: true)) }
        if views.isEmpty || triggers.isEmpty { return }
        // A view may use other views, so a trigger that uses one view may use all of them.
        let names = Set(views.map(\.name))
        let isAnyUsed = triggers.joined().contains {
            if case .name(let name) = $0 { names.contains(name) } else { false }
        }
        if isAnyUsed { for view in views { add(view.parts) } }
    }

    /// Whether tokens call a function that searches for one text in another, or match a pattern.
    ///
    /// `INSERT OR REPLACE` does neither, and `trim` with one argument only removes spaces.
    private static func search(_ tokens: [SchemaToken]) -> Bool {
        tokens.indices.contains { place in
            guard case .name(let name) = tokens[place] else { return false }
            if name == "like" || name == "glob" { return true }
            guard place + 1 < tokens.count, tokens[place + 1] == .open else { return false }
            switch name {
            case "replace", "instr": return true
            case "trim", "ltrim", "rtrim":
                return tokens[(place + 2)..<SchemaToken.end(of: place + 1, in: tokens)].contains(.comma)
            default: return false
            }
        }
    }

    private mutating func add(_ parts: Int) { count = count.addingReportingOverflow(parts).partialValue }

    /// Functions whose result may be larger than their arguments.
    private static let growing: Set<String> = [
        "printf", "format", "zeroblob", "randomblob", "replace", "group_concat", "string_agg", "hex", "quote", "char",
        "concat", "concat_ws", "unistr", "strftime",
    ]
    /// Functions whose result is at most as large as their arguments.
    private static let copying: Set<String> = [
        "upper", "lower", "trim", "ltrim", "rtrim", "substr", "substring", "coalesce", "ifnull", "nullif", "iif", "if",
        "max", "min", "cast", "likely", "unlikely", "likelihood", "unhex", "case", "in",
    ]

    /// Returns the number of parts of all expressions in the tokens.
    ///
    /// - Parameter isGrowing: Whether only parts whose result may be larger than their arguments are counted.
    private static func `in`(_ tokens: some Collection<SchemaToken>, growing isGrowing: Bool) -> Int {
        var (count, former) = (0, SchemaToken.other)
        for token in tokens {
            switch token {
            case .joint: count += 1
            case .comma: count += isGrowing ? 0 : 1
            case .open:
                guard case .name(let name) = former else { break }
                if growing.contains(name) || name.hasPrefix("json") || !isGrowing && copying.contains(name) {
                    count += 1
                }
            case .name(let name): if !isGrowing && name == "case" { count += 1 }
            default: break
            }
            former = token
        }
        return count
    }

    /// Returns the number of parts of the expressions in parentheses after CHECK, AS or DEFAULT.
    private static func inTable(_ tokens: [SchemaToken]) -> Int {
        var (count, place) = (0, 0)
        while place + 1 < tokens.count {
            if case .name(let name) = tokens[place], case .open = tokens[place + 1],
                name == "check" || name == "as" || name == "default"
            {
                let end = SchemaToken.end(of: place + 1, in: tokens)
                count += `in`(tokens[(place + 2)..<end], growing: false)
                place = end
            } else {
                place += 1
            }
        }
        return count
    }

    /// Returns the number of parts of an index's condition, and of its columns if one of them is an expression.
    private static func inIndex(_ tokens: [SchemaToken]) -> Int {
        guard let start = tokens.firstIndex(of: .open) else { return 0 }
        let end = SchemaToken.end(of: start, in: tokens)
        let columns = tokens[(start + 1)..<end]
        let isPlain = !columns.contains { $0 == .open || $0 == .joint }
        return (isPlain ? 0 : `in`(columns, growing: false)) + `in`(tokens[end...], growing: false)
    }
}

/// A token of a schema's SQL, as far as `ExpressionParts` uses it.
enum SchemaToken: Equatable {
    /// A word or a quoted name, in lower case.
    case name(String)
    case open, close, comma
    /// An operator whose result is text or data: `||`, `->`, `->>`.
    case joint
    case other

    /// Returns the index of the parenthesis that closes the one at `start`; the number of tokens if it is not closed.
    static func end(of start: Int, in tokens: [SchemaToken]) -> Int {
        var depth = 0
        for place in start..<tokens.count {
            if tokens[place] == .open { depth += 1 }
            if tokens[place] == .close {
                depth -= 1
                if depth == 0 { return place }
            }
        }
        return tokens.count
    }

    /// Returns the tokens of the statement's third column.
    fileprivate static func all(in statement: Statement) -> [SchemaToken] {
        guard let text = sqlite3_column_text(statement.handle, 2) else { return [] }
        return all(in: UnsafeBufferPointer(start: text, count: Int(sqlite3_column_bytes(statement.handle, 2))))
    }

    static func all(in text: UnsafeBufferPointer<UInt8>) -> [SchemaToken] {
        var tokens: [SchemaToken] = []
        var place = 0
        func at(_ place: Int) -> UInt8 { place < text.count ? text[place] : 0 }
        func isWord(_ byte: UInt8) -> Bool {
            byte >= 0x80 || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$") || (0x30...0x39).contains(byte)
                || (0x41...0x5a).contains(byte & 0xdf)
        }
        func word(_ range: Range<Int>) -> SchemaToken {
            .name(String(decoding: UnsafeBufferPointer(rebasing: text[range]), as: UTF8.self).lowercased())
        }
        while place < text.count {
            let byte = text[place]
            let start = place
            place += 1
            switch byte {
            case 0x20, 0x09, 0x0a, 0x0c, 0x0d: continue
            case UInt8(ascii: "-") where at(place) == UInt8(ascii: "-"):
                while place < text.count, text[place] != 0x0a { place += 1 }
            case UInt8(ascii: "/") where at(place) == UInt8(ascii: "*"):
                place += 1
                while place < text.count, !(text[place] == UInt8(ascii: "*") && at(place + 1) == UInt8(ascii: "/")) {
                    place += 1
                }
                place = min(place + 2, text.count)
            case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`"), UInt8(ascii: "["):
                let end = byte == UInt8(ascii: "[") ? UInt8(ascii: "]") : byte
                // A doubled quote, which represents one quote, is parsed as two tokens. That does not change the count.
                while place < text.count, text[place] != end { place += 1 }
                tokens.append(byte == UInt8(ascii: "'") ? .other : word(start + 1..<place))
                place = min(place + 1, text.count)
            case UInt8(ascii: "("): tokens.append(.open)
            case UInt8(ascii: ")"): tokens.append(.close)
            case UInt8(ascii: ","): tokens.append(.comma)
            case UInt8(ascii: "|") where at(place) == UInt8(ascii: "|"):
                place += 1
                tokens.append(.joint)
            case UInt8(ascii: "-") where at(place) == UInt8(ascii: ">"):
                place += 1
                tokens.append(.joint)
            case _ where isWord(byte):
                while place < text.count, isWord(text[place]) { place += 1 }
                tokens.append(word(start..<place))
            default: tokens.append(.other)
            }
        }
        return tokens
    }
}
