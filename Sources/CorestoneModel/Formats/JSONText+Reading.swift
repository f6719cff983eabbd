import CorestoneFormats
import CorestoneValues

/// Decodes the JSON that `JSONText` writes.
///
/// - Throws: `.invalidArgument` for invalid JSON, for an unknown tag, and for a tag with content of the wrong type.
package func decodeTaggedJSON(_ bytes: [UInt8]) throws -> PropertyValue { try untagged(decodeJSON(bytes)) }

/// Decodes tags such as `$date` in a JSON value.
func untagged(_ value: PropertyValue) throws -> PropertyValue {
    switch value {
    case .array(let values): return .array(try values.map(untagged))
    case .dictionary(let entries):
        guard entries.count == 1, let (tag, content) = entries.first, tag.hasPrefix("$") else {
            return .dictionary(try entries.mapValues(untagged))
        }
        return try meaning(of: tag, content)
    default: return value
    }
}

private let knownTags: [(name: String, form: String)] = [
    ("$date", "a number of seconds since 2001-01-01 UTC"), ("$bytes", "a string of base64"), ("$uuid", "a UUID string"),
    ("$uri", "a string"), ("$decimal", "a string with a number"), ("$real", "\"nan\", \"inf\" or \"-inf\""),
    ("$set", "an array"), ("$dictionary", "an object"),
    (
        "$object",
        "an object with \"class\" (a string), \"fields\" (an object) and optionally \"classes\" (strings, the class "
            + "first)"
    ),
]

private func meaning(of tag: String, _ content: PropertyValue) throws -> PropertyValue {
    let text: String? = if case .text(let text) = content { text.string } else { nil }
    let found: PropertyValue?
    switch (tag, content) {
    case ("$date", _): found = try seconds(content).map { .date($0) }
    case ("$bytes", _): found = text.flatMap { decodeBase64(Array($0.utf8)) }.map { .bytes(Bytes($0)) }
    case ("$uuid", _): found = text.flatMap { UUIDValue($0) }.map { .uuid($0) }
    case ("$uri", .text(let text)): found = .uri(text)
    case ("$decimal", _): found = try text.map { .decimal(try DecimalNumber($0)) }
    case ("$real", _): found = text.flatMap { JSONText.reals[$0] }.map { .double($0) }
    case ("$set", .array(let values)): found = .set(Set(try values.map(untagged)))
    case ("$dictionary", .dictionary(let entries)): found = .dictionary(try entries.mapValues(untagged))
    case ("$object", .dictionary(let parts)): found = try object(parts)
    default: found = nil
    }
    guard let found else {
        let form = knownTags.first { $0.name == tag }?.form
        let names = knownTags.map(\.name)
        let near = nearestName(to: tag, among: names).map { "did you mean \"\($0)\"?" }
        let other = "use \(TextPlace.quoted(names)), or write the object as {\"$dictionary\": {\"\(tag)\": …}}"
        throw CoreError(
            .invalidArgument,
            form.map { "the JSON tag \"\(tag)\" takes \($0), not \(content.excerpt)" }
                ?? "\"\(tag)\" is not a JSON tag; \(near ?? other)",
            value: form == nil ? .string(tag) : content)
    }
    return found
}

/// Returns the number of seconds; nil if the content is not a number, for example a Boolean.
private func seconds(_ content: PropertyValue) throws -> Double? {
    switch try untagged(content) {
    case .int(let number): Double(number)
    case .double(let number): number
    case .decimal(let number): number.double
    default: nil
    }
}

private func object(_ parts: [String: PropertyValue]) throws -> PropertyValue? {
    guard case .text(let name)? = parts["class"], case .dictionary(let fields)? = try parts["fields"].map(untagged)
    else { return nil }
    guard let list = parts["classes"] else {
        return .object(ArchivedObject(className: name.string, fields: fields))
    }
    guard case .array(let names) = list, names.first.map({ $0 == .text(name) }) ?? true else { return nil }
    let classes = names.compactMap { if case .text(let name) = $0 { name.string } else { nil } }
    guard classes.count == names.count else { return nil }
    return .object(
        ArchivedObject(className: name.string, classes: classes.isEmpty ? nil : classes, fields: fields))
}
