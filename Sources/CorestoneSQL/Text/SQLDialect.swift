import CorestonePredicate

/// What differs between databases. SQLite is the first; the compiler says everything else in common SQL.
package protocol SQLDialect: Sendable {
    func quoted(_ identifier: String) -> String
    /// - Parameter number: the place among the bindings, from 1.
    func placeholder(_ number: Int) -> String
    /// Whether two values are the same, two NULLs included; never NULL.
    func same(_ a: SQLFragment, _ b: SQLFragment) -> SQLFragment
    func notSame(_ a: SQLFragment, _ b: SQLFragment) -> SQLFragment
    /// True for false and NULL.
    func notTrue(_ condition: SQLFragment) -> SQLFragment
    /// Whether `text` holds `part`, byte for byte; `part` is not empty.
    func contains(_ text: SQLFragment, _ part: SQLFragment) -> SQLFragment
    /// Whether `value` is among the elements of a JSON array, in one binding however long it is.
    ///
    /// - Parameter isPacked: whether texts in there are values that `PackedValue` made.
    func isMember(_ value: SQLFragment, ofJSON json: SQLFragment, isPacked: Bool) -> SQLFragment
    /// Behind a text in ORDER BY, the order of a selector; empty for that of the code units.
    func collation(for selector: SortDescriptor.Selector) -> SQLFragment
    /// LIMIT and OFFSET, printed: a bound LIMIT costs the plan that knows how few rows are wanted.
    func window(limit: Int, offset: Int) -> SQLFragment
    /// How many values one statement can bind.
    var maximumBindings: Int { get }
}

package struct SQLiteDialect: SQLDialect {
    package init() {}

    package func quoted(_ identifier: String) -> String {
        let isPlain =
            identifier.utf8.first.map { !(UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0) } ?? false
            && identifier.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
        // Every name in Apple's layout begins with Z or A, and no reserved word of SQL does with Z; the few with A are quoted.
        if isPlain, identifier.utf8.first == UInt8(ascii: "Z") { return identifier }
        return "\"" + identifier.map { $0 == "\"" ? "\"\"" : String($0) }.joined() + "\""
    }

    package func placeholder(_ number: Int) -> String { "?" }
    package func same(_ a: SQLFragment, _ b: SQLFragment) -> SQLFragment { "\(a) IS \(b)" }
    package func notSame(_ a: SQLFragment, _ b: SQLFragment) -> SQLFragment { "\(a) IS NOT \(b)" }
    package func notTrue(_ condition: SQLFragment) -> SQLFragment { "(\(condition)) IS NOT TRUE" }
    package func contains(_ text: SQLFragment, _ part: SQLFragment) -> SQLFragment { "instr(\(text), \(part)) > 0" }
    package func isMember(_ value: SQLFragment, ofJSON json: SQLFragment, isPacked: Bool) -> SQLFragment {
        isPacked
            ? "\(value) IN (SELECT cst_unpack(value) FROM json_each(\(json)))"
            : "\(value) IN (SELECT value FROM json_each(\(json)))"
    }
    package func collation(for selector: SortDescriptor.Selector) -> SQLFragment {
        switch selector {
        case .compare: ""
        case .caseInsensitive: " COLLATE CST_NOCASE"
        case .localized: " COLLATE CST_LOCALIZED"
        case .localizedCaseInsensitive: " COLLATE CST_LOCALIZED_NOCASE"
        case .localizedStandard: " COLLATE CST_STANDARD"
        }
    }
    package func window(limit: Int, offset: Int) -> SQLFragment {
        if limit <= 0 && offset <= 0 { return "" }
        let count = limit <= 0 ? -1 : Int64(limit)
        return offset <= 0 ? " LIMIT \(number: count)" : " LIMIT \(number: count) OFFSET \(number: Int64(offset))"
    }
    package var maximumBindings: Int { 30_000 }
}
