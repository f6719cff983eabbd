extension CoreError {
    /// Returns the error with parts of its message and file name replaced, also in its children.
    ///
    /// For example, a temporary path is replaced with the path that the application passed.
    package func replacing(_ parts: [(part: String, text: String)]) -> CoreError {
        func substituted(_ text: String) -> String {
            parts.reduce(text) { CorestoneValues.replacing($1.part, in: $0, by: $1.text) }
        }
        return CoreError(
            status, substituted(message), domain: domain, customCode: code, entity: entity, key: key, value: value,
            predicate: predicate, objectURI: objectURI, children: children.map { $0.replacing(parts) },
            sqliteCode: sqliteCode, file: file.map(substituted), offset: offset, payload: payload)
    }
}

/// Returns the text with each occurrence of `part`, compared by bytes, replaced with `other`.
package func replacing(_ part: String, in text: String, by other: String) -> String {
    let (part, text) = (Array(part.utf8), Array(text.utf8))
    guard !part.isEmpty else { return String(decoding: text, as: UTF8.self) }
    var result: [UInt8] = []
    var place = 0
    while place < text.count {
        if text[place...].starts(with: part) {
            result += Array(other.utf8)
            place += part.count
        } else {
            result.append(text[place])
            place += 1
        }
    }
    return String(decoding: result, as: UTF8.self)
}
