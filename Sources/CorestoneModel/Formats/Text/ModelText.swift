import CorestoneFormats
import CorestoneValues

/// Models as JSON text.
///
/// The text is an object of entities, each an object of properties, most of which are one line of text.
///
///     {"Person": {"name": "string", "age": "int16? min 0 = 18", "friends": "to-many Person inverse friends"},
///      "Employee": {"@parent": "Person", "salary": "decimal"}}
///
/// `PropertyDefinition` has the grammar of a property; docs/reference/model.md describes the whole format.
extension Model {
    /// The maximum number of JSON values in a model text.
    static let maximumTextValues = 1_000_000

    /// Creates a model from a text. The model is not frozen.
    ///
    /// - Parameter text: JSON: an object of entities, each an object of properties.
    /// - Throws: `.model` with entity and key for an error in the text, and with the offset for invalid JSON.
    ///   Errors of `Attribute.setDefaultValue` and `Predicate.parse`, with entity and key.
    public convenience init(text: String) throws {
        self.init()
        try add(text: text)
    }

    /// Adds the entities of a text.
    ///
    /// The properties and options of the text are added to those of an existing entity.
    ///
    /// - Throws: as `init(text:)`. The model keeps the first error of its construction, and `freeze` throws that error
    ///   again.
    public func add(text: String) throws { _ = try add(text: text, allowsMissing: false) }

    /// Adds the entities of a text, which can refer to entities that are added later.
    ///
    /// - Parameter allowsMissing: whether a relationship can name a destination or an inverse that does not exist.
    ///   Until a missing destination is set, the relationship's own entity is its placeholder, and `freeze` fails.
    /// - Returns: the relationships with a missing destination or inverse.
    package func add(text: String, allowsMissing: Bool) throws -> [MissingEnd] {
        try change {
            let root = try ModelText.decode(text)
            var builder = ModelTextBuilder(self, allowsMissing: allowsMissing)
            return try builder.add(root)
        }
    }
}

/// A relationship whose destination or inverse does not exist in the model.
package struct MissingEnd {
    package let relationship: Relationship
    package let destination: String
    package let inverse: String?
}

/// Decoding of the JSON of a model text.
enum ModelText {
    static func decode(_ text: String) throws -> JSONNode {
        var text = text
        return try text.withUTF8 { bytes in
            guard bytes.count <= Model.maximumFileSize else {
                throw modelError(
                    "the model text has \(bytes.count) bytes, but the limit is \(Model.maximumFileSize); split the "
                        + "model",
                    value: .int(Int64(bytes.count)))
            }
            let bytes = UnsafeRawBufferPointer(bytes)
            return try decodeJSONNode(bytes, limit: Model.maximumTextValues) { complaint, offset in
                let problem = complaint.withoutRemedy
                let remedy = complaint.dropFirst(problem.count)
                return CoreError(
                    .model, code: .coreData, "the model text \(problem), at \(place(of: offset, in: bytes))\(remedy)",
                    offset: offset)
            }
        }
    }

    /// Returns the line and column of an offset, in characters from 1.
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
