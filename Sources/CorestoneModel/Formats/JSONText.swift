import CorestoneValues

/// An encoder of values as JSON with types.
///
/// A value without a JSON type becomes an object with one key that begins with `$`.
package struct JSONText {
    package private(set) var text = ""

    /// Whether to write plain JSON, without tags.
    private var isPlain = false

    package init(_ value: PropertyValue) { add(value) }

    /// Encodes plain JSON. The value must not contain types that JSON does not support.
    package init(plain value: PropertyValue) {
        isPlain = true
        add(value)
    }

    private mutating func add(_ value: PropertyValue) {
        switch value {
        case .null: text += "null"
        case .bool(let flag): text += flag ? "true" : "false"
        case .int(let number): text += String(number)
        case .double(let number):
            // The text always has a point or an exponent, so that it is parsed to a double.
            if number.isFinite {
                text += "\(number)"
            } else {
                tag("$real") { $0.text.appendJSON(JSONText.nonFiniteName(number)) }
            }
        case .decimal(let number): tag("$decimal") { $0.text.appendJSON(number.description) }
        case .text(let value): text.appendJSON(value.string)
        case .bytes(let bytes): tag("$bytes") { $0.text.appendJSON(base64(bytes.array)) }
        case .date(let seconds): tag("$date") { $0.add(.double(seconds)) }
        case .uuid(let uuid): tag("$uuid") { $0.text.appendJSON(uuid.description) }
        case .uri(let uri): tag("$uri") { $0.text.appendJSON(uri.string) }
        case .object(let object as ArchivedObject): tag("$object") { $0.add(object) }
        case .object(let object): tag("$object") { $0.text.appendJSON(object.valueDescription) }
        case .array(let values): list(values)
        case .set(let values): tag("$set") { $0.list(JSONText.ordered(values)) }
        case .dictionary(let entries):
            if !isPlain && entries.keys.contains(where: { $0.hasPrefix("$") }) {
                tag("$dictionary") { $0.add(entries) }
            } else {
                add(entries)
            }
        }
    }

    /// The values of the tag `$real`.
    static let reals = ["nan": Double.nan, "inf": .infinity, "-inf": -.infinity]

    /// Returns the word for a number that is not finite. All NaNs have the same word.
    private static func nonFiniteName(_ number: Double) -> String { number.isNaN ? "nan" : number < 0 ? "-inf" : "inf" }

    /// Returns the elements of a set in a deterministic order.
    static func ordered(_ values: Set<PropertyValue>) -> [PropertyValue] {
        if values.count < 2 { return Array(values) }
        return values.map { (Text(JSONText($0).text), $0) }.sorted { $0.0 < $1.0 }.map(\.1)
    }

    private mutating func add(_ object: ArchivedObject) {
        text += "{\"class\": "
        text.appendJSON(object.className)
        if !object.isPlainClass {
            text += ", \"classes\": "
            list(object.classes.map { .string($0) })
        }
        text += ", \"fields\": "
        add(.dictionary(object.fields))
        text += "}"
    }

    private mutating func tag(_ name: String, _ content: (inout JSONText) -> Void) {
        text += "{\"\(name)\": "
        content(&self)
        text += "}"
    }

    private mutating func list(_ values: [PropertyValue]) {
        text += "["
        for (place, value) in values.enumerated() {
            if place > 0 { text += ", " }
            add(value)
        }
        text += "]"
    }

    private mutating func add(_ entries: [String: PropertyValue]) {
        text += "{"
        for (place, key) in entries.keys.sorted().enumerated() {
            if place > 0 { text += ", " }
            text.appendJSON(key)
            text += ": "
            add(entries[key] ?? .null)
        }
        text += "}"
    }
}
