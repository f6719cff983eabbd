import CorestoneModel

extension StoreCheck {
    /// Checks that derived attributes have the values of their derivations. Times of saves cannot be checked.
    mutating func checkDerivedValues() throws {
        // An inferred model does not have derived attributes.
        if source == .inferred { return }
        var values = 0
        for derived in schema.derivedAttributes where contents.tables[derived.table.name]?[derived.column] != nil {
            if let expected = ExpectedValue(derived) { values += try checkValues(of: derived, expected) }
        }
        findings.addExamined(values, "derived values")
    }

    /// Checks the values of one attribute, and returns their number.
    private mutating func checkValues(of derived: DerivedAttribute, _ expected: ExpectedValue) throws -> Int {
        let (table, attribute, check) = (derived.table, derived.attribute, self)
        let own = derived.numbers.map { "r.Z_ENT IN (\($0.map(String.init).joined(separator: ", ")))" } ?? "1"
        let derivation = attribute.derivation?.expression.text ?? ""
        try report(
            .derived,
            "SELECT r.Z_PK, r.Z_ENT, r.\(derived.column), \(expected.value) FROM \(table.name) r \(expected.join) "
                + "WHERE \(own) AND \(expected.difference)", entity: attribute.entity.name, key: attribute.path
        ) { row in
            let uri = check.uri(table, number: row.integer(1), primaryKey: row.integer(0))
            let name = "\(attribute.entity.name).\(attribute.path)"
            return ("\(name) of \(uri) is \(shown(row, 2)), but \"\(derivation)\" is \(shown(row, 3))", uri)
        }
        return try count("SELECT count(*) FROM \(table.name) r WHERE \(own)")
    }
}

/// Returns a value as shown in messages.
private func shown(_ row: Statement, _ column: Int32) -> String {
    guard let text = row.text(column) else { return "null" }
    if row.isNumber(column) { return text }
    let start = text.prefix(60)
    return "\"\(start)\(start.count < text.count ? "…" : "")\""
}

/// The expected value of a derived attribute in each row `r` of its table.
///
/// Members are grouped once for all rows, because there may be no index by which to find the members of one row.
private struct ExpectedValue {
    let value: String
    let join: String
    /// The condition that the row has another value.
    let difference: String

    /// Creates the expected value, or nil if it cannot be computed from the file.
    init?(_ derived: DerivedAttribute) {
        let column = "r.\(derived.column)"
        func grouped(_ key: String, _ value: String, _ source: String) -> String {
            "LEFT JOIN (SELECT \(key) k, \(value) n FROM \(source) GROUP BY \(key)) d ON d.k = r.Z_PK"
        }
        switch derived.form {
        case .count(let members):
            value = "IFNULL(d.n, 0)"
            switch members {
            case .foreignKey(let table, let key, _, _): join = grouped(key, "COUNT(*)", table.name)
            case .joinTable(let pairs, let owner, _, _, _): join = grouped(owner, "COUNT(*)", pairs)
            }
            // Without members, null is as correct as 0.
            difference = "IFNULL(\(column), 0) IS NOT \(value)"
        case .sum(let storage, let members, let addend):
            value = "IFNULL(d.n, 0)"
            switch storage {
            case .foreignKey(_, let key, _, _): join = grouped(key, "SUM(\(addend))", members)
            case .joinTable(let pairs, let owner, let member, _, _):
                join = grouped(
                    "j.\(owner)", "SUM(m.\(addend))", "\(pairs) j JOIN \(members) m ON m.Z_PK = j.\(member)")
            }
            // The tolerance is needed because the order of additions affects the sum of floating-point values. The
            // factor 1.0 is needed because `abs` of the least integer overflows.
            difference = "abs(1.0 * (IFNULL(\(column), 0) - \(value))) > 1e-9 * max(abs(1.0 * \(value)), 1)"
        case .copy(let key, let source, let original):
            value = "s.\(original)"
            join = "LEFT JOIN \(source) s ON s.Z_PK = r.\(key)"
            difference = "\(column) IS NOT \(value)"
        case .own(let original):
            value = "r.\(original)"
            join = ""
            difference = "\(column) IS NOT \(value)"
        case .text(let function, let original):
            value = "\(function.rawValue)(r.\(original))"
            join = ""
            difference = "\(column) IS NOT \(value)"
        case .now: return nil
        }
    }
}
