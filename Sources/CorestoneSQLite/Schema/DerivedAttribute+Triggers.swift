import CorestoneModel

extension DerivedAttribute {
    /// The statements that create the triggers in the file, in Apple's order.
    var triggerStatements: [String] {
        switch form {
        case .count(.foreignKey(let members, let key, _, _)): counting(members.name, key)
        case .count(.joinTable(let join, let owner, _, _, _)): countingPairs(join, owner)
        case .sum(.foreignKey(_, let key, _, _), let members, let value): summing(members, key, value)
        case .sum(.joinTable(let join, let owner, let member, _, _), let members, let value):
            summingPairs(join, owner, member, members, value)
        case .copy(let key, let source, let value): copying(key, source, value)
        case .own(let source): copyingOwn(source)
        case .now: stamping
        case .text: []
        }
    }

    /// The statements that create the temporary triggers that each connection needs.
    var connectionTriggerStatements: [String] {
        guard case .text(let function, let source) = form else { return [] }
        let body = { (report: Report) in
            "UPDATE \(table.name) SET \(column) = \(function.rawValue)(NEW.\(source)) WHERE Z_PK = NEW.Z_PK; "
                + self.report(report, "Z_PK = NEW.Z_PK")
        }
        return [
            "CREATE TEMP TRIGGER \(name(table.name, "INSERT")) AFTER INSERT ON main.\(table.name) "
                + "FOR EACH ROW\(ownRows) BEGIN \(body(.inserted)) END",
            "CREATE TEMP TRIGGER \(name(table.name, "UPDATE")) AFTER UPDATE OF \(source) ON main.\(table.name) "
                + "FOR EACH ROW\(ownRows) BEGIN \(body(.updated)) END",
        ]
    }

    private enum Report: String {
        case inserted = "NSCoreDataDATriggerInsertUpdatedAffectedObjectValue"
        case updated = "NSCoreDataDATriggerUpdatedAffectedObjectValue"
    }

    private func name(_ table: String, _ suffix: String) -> String {
        "Z_DA_\(table)_\(attribute.entity.name)_\(attribute.name)_\(suffix)"
    }

    /// Returns the statement that reports the rows with a new value to the connection.
    private func report(_ report: Report, _ condition: String) -> String {
        "SELECT \(report.rawValue)('\(table.name)', Z_ENT, Z_PK, '\(attribute.name)', \(column)) FROM \(table.name) "
            + "WHERE \(condition);"
    }

    /// The WHEN clause that selects rows of entities with the attribute; empty if all rows of the table have it.
    private var ownRows: String {
        numbers.map { " WHEN (NEW.Z_ENT IN (\($0.map(String.init).joined(separator: ", "))))" } ?? ""
    }

    /// Returns the body of a trigger that sets the attribute in the rows that satisfy `condition`.
    private func set(_ value: String, _ condition: String, _ report: Report) -> String {
        "BEGIN UPDATE \(table.name) SET \(column) = \(value) WHERE \(condition); \(self.report(report, condition)) END"
    }

    private func trigger(_ on: String, _ suffix: String, _ event: String, _ when: String, _ body: String) -> String {
        "CREATE TRIGGER \(name(on, suffix)) AFTER \(event) ON \(on) FOR EACH ROW\(when) \(body)"
    }

    /// Returns the trigger that computes the attribute of an inserted row.
    ///
    /// The rows that the value is derived from can exist before that row.
    private func sourceInsertion(_ value: String) -> String {
        trigger(table.name, "SOURCE_INSERT", "INSERT", ownRows, set(value, "Z_PK = NEW.Z_PK", .inserted))
    }
}

// MARK: - The forms

extension DerivedAttribute {
    private func counting(_ members: String, _ key: String) -> [String] {
        func parameter(_ suffix: String, _ event: String, _ row: String, _ value: String) -> String {
            trigger(
                members, "PARAMETER_\(suffix)", event, " WHEN (\(row).\(key) NOT NULL)",
                set(value, "Z_PK = \(row).\(key)", .updated))
        }
        return [
            parameter("INSERT", "INSERT", "NEW", "IFNULL(\(column), 0) + 1"),
            parameter("UPDATE_INCREMENT", "UPDATE OF \(key)", "NEW", "\(column) + 1"),
            parameter("UPDATE_DECREMENT", "UPDATE OF \(key)", "OLD", "\(column) - 1"),
            parameter("DELETE", "DELETE", "OLD", "\(column) - 1"),
            sourceInsertion("(SELECT IFNULL(COUNT(\(key)), 0) FROM \(members) WHERE \(key) = NEW.Z_PK)"),
        ]
    }

