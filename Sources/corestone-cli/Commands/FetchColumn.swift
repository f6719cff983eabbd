import Corestone

/// A column that `fetch` prints.
struct FetchColumn {
    enum Source {
        /// A property of the object, which is read from the object itself.
        case field(Field)
        /// A value that a request for rows computes.
        case computed(Expression)
    }

    let name: String
    let source: Source

    /// The column with the number of objects, `@count`.
    static let count = FetchColumn(name: "@count", source: .computed(.function(.count, [.selfObject])))

    /// The expression for the column in a request for rows.
    var expression: Expression {
        switch source {
        case .field(.id): .selfObject
        case .field(.entity): .key("entity.name")
        case .field(.attribute(let name, _)), .field(.toOne(let name)), .field(.toMany(let name)): .key(name)
        case .computed(let expression): expression
        }
    }

    /// The column of a request for rows.
    ///
    /// A key path without an alias is a property, so that a relationship to many objects is rejected with a remedy.
    var fetched: FetchedColumn {
        if case .keyPath(let path) = expression, path.text == name, !path.keys.contains(where: \.isOperator) {
            return .property(name)
        }
        return .expression(ExpressionDescription(name: name, expression: expression))
    }

    /// Whether the values are aligned to the right; nil if only the values show this.
    var isNumber: Bool? { if case .field(let field) = source { field.isNumber } else { nil } }

    var field: Field? { if case .field(let field) = source { field } else { nil } }
}

extension FetchColumn {
    /// Returns the columns in a list of properties, key paths and expressions, each optionally as `NAME=EXPRESSION`.
    ///
    /// Duplicates are an error, because the members of a JSON object must have different names.
    ///
    /// - Parameters:
    ///   - option: The option with the list, for errors.
    ///   - known: Columns that the list can name.
    ///   - isNamed: Whether only the columns with an alias are returned.
    static func parse(
        _ list: String, _ option: String, _ entity: Entity, known: [FetchColumn] = [], isNamed: Bool = false
    ) throws -> [FetchColumn] {
        let items = ColumnText.items(in: list).filter { !isNamed || $0.name != $0.text }
        if items.isEmpty, !isNamed {
            throw UsageError("--\(option) takes property names or expressions separated by commas, not \"\(list)\"")
        }
        var taken: Set<String> = []
        if let twice = items.first(where: { !taken.insert($0.name).inserted }) {
            let remedy = twice.text == twice.name ? "remove all but one" : "rename one of the columns"
            throw UsageError("--\(option) contains \"\(twice.name)\" more than once; \(remedy)")
        }
        return try items.map { item in
            if item.name == item.text, let column = known.first(where: { $0.name == item.name }) { return column }
            if item.name != item.text, let first = item.name.first, "@-+".contains(first) {
                throw UsageError(
                    "--\(option) has the name \"\(item.name)\", but a name must not begin with @, - or +; rename it")
            }
            return FetchColumn(name: item.name, source: try source(item.text, entity))
        }
    }

    private static func source(_ text: String, _ entity: Entity) throws -> Source {
        if text == count.name { return count.source }
        if let field = Field.all(of: entity).first(where: { $0.name == text }) { return .field(field) }
        let expression = try ColumnText.expression(text)
        // The error for a single key lists the properties and the parts of composite attributes.
        if case .keyPath(let path) = expression, let key = path.single, !key.isOperator, key.text.lowercased() != "self"
        {
            return .field(try Field.of(entity, named: key.text))
        }
        return .computed(expression)
    }
}

/// The text of a column or a sort key.
enum ColumnText {
    /// Splits a list at its commas, except within quotes and brackets.
    static func items(in list: String) -> [(name: String, text: String)] {
        var items: [String.UTF8View.SubSequence] = []
        let bytes = list.utf8
        var start = bytes.startIndex
        scan(bytes) { place, byte in
            if byte == UInt8(ascii: ",") {
                items.append(bytes[start..<place])
                start = bytes.index(after: place)
            }
            return true
        }
        items.append(bytes[start...])
        return items.map { trimmed($0) }.filter { !$0.isEmpty }.map { named($0) }
    }

    /// Separates the alias of a column, `total=sum:(words)`, from its expression. Without an alias, both are equal.
    private static func named(_ item: String) -> (name: String, text: String) {
        let bytes = item.utf8
        var sign: String.UTF8View.Index?
        scan(bytes) { place, byte in
            if byte == UInt8(ascii: "=") { sign = place }
            // An alias does not contain operators, or the colon of a function or of an assignment.
            return sign == nil && !":<>!~*/".utf8.contains(byte)
        }
        guard let sign, sign != bytes.startIndex, bytes[sign...].dropFirst().first != UInt8(ascii: "=") else {
            return (item, item)
        }
        let (name, text) = (trimmed(bytes[..<sign]), trimmed(bytes[bytes.index(after: sign)...]))
        return name.isEmpty || text.isEmpty || name.utf8.contains(UInt8(ascii: "(")) ? (item, item) : (name, text)
    }

    /// Calls `body` with each byte outside of quotes and brackets, until it returns false.
    private static func scan(_ bytes: String.UTF8View, _ body: (String.Index, UInt8) -> Bool) {
        var (depth, quote, isEscaped) = (0, UInt8?.none, false)
        for place in bytes.indices {
            let byte = bytes[place]
            if let open = quote {
                if !isEscaped, byte == open { quote = nil }
                isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
                continue
            }
            switch byte {
            case UInt8(ascii: "'"), UInt8(ascii: "\""): quote = byte
            case UInt8(ascii: "("), UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: ")"), UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: if depth == 0, !body(place, byte) { return }
            }
        }
    }

    private static func trimmed(_ text: Substring.UTF8View) -> String {
        let space = UInt8(ascii: " ")
        let end = text.lastIndex { $0 != space }.map { text.index(after: $0) } ?? text.startIndex
        return String(Substring(text[..<end].drop { $0 == space }))
    }

    /// Parses an expression. Keys of a path may be reserved words.
    static func expression(_ text: String) throws -> Expression {
        isKeyPath(text) ? .key(text) : try Expression.parse(text)
    }

    /// Whether the text consists of keys and dots only.
    static func isKeyPath(_ text: String) -> Bool {
        if text.lowercased() == "self" || text.utf8.first.map({ (0x30...0x39).contains($0) }) ?? true { return false }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "@"), 0x80...:
                true
            default: false
            }
        }
    }
}
