import CorestoneModel

extension StoreCheck {
    /// Checks that every value is valid for its attribute.
    ///
    /// Readers read an invalid value as null, or as converted by SQLite.
    mutating func checkValues() throws {
        // The types of an inferred model are those of the declared columns, which are not reliable in older files.
        if source == .inferred { return }
        for table in schema.tables {
            guard let present = contents.tables[table.name] else { continue }
            for column in table.columns where column.role == .attribute && present[column.name] != nil {
                guard let attribute = column.property as? Attribute, let misfit = misfit(column.name, attribute.type)
                else { continue }
                let check = self
                try report(
                    .row,
                    "SELECT Z_PK, Z_ENT, typeof(\(column.name)), substr(\(column.name), 1, 41), length(\(column.name)) "
                        + "FROM \(table.name) WHERE \(column.name) IS NOT NULL AND (\(misfit))",
                    entity: attribute.entity.name, key: attribute.path
                ) { row in
                    let uri = check.uri(table, number: row.integer(1), primaryKey: row.integer(0))
                    let name = "\(attribute.entity.name).\(attribute.path)"
                    return ("\(name) of \(uri) is \(check.foundValue(row, attribute.type))", uri)
                }
            }
        }
    }

    /// Returns the condition that a non-null value is not of the type, or nil if every value is valid.
    private func misfit(_ column: String, _ type: AttributeType) -> String? {
        let noNumber = "typeof(\(column)) NOT IN ('integer', 'real')"
        switch type {
        case .integer16: return "\(noNumber) OR \(column) NOT BETWEEN \(Int16.min) AND \(Int16.max)"
        case .integer32: return "\(noNumber) OR \(column) NOT BETWEEN \(Int32.min) AND \(Int32.max)"
        case .integer64: return "\(noNumber) OR \(column) NOT BETWEEN -9.3e18 AND 9.3e18"
        case .double, .float, .date: return noNumber
        case .boolean: return "\(column) NOT IN (0, 1)"
        case .decimal: return "\(noNumber) OR \(column) NOT BETWEEN -1e165 AND 1e165"
        case .string, .uri: return "typeof(\(column)) = 'blob'"
        case .uuid: return "typeof(\(column)) = 'blob' AND length(\(column)) <> 16 OR \(isNumber(column))"
        default: return nil
        }
    }

    /// Returns a description of an invalid value and of the expected type.
    ///
    /// From the third column on, the row contains the storage class of the value, its text and its length.
    private func foundValue(_ row: Statement, _ type: AttributeType) -> String {
        let (kind, text) = (row.text(2) ?? "value", row.text(3) ?? "")
        switch kind {
        case "integer", "real":
            let range = range(of: type).map { " (\($0))" } ?? ""
            return "the \(kind) \(text), but its type is \(type.displayName)\(range)"
        case "blob":
            let size = type == .uuid ? " (16 bytes)" : ""
            return "a blob of \(counted(row.integer(4), "byte")), but its type is \(type.displayName)\(size)"
        default:
            let shown = text.count > 40 ? "\(text.prefix(40))…" : text
            return "the \(kind) \"\(shown)\", but its type is \(type.displayName)"
        }
    }

    private func range(of type: AttributeType) -> String? {
        switch type {
        case .boolean: "0 or 1"
        case .decimal: "-1e165 to 1e165"
        default: type.integerRange.map { "\($0.lowerBound) to \($0.upperBound)" }
        }
    }

    private func isNumber(_ column: String) -> String { "typeof(\(column)) IN ('integer', 'real')" }
}
