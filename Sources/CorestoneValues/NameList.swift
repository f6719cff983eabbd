/// The largest number of names in a list of a message.
private let maximumListedNames = 10

extension [String] {
    /// The names as a list for messages: `a`, `a and b`, `a, b and c`; abridged if there are more than ten.
    package var listed: String {
        guard count <= maximumListedNames else { return abridged }
        guard count > 1 else { return first ?? "" }
        return dropLast().joined(separator: ", ") + " and " + self[count - 1]
    }

    /// The first ten names and the number of the others, for messages: `a, b, c` or `a, b, … and 2 more`.
    package var abridged: String {
        let others = count - maximumListedNames
        return prefix(maximumListedNames).joined(separator: ", ") + (others > 0 ? " and \(others) more" : "")
    }
}
