import CorestoneValues

/// A property in a model text: a line (`init(line:_:)`) or an object of options (`init(_:_:)`).
///
///     attribute     TYPE['?'] [indexed] [transient] [external] [preserved] [nan]
///                   [min N] [max N] [match REGEX] [transformer NAME] [renaming_identifier NAME] ['=' DEFAULT]
///     derived       derived TYPE['?'] '=' EXPRESSION
///     relationship  to-one ENTITY['?'] [inverse NAME] [delete RULE] [renaming_identifier NAME]
///                   to-many [ordered] ENTITY [inverse NAME] [delete RULE] [min N] [max N] [renaming_identifier NAME]
///
/// The words after the type or the entity can have any order. The bounds of a string are those of its length. A regular
/// expression in a line cannot contain a space or a "=". "?" means optional; a to-many relationship is optional unless
/// `min` requires members.
struct PropertyDefinition: Sendable {
    enum Kind: Equatable { case attribute(AttributeType), toOne, toMany }

    /// A value that is converted to the type of the attribute.
    enum Value {
        /// A value in a line.
        case written(String)
        /// A value in JSON.
        case json(PropertyValue)
    }

    let kind: Kind
    var isOptional: Bool
    var isTransient = false
    var renamingIdentifier: String?
    var validation: [(condition: String, warning: String)] = []
    var userInfo: [(key: String, value: String)] = []
    /// The bounds of the value, or of the number of members.
    var minimum: Value?
    var maximum: Value?

    // Attributes
    var isIndexed = false
    var allowsExternalStorage = false
    var preservesValueInHistory = false
    var allowsNaN = false
    var ignoresChanges = false
    var defaultValue: Value?
    var pattern: String?
    var transformer: String?
    var derivation: String?
    var derivationFilter: String?
    /// The elements of a composite attribute; nil if the text does not define elements.
    var elements: [(name: String, definition: PropertyDefinition)]?

    // Relationships
    var destination = ""
    var inverse: String?
    var deleteRule = DeleteRule.nullify
    var isOrdered = false

    init(_ kind: Kind, isOptional: Bool) { (self.kind, self.isOptional) = (kind, isOptional) }
}

// MARK: - Names

extension AttributeType {
    /// The names of the type in a text; messages show the first one. Case, spaces, hyphens and underscores are ignored.
    var textNames: [String] {
        switch self {
        case .undefined: ["undefined"]
        case .integer16: ["int16", "integer16"]
        case .integer32: ["int32", "integer32"]
        case .integer64: ["int64", "integer64", "int", "integer"]
        case .decimal: ["decimal"]
        case .double: ["double"]
        case .float: ["float"]
        case .string: ["string", "str"]
        case .boolean: ["bool", "boolean"]
        case .date: ["date", "datetime"]
        case .binary: ["binary", "bytes", "binarydata"]
        case .uuid: ["uuid"]
        case .uri: ["uri"]
        case .transformable: ["transformable"]
        case .objectID: ["objectid"]
        case .composite: ["composite"]
        }
    }

    private static let byTextName = Dictionary(
        uniqueKeysWithValues: allCases.flatMap { type in type.textNames.map { ($0, type) } })

    /// Creates a type from its name in a text.
    init(text: String, _ place: TextPlace, otherWords: [String] = []) throws {
        guard let type = AttributeType.byTextName[folded(text)] else {
            let known = AttributeType.allCases.flatMap(\.textNames)
            let shown = AttributeType.allCases.filter { $0 != .undefined }.map { "\"\($0.textNames[0])\"" }
            throw place.unknown(
                folded(text), ": \"\(text)\" is not an attribute type", among: known + otherWords,
                remedy: "use one of \(shown.abridged)", text: text)
        }
        self = type
    }
}

extension DeleteRule {
    private var textName: String {
        switch self {
        case .noAction: "no-action"
        case .nullify: "nullify"
        case .cascade: "cascade"
        case .deny: "deny"
        }
    }

    /// Creates a rule from its name in a text. Case, spaces, hyphens and underscores are ignored.
    init(text: String, _ place: TextPlace) throws {
        guard let rule = DeleteRule.allCases.first(where: { folded($0.textName) == folded(text) }) else {
            throw place.unknown(
                text.lowercased(), ": \"\(text)\" is not a delete rule", among: DeleteRule.allCases.map(\.textName),
                text: text)
        }
        self = rule
    }
}

private func folded(_ word: String) -> String {
    word.lowercased().filter { $0 != " " && $0 != "_" && $0 != "-" }
}
