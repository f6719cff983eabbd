import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The write transaction of one save.
///
/// It exists only while `SQLiteStore` runs the body of the save, which uses a connection of the store exclusively.
final class WriteTransaction: SaveTransaction {
    let file: OpenFile
    let path: String
    /// The identifier of the store.
    let identifier: String
    var schema: StoreSchema { file.schema }
    var connection: Connection { file.connection }
    /// The highest assigned primary key, and whether it has to be written to the file, by the table's index.
    var keys: [Int: (highest: Int64, isChanged: Bool)] = [:]
    private var updatePlans: [UpdateShape: UpdatePlan] = [:]
    /// The writer of the history; nil for a store without history.
    let history: HistoryWriter?
    /// The changes that the store's watcher must not report as changes of another process.
    var own = OwnWrites.Save()
    let files: ExternalWrites

    private struct UpdateShape: Hashable {
        let entity: UInt32
        let slots: [Int]
    }

    init(file: OpenFile, path: String, identifier: String, files: ExternalWrites, author: SaveAuthor) throws {
        self.file = file
        self.path = path
        self.identifier = identifier
        self.files = files
        history = try file.history.map {
            var names: [HistorySchema.Label: String] = [
                .bundle: HistoryWriter.processName, .process: HistoryWriter.processName,
            ]
            names[.author] = author.author
            names[.context] = author.contextName
            return try HistoryWriter(design: $0, connection: file.connection, schema: file.schema, names: names)
        }
    }

    // MARK: Keys

    func reservePrimaryKeys(of root: Entity, count: Int) throws -> Int64 {
        let table = schema.table(of: root)
        let highest = try keys[table.place]?.highest ?? storedHighest(table)
        let (end, overflow) = highest.addingReportingOverflow(Int64(count))
        // The first key is one above the highest, even if no key is reserved.
        guard count >= 0, !overflow, end < .max else {
            throw CoreError(
                .storeCorrupt, code: .persistentStoreSave,
                "\(path) has too few unused primary keys for \(count) new \(table.root.name) "
                    + "\(count == 1 ? "object" : "objects"): the highest key is \(highest); restore the store from a "
                    + "backup",
                entity: table.root.name, value: .int(highest), file: path)
        }
        keys[table.place] = (end, true)
        if count > 0 { own.keys.append((root.rootIndex, highest + 1...end)) }
        return highest + 1
    }

    /// Returns the highest assigned primary key of a table in the file.
    ///
    /// It is at least the highest primary key in use, even if another program did not update `Z_MAX`.
    func storedHighest(_ table: TableSchema) throws -> Int64 {
        let purpose = "reserve primary keys for \(table.root.name)"
        let statement = try connection.statement(
            "SELECT (SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = ?), (SELECT max(Z_PK) FROM \(table.name))", purpose)
        statement.bind(schema.number(of: table.root), at: 1)
        defer { statement.reset() }
        guard try statement.step(purpose) else { return 0 }
        return max(statement.integer(0), statement.integer(1), 0)
    }

    /// Writes the highest assigned primary keys and the history. Must be called before the commit.
    func finish() throws {
        for (place, entry) in keys where entry.isChanged {
            let table = schema.tables[place]
            let purpose = "reserve primary keys for \(table.root.name)"
            let statement = try connection.statement("UPDATE Z_PRIMARYKEY SET Z_MAX = ? WHERE Z_ENT = ?", purpose)
            statement.bind(entry.highest, at: 1)
            statement.bind(schema.number(of: table.root), at: 2)
            try statement.run(purpose)
            try connection.requireOneChange(purpose, entity: table.root.name)
        }
        if let history {
            try file.oldValues?.finish(history, files.folder, file.connection.limits)
            try history.finish()
        }
        if let number = history?.transaction, number != 0 { own.transaction = number }
    }

    // MARK: Rows

    func insert(_ records: [Record], entity: Entity) throws {
        let plan = try file.insertPlan(for: entity)
        let (statement, slots) = (plan.statement, entity.layout.slots)
        try schema.numbers.withUnsafeBufferPointer { numbers in
            guard let numbers = numbers.baseAddress else { return }
            for record in records {
                statement.bind(record.primaryKey, at: 1)
                statement.bind(plan.number, at: 2)
                statement.bind(Int64(record.version), at: 3)
                for step in plan.steps { statement.bind(record, step, numbers) }
                for step in plan.externalSteps { bindExternal(record, slots[step.slot], step, to: statement) }
                do { try statement.run("insert \(entity.name)") } catch let error as CoreError {
                    throw explained(error, record, entity)
                }
                try connection.requireOneChange("insert \(entity.name) \(record.primaryKey)", entity: entity.name)
            }
        }
        // The history is written after the rows of the batch, because alternating between two tables needs about a
        // fifth more time.
        if let history { for record in records { try history.insert(record.primaryKey, entity: entity) } }
    }

