import CorestoneModel
import CorestoneValues

/// The checks for objects that violate a unique constraint of the new model.
extension MigrationChecks {
    /// Throws if objects have equal values, before the index of a constraint is created.
    func requireUnique(_ index: StoreIndex) throws {
        guard index.isUnique, !index.columns.isEmpty else { return }
        let groups = try equalObjects(index, index.columns, table: index.table, condition: nil)
        guard !groups.isEmpty else { return }
        let names = index.keys.map { "\(index.entity.name).\($0)" }.joined(separator: " and ")
        let subject = index.keys.count == 1 ? names : "the combination of \(names)"
        let least = groups.count == MigrationChecks.maximumDetails ? "at least " : ""
        let remedy =
            isStored(index)
            ? "change or delete all but one of each group first"
            : "remove the default value or the constraint, or delete all but one of each group first"
        throw CoreError(
            .migration, code: .migrationConstraintViolation,
            "cannot migrate \(path): \(subject) must be unique, but \(least)\(groups.count) "
                + "\(groups.count == 1 ? "group of objects has" : "groups of objects have") equal values; \(remedy)",
            entity: index.entity.name, key: index.keys.first, children: groups, file: path)
    }

    /// Finds objects in the former tables that violate a constraint, for the report of a planned migration.
    func equalObjects() throws -> [CoreError] {
        var groups: [CoreError] = []
        for table in plan.tables {
            guard let formerTable = table.formerTable, !table.numbers.isEmpty else { continue }
            let condition = "Z_ENT IN (\(table.numbers.map(\.former).joinedText))"
            for index in table.table.propertyIndexes + table.table.modelIndexes
            where index.isUnique && !index.columns.isEmpty {
                let values = index.columns.map { table.formerValue(ofColumn: $0) }
                if values.contains(nil) { continue }
                groups += try equalObjects(
                    index, values.compactMap { $0 }, table: formerTable.name, condition: condition)
            }
        }
        return groups
    }

    /// Whether the store has values of a property of the constraint. Otherwise the objects have only default values.
    private func isStored(_ index: StoreIndex) -> Bool {
        let pair = plan.mapping.pair(to: index.entity)
        return index.keys.contains { key in
            index.entity.property(named: key).flatMap { pair.pair(to: $0)?.source } != nil
        }
    }

    /// Returns an error for each group of objects with equal values.
    private func equalObjects(
        _ index: StoreIndex, _ expressions: [String], table: String, condition: String?
    ) throws -> [CoreError] {
        let list = expressions.joined(separator: ", ")
        // The store has the objects under the former name of the entity.
        let former = plan.mapping.source(of: index.entity) ?? index.entity
        let pair = plan.mapping.pair(to: index.entity)
        let names = index.keys.map { key in
            index.entity.property(named: key).flatMap { pair.pair(to: $0)?.source.path } ?? key
        }
        let remedy =
            isStored(index)
            ? "change or delete all but one"
            : "remove the default value or the constraint, or delete all but one object"
        let rule = index.keys.count == 1 ? "which must be unique" : "whose combination must be unique"
        let conditions = [condition].compactMap { $0 } + expressions.map { "(\($0)) IS NOT NULL" }
        let statement = try connection.prepare(
            "SELECT count(*), group_concat(Z_PK), \(list) FROM \(table) WHERE \(conditions.joined(separator: " AND ")) "
                + "GROUP BY \(list) HAVING count(*) > 1 LIMIT \(MigrationChecks.maximumDetails)", purpose)
        var groups: [CoreError] = []
        while try statement.step(purpose) {
            let keys = (statement.text(1) ?? "").split(separator: ",").compactMap { Int64($0) }
            let cells = zip(index.keys, expressions.indices).map { key, place in
                cell(Int32(place + 2), of: statement, index.entity.property(named: key))
            }
            let texts = cells.map(\.shown)
            let shown = zip(names, texts).map { "\($0) \($1)" }.joined(separator: ", ")
            let objects =
                keys.prefix(10).map { "\(former.name)/p\($0)" }.joined(separator: ", ")
                + (keys.count > 10 ? ", …" : "")
            groups.append(
                CoreError(
                    .conflict, code: .managedObjectConstraintMerge,
                    "\(statement.integer(0)) objects of \(former.name) would have \(shown), \(rule): \(objects); "
                        + remedy,
                    entity: former.name, key: names.first, value: cells.first.map { .string($0.text) },
                    objectURI: keys.first.map { uri(former, $0) }, file: path))
        }
        return groups
    }

    /// Returns a stored value as text, and as it is shown in a message. UUIDs and dates are shown in readable form.
    private func cell(
        _ column: Int32, of statement: Statement, _ property: Property?
    ) -> (text: String, shown: String) {
        let type = (property as? Attribute)?.type
        if type == .uuid, let uuid = statement.blob(column)?.withUnsafeBytes({ UUIDValue(bytes: $0) }) {
            return (uuid.description, uuid.description)
        }
        let text = statement.text(column) ?? ""
        if type == .date, let seconds = Double(text) { return (text, ReferenceDate.description(seconds)) }
        let start = String(text.prefix(61))
        return (text, property?.shown(stored: start) ?? "\"\(start)\"")
    }
}
