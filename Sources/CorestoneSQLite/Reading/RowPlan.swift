import CorestoneModel
import CorestoneValues

/// How one column becomes one value of a record.
struct ColumnStep {
    enum Kind: UInt8 {
        case bool, int16, int32, int64, real, text, bytes, uuid, decimal, toOne
        /// Binary data that may lie in a file beside the store.
        case external
    }

    let kind: Kind
    let slot: UInt16
    /// In the result.
    let column: Int32
    /// For `.toOne`: the column with the number of the target's entity; -1 when `target` is the only one.
    let entityColumn: Int32
    /// For `.toOne`: the index of the destination in the model, and of the root of its tree.
    let target: UInt32
    let targetRoot: UInt32
    /// In the record.
    let offset: UInt32
}

/// How the rows of one concrete entity become records.
struct EntitySteps {
    let entity: UInt32
    let fixedSize: Int
    let clearedWords: Int
    let steps: UnsafeMutablePointer<ColumnStep>
    let count: Int
}

/// The columns that the rows of some entities of one table need, and how they become records. Made once per shape; the
/// row loop reads nothing but its flat memory.
final class RowPlan {
    let table: TableSchema
    /// In the order of the table, which is the order in which SQLite unpacks a row.
    let columns: [String]
    /// The row's columns in a SELECT of the table as `t0`.
    let selection: String
    /// Behind primary key and version there is the entity's number.
    let hasEntityColumn: Bool
    /// The first of `columns` in the result.
    let firstColumn: Int32
    let entities: UnsafeMutablePointer<EntitySteps>
    let entityCount: Int
    /// By an entity's number in the store, from 0: its place in `entities`, -1 for numbers of others.
    let placeOfNumber: UnsafeMutablePointer<Int32>
    /// By an entity's number: its index in the model and that of its root, `UInt32.max` for numbers that the model does
    /// not know.
    let entityOfNumber: UnsafeMutablePointer<(index: UInt32, root: UInt32)>
    let numberLimit: Int64
    /// For rows whose number says nothing: the place of the fetched entity, -1 when that is abstract.
    let fallback: Int32
    let estimatedRowSize: Int
    /// Where rows are noted of which a value is read as null.
    let misfits: MisfitValues

    /// `family` are the entities whose rows are to be read, the fetched one first; `keys` those of the properties to read,
    /// nil for all.
    init(schema: StoreSchema, family: [Entity], leading: Int32 = 0, keys: Set<UInt32>? = nil) {
        let table = schema.table(of: family[0])
        self.table = table
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
        // A file may claim any number; a table of a million is larger than any model.
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
