import CorestonePredicate

/// The syntax that differs between databases. The compiler uses common SQL for everything else.
package protocol SQLDialect: Sendable {
    func quoted(_ identifier: String) -> String
    /// Returns the placeholder of a binding.
    ///
    /// - Parameter number: The position among the bindings, from 1.
    func placeholder(_ number: Int) -> String
    /// Returns a condition that two values are equal, where NULL equals NULL. The condition is never NULL.
    func same(_ a: SQLFragment, _ b: SQLFragment) -> SQLFragment
    func notSame(_ a: SQLFragment, _ b: SQLFragment) -> SQLFragment
    /// Returns a condition that is true if `condition` is false or NULL.
    func notTrue(_ condition: SQLFragment) -> SQLFragment
    /// Returns a condition that `text` contains `part`, compared byte by byte. `part` must not be empty.
    func contains(_ text: SQLFragment, _ part: SQLFragment) -> SQLFragment
    /// Returns a condition that `value` is an element of a JSON array.
    ///
    /// The array is one binding regardless of its length.
    ///
    /// - Parameter isPacked: Whether texts in the array are encoded by `PackedValue`.
    func isMember(_ value: SQLFragment, ofJSON json: SQLFragment, isPacked: Bool) -> SQLFragment
    /// Returns the COLLATE clause of a selector after a text in ORDER BY; empty for the database's binary order.
    func collation(for selector: SortDescriptor.Selector) -> SQLFragment
    /// Returns LIMIT and OFFSET as literals. If LIMIT were bound, the query planner could not plan for few rows.
    func window(limit: Int, offset: Int) -> SQLFragment
    /// The maximum number of bindings of one statement.
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
        // Names in Apple's layout begin with Z or A. No reserved word of SQL begins with Z. The few names that begin
        // with A are quoted.
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
