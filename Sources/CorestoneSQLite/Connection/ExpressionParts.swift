import CSQLite

/// How many values the expressions of a file's schema may keep at a time, at most: those of generated columns, CHECK constraints,
/// defaults, indexes, and triggers with the views that these use. 0 for what Core Data writes.
///
/// Counted are calls of functions that give text or data, concatenations, and what stands between commas. Not counted are columns
/// by themselves, whose values are in the file.
struct ExpressionParts {
    private(set) var count = 0
    /// Whether the schema looks for one text in another.
    private(set) var searches = false

    init(of connection: Connection) throws {
        let purpose = "read the schema of \(connection.path)"
        // One opening parenthesis is all that a table or an index of Core Data's has, as a rule.
        let statement = try connection.prepare(
            "SELECT type, name, sql FROM sqlite_schema WHERE sql LIKE '%(%(%' OR sql LIKE '%(%WHERE%' OR type IN ('trigger', 'view')",
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
        // A view may use another one: whoever uses any may use all.
        let names = Set(views.map(\.name))
        let isAnyUsed = triggers.joined().contains {
            if case .name(let name) = $0 { names.contains(name) } else { false }
        }
        if isAnyUsed { for view in views { add(view.parts) } }
    }

    /// Whether tokens call a function that looks for one text in another, or compare by a pattern. `INSERT OR REPLACE` does not, nor
    /// does `trim` of one text, which takes blanks away.
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

    /// Functions that may give more than they were given.
    private static let growing: Set<String> = [
        "printf", "format", "zeroblob", "randomblob", "replace", "group_concat", "string_agg", "hex", "quote", "char",
        "concat", "concat_ws", "unistr", "strftime",
    ]
    /// Functions that give as much as they were given.
    private static let copying: Set<String> = [
        "upper", "lower", "trim", "ltrim", "rtrim", "substr", "substring", "coalesce", "ifnull", "nullif", "iif", "if",
        "max", "min", "cast", "likely", "unlikely", "likelihood", "unhex", "case", "in",
    ]

    /// Parts of all expressions in the tokens.
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

    /// Parts of what stands in parentheses behind CHECK, AS or DEFAULT.
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

    /// Parts of the columns, where one is an expression, and of the condition.
    private static func inIndex(_ tokens: [SchemaToken]) -> Int {
        guard let start = tokens.firstIndex(of: .open) else { return 0 }
        let end = SchemaToken.end(of: start, in: tokens)
        let columns = tokens[(start + 1)..<end]
        let isPlain = !columns.contains { $0 == .open || $0 == .joint }
        return (isPlain ? 0 : `in`(columns, growing: false)) + `in`(tokens[end...], growing: false)
    }
}

/// What matters of the text of a schema.
enum SchemaToken: Equatable {
    /// A word or a quoted name, in lower case.
    case name(String)
    case open, close, comma
    /// What makes text or data of two values: `||`, `->`, `->>`.
    case joint
    case other

    /// The place of the parenthesis that closes the one at `start`; the end when none does.
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

    /// Of the third column.
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
                // A doubled quote is the quote itself; two names in a row count as much.
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
