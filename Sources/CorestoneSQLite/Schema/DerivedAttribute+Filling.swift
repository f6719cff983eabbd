extension DerivedAttribute {
    /// The statement that computes the attribute for all rows, with the same result as the attribute's triggers. nil
    /// for `now()`, because the time of the last save is unknown.
    var fillingStatement: String? {
        let value: String
        switch form {
        case .now: return nil
        case .own(let source): value = source
        case .text(let function, let source): value = "\(function.rawValue)(\(source))"
        case .copy(let key, let source, let original):
            value = "(SELECT s.\(original) FROM \(source) s WHERE s.Z_PK = \(table.name).\(key))"
        case .count(.foreignKey(let members, let key, _, _)):
            value = "(SELECT COUNT(*) FROM \(members.name) m WHERE m.\(key) = \(table.name).Z_PK)"
        case .count(.joinTable(let pairs, let owner, _, _, _)):
            value = "(SELECT COUNT(*) FROM \(pairs) j WHERE j.\(owner) = \(table.name).Z_PK)"
        case .sum(.foreignKey(_, let key, _, _), let members, let addend):
            value = "(SELECT IFNULL(SUM(m.\(addend)), 0) FROM \(members) m WHERE m.\(key) = \(table.name).Z_PK)"
        case .sum(.joinTable(let pairs, let owner, let member, _, _), let members, let addend):
            value =
                "(SELECT IFNULL(SUM(m.\(addend)), 0) FROM \(pairs) j JOIN \(members) m ON m.Z_PK = j.\(member) "
                + "WHERE j.\(owner) = \(table.name).Z_PK)"
        }
        let own = numbers.map { " WHERE Z_ENT IN (\($0.map(String.init).joined(separator: ", ")))" } ?? ""
        return "UPDATE \(table.name) SET \(column) = \(value)\(own)"
    }
}
