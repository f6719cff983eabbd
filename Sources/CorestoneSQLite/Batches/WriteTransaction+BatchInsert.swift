import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

extension WriteTransaction {
    /// Inserts the rows of a batch.
    ///
    /// Values are bound without a copy, except those that may be stored in backing files. Several rows share one
    /// statement, unless the table has triggers, or the merge policy resolves conflicts of unique constraints.
    func insert(
        _ rows: BatchRows, _ policy: MergePolicyType, _ changes: inout ExternalChanges,
        resolving resolve: (inout ExternalChanges) throws -> Bool
    ) throws -> Bool {
        let entity = rows.entity
        let table = schema.table(of: entity)
        let single = BatchPlan(try file.insertPlan(for: entity))
        var several: BatchPlan?
        let mayConflict = policy != .error && !rows.constraints.isEmpty
        let most = try mayConflict || hasTriggers(table) ? 1 : BatchRows.most
        var key = try keys[table.place]?.highest ?? storedHighest(table)
        // Throws, because no unused primary key is left.
        if key == .max { _ = try reservePrimaryKeys(of: entity.root, count: 1) }
        let first = key + 1
        while true {
            let count = try rows.next(most)
            if count == 0 { break }
            guard key <= .max - Int64(count) else { _ = try reservePrimaryKeys(of: entity.root, count: count); break }
            if changes.inserted.isEmpty {
                changes.inserted.reserveCapacity(min(rows.ready + count, ExternalChanges.limit))
            }
            if count > 1 && count == most && several == nil {
                several = BatchPlan(
                    try InsertPlan(entity: entity, schema: schema, connection: connection, rows: most))
            }
            var done = 0
            while done < count {
                let plan = several.map { count - done >= $0.rows ? $0 : single } ?? single
                do { try insert(rows, done, by: plan, after: key) } catch let error as CoreError {
                    guard mayConflict, error.code == CocoaCode.managedObjectConstraintMerge.rawValue else {
                        throw error
                    }
                    if try resolveSimply(rows, policy, &changes) || resolve(&changes) { break }
                    try insert(rows, done, by: plan, after: key)
                }
                done += plan.rows
                for _ in 0..<plan.rows {
                    key += 1
                    try history?.insert(key, entity: entity)
                    changes.inserted.append((entity.index, key))
                }
            }
        }
        if key >= first {
            keys[table.place] = (key, true)
            own.keys.append((entity.rootIndex, first...key))
        }
        return true
    }

    /// Inserts the plan's number of rows, from index `first` on.
    private func insert(_ rows: BatchRows, _ first: Int, by plan: BatchPlan, after key: Int64) throws {
        let statement = plan.statement
        for row in 0..<plan.rows {
            let (values, shift) = (rows.values(at: first + row), Int32(row) * plan.stride)
            statement.bind(key + Int64(row) + 1, at: row == 0 ? 1 : 3 + shift)
            for step in plan.steps {
                if step.isExternal {
                    try bindExternal(values[step.slot], at: step.parameter + shift, to: statement)
                } else {
                    statement.bind(values[step.slot], at: step.parameter + shift)
                }
            }
        }
        do { try statement.run("insert \(rows.entity.name)") } catch let error as CoreError {
            // A statement of several rows uses OR FAIL, so the rows before the rejected one were inserted.
            let row = rows.values(at: first + min(plan.rows > 1 ? connection.changes : 0, plan.rows - 1))
            throw explained(error, "a row of a batch insert of \(rows.entity.name)", rows.entity) {
                row[Int($0.slot)].propertyValue
            }
        }
        if connection.changes != plan.rows {
            throw connection.unwrittenRowError("insert \(rows.entity.name) \(key + 1)", entity: rows.entity.name)
        }
    }

    /// Whether the table has triggers, so that rows are inserted one by one.
    private func hasTriggers(_ table: TableSchema) throws -> Bool {
        let purpose = "read the triggers of \(table.name)"
        let statement = try connection.statement(
            "SELECT 1 FROM (SELECT type, tbl_name FROM sqlite_master UNION ALL SELECT type, tbl_name FROM sqlite_temp_master) "
                + "WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE", purpose)
        statement.bind(copying: table.name, at: 1)
        defer { statement.reset() }
        return try statement.step(purpose)
    }

    /// Binds a value that may be stored in a new backing file.
    private func bindExternal(_ view: ValueView, at parameter: Int32, to statement: Statement) throws {
        guard view.type == .bytes else { return statement.bindNull(at: parameter) }
        if let name = try files.name(for: view.bytes) {
            statement.bind(copying: [ExternalFile.fileMark] + name.utf8 + [0], at: parameter)
        } else {
            statement.bind(copying: [ExternalFile.inlineMark] + view.bytes, at: parameter)
        }
    }

