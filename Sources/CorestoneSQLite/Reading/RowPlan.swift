import CorestoneModel
import CorestoneValues

/// The conversion of one column to one value of a record.
struct ColumnStep {
    enum Kind: UInt8 {
        case bool, int16, int32, int64, real, text, bytes, uuid, decimal, toOne
        /// Binary data that may be in a backing file.
        case external
    }

    let kind: Kind
    let slot: UInt16
    /// The index of the column in the result.
    let column: Int32
    /// For `.toOne`: the column with the number of the target's entity; -1 if `target` is the only possible entity.
    let entityColumn: Int32
    /// For `.toOne`: the index of the destination in the model, and of the root of its tree.
    let target: UInt32
    let targetRoot: UInt32
    /// The offset of the value in the record.
    let offset: UInt32
}

/// The conversion of rows of one concrete entity to records.
struct EntitySteps {
    let entity: UInt32
    let fixedSize: Int
    let clearedWords: Int
    let steps: UnsafeMutablePointer<ColumnStep>
    let count: Int
}

/// The columns that are read for some entities of one table, and their conversion to records.
///
/// A plan is created once per shape of fetch. The row loop reads only its flat memory.
final class RowPlan {
    let table: TableSchema
    /// The columns in the order of the table, in which SQLite decodes a row.
    let columns: [String]
    /// The row's columns in a SELECT of the table as `t0`.
    let selection: String
    /// Whether the entity number follows primary key and version.
    let hasEntityColumn: Bool
    /// The index of the first of `columns` in the result.
    let firstColumn: Int32
    let entities: UnsafeMutablePointer<EntitySteps>
    let entityCount: Int
    /// The index in `entities` by entity number, from 0; -1 for other entities.
    let placeOfNumber: UnsafeMutablePointer<Int32>
    /// The index of the entity and of its root in the model, by entity number; `UInt32.max` for unknown numbers.
    let entityOfNumber: UnsafeMutablePointer<(index: UInt32, root: UInt32)>
    let numberLimit: Int64
    /// The index in `entities` for the rows of a table with only one entity.
    ///
    /// -1 if the entity has to be read from each row, or is abstract.
    let fallback: Int32
    let estimatedRowSize: Int
    /// The record of the attributes whose values are read as null.
    let misfits: MisfitValues
    /// The path of the store, for errors.
    let path: String

    /// Creates the plan.
    ///
    /// - Parameters:
    ///   - family: The entities whose rows are read, with the fetched entity first.
    ///   - keys: The keys of the properties to read; nil reads all.
    ///   - path: The path of the store, for errors.
    init(schema: StoreSchema, family: [Entity], leading: Int32 = 0, keys: Set<UInt32>? = nil, path: String) {
        let table = schema.table(of: family[0])
        self.table = table
        self.path = path
        misfits = schema.misfits
        hasEntityColumn = table.hasSubentities
        firstColumn = leading + (hasEntityColumn ? 3 : 2)
        let slots = family.map { Set($0.properties.map(\.key)) }
        var names: [String] = []
        var places: [String: Int32] = [:]
        for column in table.columns where column.role != .order && column.role != .owner {
            let key = column.property.key
            guard slots.contains(where: { $0.contains(key) }), keys?.contains(key) ?? true else { continue }
            places[column.name] = firstColumn + Int32(names.count)
            names.append(column.name)
        }
        columns = names
        let head = ["t0.Z_PK", table.hasVersions ? "t0.Z_OPT" : "0"] + (table.hasSubentities ? ["t0.Z_ENT"] : [])
        selection = (head + names.map { "t0." + $0 }).joined(separator: ", ")
        entityCount = family.count
        entities = UnsafeMutablePointer.allocate(capacity: family.count)
        // A file may contain any entity number, so the tables are limited to a million entries, more than any model
        // needs.
        let limit = Int(clamping: min((schema.numbers.max() ?? 0).addingReportingOverflow(1).partialValue, 1 << 20))
        numberLimit = Int64(limit)
        placeOfNumber = UnsafeMutablePointer.allocate(capacity: max(limit, 1))
        placeOfNumber.initialize(repeating: -1, count: max(limit, 1))
        entityOfNumber = UnsafeMutablePointer.allocate(capacity: max(limit, 1))
        entityOfNumber.initialize(repeating: (.max, .max), count: max(limit, 1))
        for entity in schema.model.entities {
            let number = schema.number(of: entity)
            if number >= 0 && number < Int64(limit) { entityOfNumber[Int(number)] = (entity.index, entity.rootIndex) }
        }
        for (place, entity) in family.enumerated() {
            let number = schema.number(of: entity)
            if number >= 0 && number < Int64(limit) { placeOfNumber[Int(number)] = Int32(place) }
            let steps = RowPlan.steps(of: entity, table: table, places: places)
            let memory = UnsafeMutablePointer<ColumnStep>.allocate(capacity: max(steps.count, 1))
            memory.initialize(from: steps, count: steps.count)
            entities.advanced(by: place).initialize(
                to: EntitySteps(
                    entity: entity.index, fixedSize: entity.layout.fixedSize,
                    clearedWords: entity.layout.clearedWords,
                    steps: memory, count: steps.count))
        }
        fallback = hasEntityColumn || family[0].isAbstract ? -1 : 0
        let texts = names.count * 16
        estimatedRowSize = family[0].layout.fixedSize + texts
    }

    deinit {
        for place in 0..<entityCount { entities[place].steps.deallocate() }
        entities.deallocate()
        placeOfNumber.deallocate()
        entityOfNumber.deallocate()
    }

    private static func steps(of entity: Entity, table: TableSchema, places: [String: Int32]) -> [ColumnStep] {
        entity.properties.compactMap { property -> ColumnStep? in
            guard let column = table.column(of: property), let place = places[column.name] else { return nil }
            let layout = entity.layout.slots[Int(property.slot)]
            let isExternal = (property as? Attribute)?.allowsExternalStorage == true
            guard let kind = ColumnStep.Kind(layout.kind, isExternal: isExternal) else { return nil }
            var entityColumn: Int32 = -1
            var (target, targetRoot): (UInt32, UInt32) = (0, 0)
            if let relationship = property as? Relationship {
                (target, targetRoot) = (relationship.destination.index, relationship.destination.rootIndex)
                if let name = table.targetEntityColumn(of: relationship)?.name { entityColumn = places[name] ?? -1 }
            }
            return ColumnStep(
                kind: kind, slot: UInt16(truncatingIfNeeded: property.slot), column: place, entityColumn: entityColumn,
                target: target, targetRoot: targetRoot, offset: layout.offset)
        }
    }
}
