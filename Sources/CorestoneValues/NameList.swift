extension [String] {
    /// The names as a list for messages: `a`, `a and b`, `a, b and c`.
    package var listed: String {
        guard count > 1 else { return first ?? "" }
        return dropLast().joined(separator: ", ") + " and " + self[count - 1]
    }
}