    private func countingPairs(_ join: String, _ owner: String) -> [String] {
        [
            trigger(
                join, "PARAMETER_INSERT", "INSERT", "",
                set("IFNULL(\(column), 0) + 1", "Z_PK = NEW.\(owner)", .updated)),
            trigger(join, "PARAMETER_DELETE", "DELETE", "", set("\(column) - 1", "Z_PK = OLD.\(owner)", .updated)),
            sourceInsertion("(SELECT IFNULL(COUNT(\(owner)), 0) FROM \(join) WHERE \(owner) = NEW.Z_PK)"),
        ]
    }

    private func summing(_ members: String, _ key: String, _ value: String) -> [String] {
        func total(_ owner: String) -> String {
            "(SELECT IFNULL(SUM(\(value)), 0) FROM \(members) WHERE \(key) = \(owner))"
        }
        func parameter(_ suffix: String, _ event: String, _ row: String) -> String {
            trigger(
                members, "PARAMETER_\(suffix)", event, " WHEN (\(row).\(key) NOT NULL)",
                set(total("\(row).\(key)"), "Z_PK = \(row).\(key)", .updated))
        }
        return [
            parameter("INSERT", "INSERT", "NEW"),
            parameter("UPDATE_INCREMENT", "UPDATE OF \(key), \(value)", "NEW"),
            parameter("UPDATE_DECREMENT", "UPDATE OF \(key)", "OLD"), parameter("DELETE", "DELETE", "OLD"),
            sourceInsertion(total("NEW.Z_PK")),
        ]
    }

    private func summingPairs(
        _ join: String, _ owner: String, _ member: String, _ members: String, _ value: String
    ) -> [String] {
        let total =
            "(SELECT IFNULL(SUM(m.\(value)), 0) FROM \(join) j JOIN \(members) m ON m.Z_PK = j.\(member) "
            + "WHERE j.\(owner) = \(table.name).Z_PK)"
        return [
            trigger(join, "PARAMETER_INSERT", "INSERT", "", set(total, "Z_PK = NEW.\(owner)", .updated)),
            trigger(join, "PARAMETER_DELETE", "DELETE", "", set(total, "Z_PK = OLD.\(owner)", .updated)),
            trigger(
                members, "PARAMETER_UPDATE", "UPDATE OF \(value)", "",
                set(total, "Z_PK IN (SELECT \(owner) FROM \(join) WHERE \(member) = NEW.Z_PK)", .updated)),
            sourceInsertion(total),
        ]
    }

    private func copying(_ key: String, _ source: String, _ value: String) -> [String] {
        let found = "(SELECT \(value) FROM \(source) WHERE Z_PK = NEW.\(key))"
        return [
            sourceInsertion(found),
            trigger(
                table.name, "SOURCE_UPDATE", "UPDATE OF \(key)", ownRows, set(found, "Z_PK = NEW.Z_PK", .updated)),
            trigger(
                source, "PARAMETER_INSERT", "INSERT", "", set("NEW.\(value)", "\(key) = NEW.Z_PK", .inserted)),
            trigger(
                source, "PARAMETER_UPDATE", "UPDATE OF \(value)", "",
                set("NEW.\(value)", "\(key) = NEW.Z_PK", .updated)),
        ]
    }

    private func copyingOwn(_ source: String) -> [String] {
        [
            sourceInsertion("NEW.\(source)"),
            trigger(
                table.name, "SOURCE_UPDATE", "UPDATE OF \(source)", ownRows,
                set("NEW.\(source)", "Z_PK = NEW.Z_PK", .updated)),
        ]
    }

    private var stamping: [String] {
        let now = "\(TriggerFunctions.now)()"
        return [
            trigger(table.name, "INSERT", "INSERT", ownRows, set(now, "Z_PK = NEW.Z_PK", .inserted)),
            trigger(table.name, "UPDATE", "UPDATE OF Z_OPT", ownRows, set(now, "Z_PK = NEW.Z_PK", .updated)),
        ]
    }
}
