import CorestoneValues

extension PropertyDefinition {
    /// Parses a property in one line of text.
    init(line: String, _ place: TextPlace) throws {
        var words = LineWords(line, place)
        switch words.peek?.lowercased() {
        case "to-one", "to_one": self = try PropertyDefinition(relationship: &words, isToMany: false)
        case "to-many", "to_many": self = try PropertyDefinition(relationship: &words, isToMany: true)
        default: self = try PropertyDefinition(attribute: line, place)
        }
    }
}

// MARK: - Attributes

extension PropertyDefinition {
    private static let flags: [String: WritableKeyPath<PropertyDefinition, Bool> & Sendable] = [
        "indexed": \.isIndexed, "transient": \.isTransient, "external": \.allowsExternalStorage,
        "preserved": \.preservesValueInHistory, "nan": \.allowsNaN,
    ]
    private static let attributeWords = [
        "indexed", "transient", "external", "preserved", "nan", "min", "max", "match", "transformer",
        "renaming_identifier",
    ]

    /// Parses an attribute. The text after the first "=" is the default value or the derivation expression.
    private init(attribute line: String, _ place: TextPlace) throws {
        let scalars = line.unicodeScalars
        let equals = scalars.firstIndex(of: "=")
        var words = LineWords(String(scalars[..<(equals ?? scalars.endIndex)]), place)
        let isDerived = words.peek?.lowercased() == "derived"
        if isDerived { words.removeNext() }
        guard let name = words.removeNext() else {
            throw place.error(
                isDerived
                    ? " does not have an attribute type; write a line such as \"derived int64? = articles.@count\""
                    : " does not have an attribute type; write a line such as \"string?\" or \"int16 = 0\"")
        }
        let isOptional = name.hasSuffix("?")
        let type = try AttributeType(
            text: isOptional ? String(name.dropLast()) : name, place, otherWords: ["to-one", "to-many", "derived"])
        self.init(.attribute(type), isOptional: isOptional)
        while let word = words.removeNext() { try read(attributeWord: word, &words) }
        let rest = equals.map { trimmed(scalars[scalars.index(after: $0)...]) }
        if isDerived {
            guard let rest, !rest.isEmpty else {
                throw place.error(
                    " does not have an expression; write a line such as \"derived int64? = articles.@count\"")
            }
            derivation = rest
        } else if let rest {
            defaultValue = .written(rest)
        }
    }

    private mutating func read(attributeWord word: String, _ words: inout LineWords) throws {
        switch word.lowercased() {
        case "min": minimum = .written(try words.argument(of: word, "a value"))
        case "max": maximum = .written(try words.argument(of: word, "a value"))
        case "match": pattern = try words.argument(of: word, "a regular expression (without spaces or \"=\")")
        case "transformer": transformer = try words.argument(of: word, "the name of a transformer")
        case "renaming_identifier": renamingIdentifier = try words.argument(of: word, "the former name")
        case let other:
            guard let flag = PropertyDefinition.flags[other] else {
                throw words.place.unknown(
                    other, ": \"\(word)\" is not an option of an attribute", among: PropertyDefinition.attributeWords,
                    text: word)
            }
            self[keyPath: flag] = true
        }
    }
}

// MARK: - Relationships

extension PropertyDefinition {
    private init(relationship words: inout LineWords, isToMany: Bool) throws {
        words.removeNext()
        let isOrdered = isToMany && words.peek?.lowercased() == "ordered"
        if isOrdered { words.removeNext() }
        let kind = isToMany ? "to-many" : "to-one"
        guard let target = words.removeNext(), target != "?" else {
            throw words.place.error(" does not have a destination; write a line such as \"\(kind) Person\"")
        }
        let isOptional = target.hasSuffix("?")
        self.init(isToMany ? .toMany : .toOne, isOptional: isToMany || isOptional)
        destination = isOptional ? String(target.dropLast()) : target
        self.isOrdered = isOrdered
        while let word = words.removeNext() { try read(relationshipWord: word, &words, kind) }
        if case .json(.int(let least))? = minimum, least > 0 { self.isOptional = false }
    }

    private mutating func read(relationshipWord word: String, _ words: inout LineWords, _ kind: String) throws {
        switch (word.lowercased(), self.kind) {
        case ("renaming_identifier", _): renamingIdentifier = try words.argument(of: word, "the former name")
        case ("inverse", _): inverse = try words.argument(of: word, "the name of a relationship")
        case ("delete", _):
            deleteRule = try DeleteRule(text: try words.argument(of: word, "a delete rule"), words.place)
        case ("ordered", .toMany): isOrdered = true
        case ("min", .toMany): minimum = .json(.int(Int64(try words.count(of: word))))
        case ("max", .toMany): maximum = .json(.int(Int64(try words.count(of: word))))
        default:
            let known =
                ["inverse", "delete", "renaming_identifier"] + (self.kind == .toMany ? ["ordered", "min", "max"] : [])
            throw words.place.unknown(
                word.lowercased(), ": \"\(word)\" is not an option of a \(kind) relationship", among: known,
                text: word)
        }
    }
}

// MARK: - Words

/// A reader of the words of a line.
private struct LineWords {
    let place: TextPlace
    private let words: [String]
    private var next = 0

    init(_ line: String, _ place: TextPlace) {
        self.place = place
        words = line.unicodeScalars.split(whereSeparator: \.properties.isWhitespace).map { String($0) }
    }

    var peek: String? { next < words.count ? words[next] : nil }

    @discardableResult
    mutating func removeNext() -> String? {
        guard next < words.count else { return nil }
        next += 1
        return words[next - 1]
    }

    /// Returns the argument of a word, which is the next word.
    mutating func argument(of word: String, _ kind: String) throws -> String {
        guard let argument = removeNext() else { throw place.error(": \"\(word)\" needs \(kind) after it") }
        return argument
    }

    /// Returns a number of members.
    mutating func count(of word: String) throws -> UInt32 {
        let text = try argument(of: word, "a number")
        guard let count = Int64(text).flatMap({ UInt32(exactly: $0) }) else {
            throw place.error(
                ": \"\(word)\" takes a number of members from 0 to \(UInt32.max), not \"\(text)\"", value: .string(text)
            )
        }
        return count
    }
}

private func trimmed(_ scalars: Substring.UnicodeScalarView) -> String {
    guard let first = scalars.firstIndex(where: { !$0.properties.isWhitespace }),
        let last = scalars.lastIndex(where: { !$0.properties.isWhitespace })
    else { return "" }
    return String(scalars[first...last])
}
