import CorestoneValues

/// The place of an error in a model text: the text itself, an entity, a property, or an option of one of these.
struct TextPlace {
    let entity: String?
    /// The path of the property.
    let key: String?
    let option: String?

    init(_ entity: String? = nil, _ key: String? = nil, option: String? = nil) {
        (self.entity, self.key, self.option) = (entity, key, option)
    }

    func element(_ name: String) -> TextPlace { TextPlace(entity, key.map { "\($0).\(name)" } ?? name) }
    func option(_ name: String) -> TextPlace { TextPlace(entity, key, option: name) }

    /// The beginning of a message: `Person.age`, or `Person.age: "optional"`.
    private var subject: String {
        let name = entity.map { entity in key.map { "\(entity).\($0)" } ?? entity } ?? "the model text"
        return option.map { "\(name): \"\($0)\"" } ?? name
    }

    /// Creates an error whose message begins with the place.
    func error(_ message: String, value: PropertyValue? = nil) -> CoreError {
        modelError("\(subject)\(message)", entity: entity, key: key ?? option, value: value)
    }

    /// Creates the error for an unknown word.
    ///
    /// Only the first 10,000 of `known` are searched for a similar word.
    ///
    /// - Parameters:
    ///   - remedy: the remedy if no word is similar; empty for no remedy, nil to list the words, or the first ten of
    ///     many words.
    ///   - text: the word in the spelling of the text, if that differs.
    func unknown(
        _ word: String, _ complaint: String, among known: some Collection<String>, remedy: String? = nil,
        text: String? = nil
    ) -> CoreError {
        let value = PropertyValue.string(text ?? word)
        if let near = nearestName(to: word, among: Array(known.prefix(10_000))) {
            return error("\(complaint); did you mean \"\(near)\"?", value: value)
        }
        let remedy =
            remedy
            ?? (known.count > TextPlace.maximumListedWords
                ? "use one of \(known.map { "\"\($0)\"" }.abridged)" : "use \(TextPlace.quoted(known))")
        return error(remedy.isEmpty ? complaint : "\(complaint); \(remedy)", value: value)
    }

    /// Returns a list of words in quotes: "a", "b" or "c".
    static func quoted(_ words: some Collection<String>) -> String { listed(words.lazy.map { "\"\($0)\"" }) }

    private static let maximumListedWords = 10

    /// Returns a list of words: "a, b or c"; only the first ten.
    static func listed(_ words: some Collection<String>) -> String {
        let shown = Array(words.prefix(maximumListedWords))
        guard let last = shown.last, shown.count > 1 else { return shown.first ?? "" }
        if shown.count < words.count { return shown.joined(separator: ", ") + ", …" }
        return shown.dropLast().joined(separator: ", ") + " or " + last
    }

    /// Runs `body`. Adds the place to errors that do not name an entity.
    func naming<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let error as CoreError where error.entity == nil {
            throw error.within("\(subject)", entity: entity, key: key ?? option)
        }
    }
}
