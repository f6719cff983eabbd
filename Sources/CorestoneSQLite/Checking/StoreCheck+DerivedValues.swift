import CorestoneModel

extension StoreCheck {
    /// Derived attributes have the values that their derivations give. Times of a save cannot be told afterwards.
    mutating func checkDerivedValues() throws {
        // A guessed model derives nothing.
        if source == .inferred { return }
        var values = 0
        for derived in schema.derivedAttributes where contents.tables[derived.table.name]?[derived.column] != nil {
            if let expected = ExpectedValue(derived) { values += try checkValues(of: derived, expected) }
        }
        findings.examined(values, "derived values")
    }

    /// Returns how many values there are.
    private mutating func checkValues(of derived: DerivedAttribute, _ expected: ExpectedValue) throws -> Int {
        let (table, attribute, check) = (derived.table, derived.attribute, self)
        let own = derived.numbers.map { "r.Z_ENT IN (\($0.map(String.init).joined(separator: ", ")))" } ?? "1"
        let derivation = attribute.derivation?.expression.text ?? ""
        try report(
            .derived,
            "SELECT r.Z_PK, r.Z_ENT, r.\(derived.column), \(expected.value) FROM \(table.name) r \(expected.join) "
                + "WHERE \(own) AND \(expected.difference)", entity: attribute.entity.name, key: attribute.name
        ) { row in
            let uri = check.uri(table, number: row.integer(1), primaryKey: row.integer(0))
            let name = "\(attribute.entity.name).\(attribute.path)"
            return ("\(name) of \(uri) is \(shown(row, 2)), but \(derivation) is \(shown(row, 3))", uri)
        }
        return try count("SELECT count(*) FROM \(table.name) r WHERE \(own)")
    }
}

/// A value for people.
private func shown(_ row: Statement, _ column: Int32) -> String {
    guard let text = row.text(column) else { return "null" }
    if row.isNumber(column) { return text }
    let start = text.prefix(60)
    return "\"\(start)\(start.count < text.count ? "…" : "")\""
}

/// What a derived attribute should be in each row `r` of its table. Members are grouped once for all rows: there may be no
/// index to find those of one by.
private struct ExpectedValue {
    let value: String
    let join: String
    /// The condition that the row has another value.
    let difference: String

    /// nil where the file cannot tell.
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
            // Nothing is as good as 0 while there are no members.
            difference = "IFNULL(\(column), 0) IS NOT \(value)"
        case .sum(let storage, let members, let addend):
            value = "IFNULL(d.n, 0)"
            switch storage {
            case .foreignKey(_, let key, _, _): join = grouped(key, "SUM(\(addend))", members)
            case .joinTable(let pairs, let owner, let member, _, _):
                join = grouped(
                    "j.\(owner)", "SUM(m.\(addend))", "\(pairs) j JOIN \(members) m ON m.Z_PK = j.\(member)")
            }
            // The order in which fractions are added up makes a difference too.
            // Of the least integer there is no absolute value but that of a fraction.
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
