import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The conversion of one value of a record to one parameter of a statement.
struct BindStep {
    let kind: ColumnStep.Kind
    let slot: Int
    let offset: Int
    let parameter: Int32
    /// For to-one relationships: the parameter with the number of the target's entity.
    ///
    /// 0 if the store does not have a column for that number.
    let entityParameter: Int32

    init?(property: Property, entity: Entity, table: TableSchema, parameter: Int32) {
        let layout = entity.layout.slots[Int(property.slot)]
        // Derived attributes are computed by the store and not written.
        guard table.column(of: property) != nil, (property as? Attribute)?.derivation == nil,
            let kind = ColumnStep.Kind(layout.kind, isExternal: (property as? Attribute)?.allowsExternalStorage == true)
        else { return nil }
        self.kind = kind
        self.parameter = parameter
        slot = Int(property.slot)
        offset = Int(layout.offset)
        let hasEntity = (property as? Relationship).map { table.targetEntityColumn(of: $0) != nil } ?? false
        entityParameter = hasEntity ? parameter + 1 : 0
    }
}

extension Statement {
    /// Binds a value directly from a record's memory, which must stay valid until the statement has run.
    ///
    /// The transaction binds values that may need a backing file.
    @inline(__always)
    func bind(_ record: Record, _ step: BindStep, _ numbers: UnsafePointer<Int64>) {
        guard record.hasValue(step.slot) else {
            sqlite3_bind_null(handle, step.parameter)
            if step.entityParameter != 0 { sqlite3_bind_null(handle, step.entityParameter) }
            return
        }
        let place = record.start + step.offset
        switch step.kind {
        case .bool: sqlite3_bind_int(handle, step.parameter, place.load(as: UInt8.self) != 0 ? 1 : 0)
        case .int16: sqlite3_bind_int(handle, step.parameter, Int32(place.load(as: Int16.self)))
        case .int32: sqlite3_bind_int(handle, step.parameter, place.load(as: Int32.self))
        case .int64: sqlite3_bind_int64(handle, step.parameter, place.load(as: Int64.self))
        case .real: sqlite3_bind_double(handle, step.parameter, place.load(as: Double.self))
        case .text: bindText(tail(record, place), at: step.parameter)
        case .bytes: bindBlob(tail(record, place), at: step.parameter)
        case .external: break
        case .uuid: bindBlob(UnsafeRawBufferPointer(start: place, count: 16), at: step.parameter)
        case .decimal:
            let low = place.load(as: UInt64.self)
            let high = (place + 8).load(as: UInt64.self)
            bindDecimal(ValueView(.decimal, low, high, aux: (place + 16).load(as: UInt32.self)), at: step.parameter)
        case .toOne:
            sqlite3_bind_int64(handle, step.parameter, place.load(as: Int64.self))
            if step.entityParameter != 0 {
                sqlite3_bind_int64(handle, step.entityParameter, numbers[Int((place + 8).load(as: UInt32.self))])
            }
        }
    }

    @inline(__always)
    func tail(_ record: Record, _ place: UnsafeMutableRawPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(
            start: record.start + Int(place.load(as: UInt32.self)), count: Int((place + 4).load(as: UInt32.self)))
    }
}

/// The statement that inserts one or several rows of an entity.
final class InsertPlan {
    let statement: Statement
    /// The number of rows in the statement.
    let rows: Int
    /// The distance between the parameters of one column in consecutive rows. All rows share the parameters of entity
    /// and version, 2 and 3.
    let stride: Int32
    let steps: [BindStep]
    /// The steps whose values may need a backing file.
    let externalSteps: [BindStep]
    let number: Int64

