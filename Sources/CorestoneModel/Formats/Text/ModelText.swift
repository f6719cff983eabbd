import CorestoneValues

/// A model as one text of JSON: an object of entities, each an object of properties, most of them one line of text.
///
///     {"Person": {"name": "string", "age": "int16? min 0 = 18", "friends": "to-many Person inverse friends"},
///      "Employee": {"@parent": "Person", "salary": "decimal"}}
///
/// `PropertyDefinition` has the grammar of a property; docs/reference/model.md has all of it.
extension Model {
    /// Values in the text of a model: strings, objects and so on.
    static let maximumTextValues = 1_000_000

    /// Creates a model from a text. The model is not frozen.
    ///
    /// - Parameter text: JSON: an object of entities, each an object of properties.
    /// - Throws: `.model` with entity and key for a mistake in the text, with the offset for one in its JSON. A value that does
    ///   not suit its attribute and a condition that cannot be read throw what `Attribute.setDefaultValue` and
    ///   `Predicate.parse` throw, with entity and key.
    public convenience init(text: String) throws {
        self.init()
        try add(text: text)
    }

    /// Adds the entities of a text. An entity that the model has already gets the properties and options of the text in
    /// addition to its own.
    ///
    /// - Throws: as `init(text:)`. Like every mistake in construction, the first one sticks.
    public func add(text: String) throws { _ = try add(text: text, allowsMissing: false) }

    /// The same for a program that adds more entities later.
    ///
    /// - Parameter allowsMissing: whether a relationship may name a destination or an inverse that the model does not have. A
    ///   relationship without destination leads to its own entity until it gets one; `freeze` refuses it.
    /// - Returns: the relationships that name something missing.
    package func add(text: String, allowsMissing: Bool) throws -> [MissingEnd] {
        try change {
            let root = try ModelText.decode(text)
            var builder = ModelTextBuilder(self, allowsMissing: allowsMissing)
            return try builder.add(root)
        }
    }
}

/// A relationship that names a destination or an inverse that the model does not have.
package struct MissingEnd {
    package let relationship: Relationship
    package let destination: String
    package let inverse: String?
}

enum ModelText {
    static func decode(_ text: String) throws -> JSONNode {
        var text = text
        return try text.withUTF8 { bytes in
            guard bytes.count <= Model.maximumFileSize else {
                throw modelError(
                    "the model text has \(bytes.count) bytes, but the limit is \(Model.maximumFileSize); split the model"
                )
            }
            let bytes = UnsafeRawBufferPointer(bytes)
            return try decodeJSONNode(bytes, limit: Model.maximumTextValues) { complaint, offset in
                CoreError(
                    .model, code: .coreData, "the model text \(complaint), at \(place(of: offset, in: bytes))",
                    offset: offset)
            }
        }
    }

    /// The line and the column in characters, both counted from 1.
    private static func place(of offset: Int, in bytes: UnsafeRawBufferPointer) -> String {
        var (line, column) = (1, 1)
        for byte in bytes.prefix(offset) {
            if byte == UInt8(ascii: "\n") {
                line += 1
                column = 1
            } else if byte & 0xC0 != 0x80 {
                column += 1
            }
        }
        return "line \(line), column \(column)"
    }
}