    // MARK: Unique values

    /// Applies the merge policy to a simple conflict. For other conflicts, returns false and changes nothing.
    ///
    /// Every conflict is simple if the policy keeps the store's row. Otherwise a conflict is simple if exactly one row
    /// of the same entity conflicts with the current row, and the result cannot conflict with further rows.
    private func resolveSimply(
        _ rows: BatchRows, _ policy: MergePolicyType, _ changes: inout ExternalChanges
    ) throws -> Bool {
        let found = try holders(of: rows)
        guard let holder = found.lazy.compactMap({ $0 }).first else { return false }
        if policy == .storeTrump || policy == .rollback { return true }
        guard holder.entity == rows.entity.index else { return false }
        let slots = rows.slots(wholly: policy == .overwrite)
        for (other, constraint) in zip(found, rows.constraints) {
            if let other, other.primaryKey != holder.primaryKey { return false }
            let taken = constraint.slots.count(where: slots.contains)
            if other == nil && taken != 0 && taken != constraint.slots.count { return false }
        }
        try update(holder.primaryKey, rows.entity, slots, rows.values)
        changes.updated.append(holder)
        return true
    }

    /// Returns, for each constraint, the existing row with the values of the current row; nil without such a row.
    private func holders(of rows: BatchRows) throws -> [RowKey?] {
        let entity = rows.entity
        let table = schema.table(of: entity)
        let purpose = "check the unique constraints of \(entity.name)"
        return try rows.constraints.map { _, _, slots in
            if slots.contains(where: { rows.values[$0].type == .null }) { return nil }
            let columns = slots.compactMap { table.column(of: entity.properties[$0])?.name }
            guard columns.count == slots.count else { return nil }
            let condition = columns.map { "\($0) = ?" }.joined(separator: " AND ")
            let statement = try connection.statement(
                "SELECT Z_PK, Z_ENT FROM \(table.name) WHERE \(condition) LIMIT 1", purpose)
            for (place, slot) in slots.enumerated() { statement.bind(rows.values[slot], at: Int32(place + 1)) }
            defer { statement.reset() }
            guard try statement.step(purpose),
                let index = schema.entityIndex(number: statement.integer(1), in: entity.root)
            else { return nil }
            return (index, statement.integer(0))
        }
    }

    /// Updates some attributes of a row, and increases its version.
    private func update(
        _ primaryKey: Int64, _ entity: Entity, _ slots: [Int], _ values: UnsafeMutablePointer<ValueView>
    ) throws {
        let table = schema.table(of: entity)
        let purpose = "update \(entity.name)"
        let written = slots.filter { table.column(of: entity.properties[$0]) != nil }
        let external = written.filter { entity.layout.slots[$0].role == .external }
        if let former = try connection.externalValues(of: external.map { entity.properties[$0] }, in: table) {
            try scheduleFileRemovals(former, primaryKey, external.count)
        }
        let settings = written.compactMap { table.column(of: entity.properties[$0]).map { ", \($0.name) = ?" } }
        let statement = try connection.statement(
            "UPDATE \(table.name) SET Z_OPT = max(ifnull(Z_OPT, 0), 0) % 2147483647 + 1\(settings.joined()) WHERE Z_PK = ?",
            purpose)
        for (place, slot) in written.enumerated() {
            if external.contains(slot) {
                try bindExternal(values[slot], at: Int32(place + 1), to: statement)
            } else {
                statement.bind(values[slot], at: Int32(place + 1))
            }
        }
        statement.bind(primaryKey, at: Int32(written.count + 1))
        do { try statement.run(purpose) } catch let error as CoreError {
            throw explained(error, "\(entity.name)/p\(primaryKey)", entity, key: primaryKey) {
                values[Int($0.slot)].propertyValue
            }
        }
        try connection.requireOneChange(
            purpose, entity: entity.name,
            objectURI: ObjectID.uri(ofKey: primaryKey, entity: entity.name, store: identifier))
        try history?.update(primaryKey, entity: entity, slots: written)
    }
}

/// An `InsertPlan` that binds the values of a batch instead of records.
private struct BatchPlan {
    let statement: Statement
    let steps: [Step]
    let rows: Int
    let stride: Int32

    /// The binding of one value of a row to one parameter.
    struct Step {
        let slot: Int
        let parameter: Int32
        let isExternal: Bool
    }

    init(_ plan: InsertPlan) {
        (statement, rows, stride) = (plan.statement, plan.rows, plan.stride)
        steps = plan.steps.map { Step(slot: $0.slot, parameter: $0.parameter, isExternal: $0.kind == .external) }
        for step in plan.steps where step.entityParameter != 0 { statement.bindNull(at: step.entityParameter) }
        statement.bind(plan.number, at: 2)
        statement.bind(1, at: 3)
    }
}
