import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

extension WriteTransaction {
    /// One statement, whose values are bound where the host has them.
    func insert(_ rows: BatchRows, _ policy: MergePolicyType, _ changes: inout ForeignChanges) throws -> Bool {
        let entity = rows.entity
        let table = schema.table(of: entity)
        let plan = try file.insertPlan(for: entity)
        let (statement, values) = (plan.statement, rows.values)
        let steps = plan.steps.map { BatchStep($0) }
        let isHistorical = history != nil
        var key = try keys[table.place]?.highest ?? storedHighest(table)
        let first = key + 1
        for step in plan.steps where step.entityParameter != 0 { statement.bindNull(at: step.entityParameter) }
        statement.bind(plan.number, at: 2)
        statement.bind(1, at: 3)
        while try rows.next() {
            guard key < .max else { _ = try reservePrimaryKeys(of: entity.root, count: 1); break }
            statement.bind(key + 1, at: 1)
            for step in steps {
                if step.isExternal {
                    try bindExternal(values[step.slot], at: step.parameter, to: statement)
                } else {
                    statement.bind(values[step.slot], at: step.parameter)
                }
            }
            do { try statement.run("insert \(entity.name)") } catch let error as CoreError {
                guard policy != .error, error.sqliteCode & 0xff == SQLITE_CONSTRAINT else {
                    throw explained(error, "a row of a batch of \(entity.name)", entity) {
                        values[Int($0.slot)].propertyValue
                    }
                }
                try settle(error, rows, policy, newFrom: first, &changes)
                continue
            }
            try connection.requireOneChange("insert \(entity.name) \(key + 1)", entity: entity.name)
            key += 1
            if isHistorical { try history?.insert(key, entity: entity) }
            changes.inserted.append((entity.index, key))
        }
        if key >= first {
            keys[table.place] = (key, true)
            own.keys.append((entity.rootIndex, first...key))
        }
        return true
    }

    /// Binds a value that may get a file of its own.
    private func bindExternal(_ view: ValueView, at parameter: Int32, to statement: Statement) throws {
        guard view.type == .bytes else { return statement.bindNull(at: parameter) }
        if let name = try files.name(for: view.bytes) {
            statement.bind(copying: [ExternalFile.fileMark] + name.utf8 + [0], at: parameter)
        } else {
            statement.bind(copying: [ExternalFile.inlineMark] + view.bytes, at: parameter)
        }
    }

    // MARK: Unique values

    /// Does what the policy says about a row whose unique values another row has.
    private func settle(
        _ error: CoreError, _ rows: BatchRows, _ policy: MergePolicyType, newFrom first: Int64,
        _ changes: inout ForeignChanges
    ) throws {
        let entity = rows.entity
        let refusal = { [self] in
            explained(error, "a row of a batch of \(entity.name)", entity) { rows.values[Int($0.slot)].propertyValue }
        }
        guard refusal().code == CocoaCode.managedObjectConstraintMerge.rawValue,
            let found = try holder(of: rows)
        else { throw refusal() }
        if policy == .storeTrump || policy == .rollback { return }
        let owner = schema.model.entities[Int(found.entity)]
        // A row of another entity lacks what this one has.
        guard owner.isKind(of: entity) else { throw refusal() }
        let slots = rows.slots(wholly: policy == .overwrite)
        try update(found.primaryKey, owner, slots, rows.values)
        if found.primaryKey < first { changes.updated.append(found) }
    }

    /// The row that has unique values of the present row.
    private func holder(of rows: BatchRows) throws -> RowKey? {
        let entity = rows.entity
        let table = schema.table(of: entity)
        let purpose = "look for unique values of \(entity.name)"
        for (_, attributes) in entity.allUniqueConstraints {
            let slots = entity.slots(of: attributes)
            if slots.contains(where: { rows.values[$0].type == .null }) { continue }
            let columns = slots.compactMap { table.column(of: entity.properties[$0])?.name }
            guard columns.count == slots.count else { continue }
            let condition = columns.map { "\($0) = ?" }.joined(separator: " AND ")
            let statement = try connection.statement(
                "SELECT Z_PK, Z_ENT FROM \(table.name) WHERE \(condition) LIMIT 1", purpose)
            for (place, slot) in slots.enumerated() { statement.bind(rows.values[slot], at: Int32(place + 1)) }
            defer { statement.reset() }
            if try statement.step(purpose), let index = schema.entityIndex(number: statement.integer(1), in: entity) {
                return (index, statement.integer(0))
            }
        }
        return nil
    }

    /// Gives some attributes of a row other values, and the row its next version.
    private func update(
        _ primaryKey: Int64, _ entity: Entity, _ slots: [Int], _ values: UnsafeMutablePointer<ValueView>
    ) throws {
        let table = schema.table(of: entity)
        let purpose = "update \(entity.name)"
        let written = slots.filter { table.column(of: entity.properties[$0]) != nil }
        let external = written.filter { entity.layout.slots[$0].role == .external }
        if let former = try connection.externalValues(of: external.map { entity.properties[$0] }, in: table) {
            try leaveExternal(former, primaryKey, external.count)
        }
        let settings = written.compactMap { table.column(of: entity.properties[$0]).map { ", \($0.name) = ?" } }
        let statement = try connection.statement(
            "UPDATE \(table.name) SET Z_OPT = ifnull(Z_OPT, 0) + 1\(settings.joined()) WHERE Z_PK = ?", purpose)
        for (place, slot) in written.enumerated() {
            if external.contains(slot) {
                try bindExternal(values[slot], at: Int32(place + 1), to: statement)
            } else {
                statement.bind(values[slot], at: Int32(place + 1))
            }
        }
        statement.bind(primaryKey, at: Int32(written.count + 1))
        do { try statement.run(purpose) } catch let error as CoreError {
            throw explained(error, "\(entity.name) \(primaryKey)", entity) { values[Int($0.slot)].propertyValue }
        }
        try connection.requireOneChange(purpose, entity: entity.name)
        try history?.update(primaryKey, entity: entity, slots: written)
    }
}

/// How one value of a row becomes one parameter.
private struct BatchStep {
    let slot: Int
    let parameter: Int32
    let isExternal: Bool

    init(_ step: BindStep) {
        slot = step.slot
        parameter = step.parameter
        isExternal = step.kind == .external
    }
}