    /// Prepares the statement.
    ///
    /// A statement of several rows uses OR FAIL, which keeps the rows before a rejected one, so that SQLite does not
    /// need a statement journal.
    ///
    /// - Parameter most: The wanted number of rows, which SQLite's limit of parameters may reduce.
    init(entity: Entity, schema: StoreSchema, connection: Connection, rows most: Int = 1) throws {
        let table = schema.table(of: entity)
        number = schema.number(of: entity)
        var columns = ["Z_PK", "Z_ENT", "Z_OPT"]
        var steps: [BindStep] = []
        // The order is that of the table, in which SQLite encodes a row.
        for column in table.columns where column.role == .attribute || column.role == .toOne {
            let property = column.property
            guard entity.property(named: property.path) === property,
                let step = BindStep(
                    property: property, entity: entity, table: table, parameter: Int32(columns.count + 1))
            else { continue }
            columns.append(column.name)
            if step.entityParameter != 0, let relationship = property as? Relationship,
                let name = table.targetEntityColumn(of: relationship)?.name
            {
                columns.append(name)
            }
            steps.append(step)
        }
        self.steps = steps
        externalSteps = steps.filter { $0.kind == .external }
        stride = Int32(columns.count - 2)
        rows = most == 1 ? 1 : max(1, min(most, Int(connection.parameterLimit / stride) - 1))
        let others = Array(repeating: ", ?", count: columns.count - 3).joined()
        let more = (1..<Int32(rows)).map { [stride] in ", (?\(3 + $0 * stride), ?2, ?3\(others))" }.joined()
        statement = try connection.prepare(
            "INSERT \(rows == 1 ? "" : "OR FAIL ")INTO \(table.name) (\(columns.joined(separator: ", "))) "
                + "VALUES (?, ?, ?\(others))\(more)", "insert \(entity.name)")
    }
}

/// The statement that updates some slots of an entity's rows.
final class UpdatePlan {
    let statement: Statement
    let steps: [BindStep]
    /// The steps whose values may need a backing file, and the statement that reads their former values.
    ///
    /// The statement is nil without such steps.
    let externalSteps: [BindStep]
    let former: Statement?
    let keyParameter: Int32

    init(entity: Entity, slots: [Int], schema: StoreSchema, connection: Connection) throws {
        let table = schema.table(of: entity)
        var settings = ["Z_OPT = ?1"]
        var steps: [BindStep] = []
        var parameter: Int32 = 2
        for slot in slots where slot >= 0 && slot < entity.properties.count {
            let property = entity.properties[slot]
            guard let column = table.column(of: property), column.role == .attribute || column.role == .toOne,
                let step = BindStep(property: property, entity: entity, table: table, parameter: parameter)
            else { continue }
            steps.append(step)
            settings.append("\(column.name) = ?\(parameter)")
            if let relationship = property as? Relationship {
                // Without an owner, the order key is meaningless.
                if let order = table.orderColumn(of: relationship)?.name {
                    settings.append("\(order) = CASE WHEN ?\(parameter) IS NULL THEN NULL ELSE \(order) END")
                }
                if let name = table.targetEntityColumn(of: relationship)?.name {
                    parameter += 1
                    settings.append("\(name) = ?\(parameter)")
                }
            }
            parameter += 1
        }
        self.steps = steps
        externalSteps = steps.filter { $0.kind == .external }
        former = try connection.externalValues(of: externalSteps.map { entity.properties[$0.slot] }, in: table)
        keyParameter = parameter
        statement = try connection.statement(
            "UPDATE \(table.name) SET \(settings.joined(separator: ", ")) "
                + "WHERE Z_PK = ?\(parameter) AND ifnull(Z_OPT, 0) = ?\(parameter + 1)", "update \(entity.name)")
    }
}

extension ColumnStep.Kind {
    /// Creates the kind of column for a kind of slot; nil for slots without a value.
    init?(_ kind: SlotKind, isExternal: Bool) {
        switch kind {
        case .none: return nil
        case .bool: self = .bool
        case .int16: self = .int16
        case .int32: self = .int32
        case .int64: self = .int64
        case .double, .date: self = .real
        case .text, .uri: self = .text
        case .bytes: self = isExternal ? .external : .bytes
        case .uuid: self = .uuid
        case .decimal: self = .decimal
        case .toOne: self = .toOne
        }
    }
}

extension Connection {
    /// Returns the statement that reads a row's values that may be in backing files, or nil without such attributes.
    func externalValues(of attributes: [Property], in table: TableSchema) throws -> Statement? {
        let columns = attributes.compactMap { table.column(of: $0)?.name }
        if columns.isEmpty { return nil }
        return try statement(
            "SELECT \(columns.joined(separator: ", ")) FROM \(table.name) WHERE Z_PK = ?", "read \(table.root.name)")
    }
}