    func update(_ rows: [UpdatedRow], slots: [Int], entity: Entity) throws -> [Int] {
        let layouts = entity.layout.slots
        let plan = try updatePlan(for: entity, slots: slots)
        let (statement, steps, externalSteps) = (plan.statement, plan.steps, plan.externalSteps)
        let connection = connection
        var stale: [Int] = []
        try schema.numbers.withUnsafeBufferPointer { numbers in
            guard let numbers = numbers.baseAddress else { return }
            for (place, row) in rows.enumerated() {
                statement.bind(Int64(row.record.version), at: 1)
                for step in steps { statement.bind(row.record, step, numbers) }
                if let former = plan.former {
                    try scheduleFileRemovals(former, row.record.primaryKey, externalSteps.count)
                }
                for step in externalSteps { bindExternal(row.record, layouts[step.slot], step, to: statement) }
                statement.bind(row.record.primaryKey, at: plan.keyParameter)
                statement.bind(Int64(row.oldVersion), at: plan.keyParameter + 1)
                do { try statement.run("update \(entity.name)") } catch let error as CoreError {
                    throw explained(error, row.record, entity)
                }
                if connection.changes == 0 { stale.append(place) } else { try noteUpdate(row, slots, entity) }
            }
        }
        return stale
    }

    /// Writes the changed properties to the history.
    ///
    /// An owner with changed members has a new version, even if none of the owner's own slots changed.
    private func noteUpdate(_ row: UpdatedRow, _ slots: [Int], _ entity: Entity) throws {
        guard let history else { return }
        let changed = row.equalSlots.isEmpty ? slots : slots.filter { !row.equalSlots.contains($0) }
        try history.update(row.record.primaryKey, entity: entity, slots: changed, members: row.members)
    }

    func externalName(for value: Bytes) throws -> String? { try files.name(for: value.rawBytes) }

    /// Binds a value that may be in a backing file: a mark, followed by the name of the file or by the value itself.
    private func bindExternal(_ record: Record, _ layout: SlotLayout, _ step: BindStep, to statement: Statement) {
        if let name = record.fileName(step.slot, layout) {
            statement.bind(copying: [ExternalFile.fileMark] + name + [0], at: step.parameter)
        } else if record.hasValue(step.slot) {
            let bytes = statement.tail(record, record.start + step.offset)
            statement.bind(copying: [ExternalFile.inlineMark] + bytes, at: step.parameter)
        }
    }

    /// Schedules the backing files of a row's present values for removal after the commit.
    func scheduleFileRemovals(_ former: Statement, _ primaryKey: Int64, _ count: Int) throws {
        let purpose = "read the names of backing files of \(path)"
        former.bind(primaryKey, at: 1)
        defer { former.reset() }
        guard try former.step(purpose) else { return }
        for column in 0..<Int32(count) {
            let bytes = sqlite3_column_blob(former.handle, column)
            files.scheduleRemoval(
                of: UnsafeRawBufferPointer(
                    start: bytes, count: bytes == nil ? 0 : Int(sqlite3_column_bytes(former.handle, column))))
        }
    }

    private func updatePlan(for entity: Entity, slots: [Int]) throws -> UpdatePlan {
        let shape = UpdateShape(entity: entity.index, slots: slots)
        if let known = updatePlans[shape] { return known }
        let plan = try UpdatePlan(entity: entity, slots: slots, schema: schema, connection: connection)
        updatePlans[shape] = plan
        return plan
    }

    func delete(_ rows: [(primaryKey: Int64, version: Int32)], entity: Entity) throws -> [Int] {
        let purpose = "delete \(entity.name)"
        let table = schema.table(of: entity)
        let statement = try connection.statement(
            "DELETE FROM \(table.name) WHERE Z_PK = ? AND ifnull(Z_OPT, 0) = ?", purpose)
        let traces = try traceStatements(of: entity, purpose)
        let external = entity.attributes.filter { $0.allowsExternalStorage && table.column(of: $0) != nil }
        let former = try connection.externalValues(of: external, in: table)
        var stale: [Int] = []
        for (place, row) in rows.enumerated() {
            // The history copies values from the row before its deletion. If the row is stale, the whole transaction is
            // rolled back.
            try history?.delete(row.primaryKey, entity: entity)
            if let former { try scheduleFileRemovals(former, row.primaryKey, external.count) }
            statement.bind(row.primaryKey, at: 1)
            statement.bind(Int64(row.version), at: 2)
            try statement.run(purpose)
            if connection.changes == 0 {
                stale.append(place)
                continue
            }
            for trace in traces {
                trace.bind(row.primaryKey, at: 1)
                try trace.run(purpose)
            }
        }
        return stale
    }

    /// Returns the statements that remove a deleted row from the relationships that refer to it.
    ///
    /// They clear join tables and columns of relationships without an inverse.
    private func traceStatements(of entity: Entity, _ purpose: String) throws -> [Statement] {
        var texts: [String] = []
        for join in schema.joins {
            if entity.isKind(of: join.naming.entity) {
                texts.append("DELETE FROM \(join.name) WHERE \(join.namingColumn.name) = ?")
            }
            if entity.isKind(of: join.other?.entity ?? join.naming.entity) {
                texts.append("DELETE FROM \(join.name) WHERE \(join.otherColumn.name) = ?")
            }
        }
        for relationship in entity.relationships {
            guard case .foreignKey(let table, let column, let order, false) = schema.storage(of: relationship) else {
                continue
            }
            let settings = ([column] + (order.map { [$0] } ?? [])).map { "\($0) = NULL" }.joined(separator: ", ")
            texts.append("UPDATE \(table.name) SET \(settings) WHERE \(column) = ?")
        }
        return try texts.map { try connection.statement($0, purpose) }
    }
}
