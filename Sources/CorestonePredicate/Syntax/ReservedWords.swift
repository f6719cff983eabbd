/// The reserved words, in upper case. A key that is a reserved word is written with `#`.
enum ReservedWords {
    static let all: Set<String> = [
        "AND", "OR", "IN", "NOT", "ALL", "ANY", "SOME", "NONE", "LIKE", "CASEINSENSITIVE", "CI", "MATCHES", "CONTAINS",
        "BEGINSWITH", "ENDSWITH", "BETWEEN", "NULL", "NIL", "SELF", "TRUE", "YES", "FALSE", "NO", "FIRST", "LAST",
        "SIZE",
        "ANYKEY", "SUBQUERY", "FETCH", "CAST", "TRUEPREDICATE", "FALSEPREDICATE", "UTI-CONFORMS-TO", "UTI-EQUALS",
        "FUNCTION", "TERNARY", "UNION", "INTERSECT", "INTERSECTION", "MINUS", "TOKENMATCHES",
    ]

    private static let longest = all.map(\.utf8.count).max() ?? 0

    /// Returns the word in upper case if it is reserved.
    static func reserved(_ word: String) -> String? {
        if word.utf8.count > longest { return nil }
        let upper = word.uppercased()
        return all.contains(upper) ? upper : nil
    }
}
