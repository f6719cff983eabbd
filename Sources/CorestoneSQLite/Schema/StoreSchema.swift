import CorestoneModel
import CorestoneSQL

/// The tables of a model in one store, in Apple's layout: one table per entity tree.
///
/// Names and order are such that the statements are equal to those of Core Data. The schema is immutable after `init`,
/// except for `misfits` and the R-trees of `findSpatialIndexes`. Names are not quoted, because they come from the
/// model, whose names are identifiers.
final class StoreSchema: @unchecked Sendable {
    let model: Model
    /// The entity numbers (`Z_ENT`) in this store, by the entity's index in the model.
    let numbers: [Int64]
    /// One table per entity tree, sorted by the root's name.
    private(set) var tables: [TableSchema] = []
    /// The entity trees by the root's index in the model, in the order of their numbers in a new store.
    let entitiesByRoot: [UInt32: [Entity]]
    /// The to-many relationships without an inverse, by the index of their destination's root entity.
    let withoutInverse: [UInt32: [Relationship]]
    /// The tables by the entity's index in the model.
    private var tableOfEntity: [TableSchema] = []
    private(set) var joins: [JoinTable] = []
    /// The storage of to-many relationships, by the relationship's key.
    private var toMany: [UInt32: ToManyStorage] = [:]
    private var entityOfNumber: [Int64: UInt32] = [:]
    /// The mappings for the predicate compiler, by the entity's index in the model.
    private(set) var mappings: [TableMapping] = []
    /// The derived attributes that the store can compute.
    private(set) var derivedAttributes: [DerivedAttribute] = []
    /// The attributes whose values were read as null.
    let misfits = MisfitValues()

    /// Creates the schema.
    ///
    /// - Parameters:
    ///   - numbers: The entity numbers of an existing store; nil numbers the entities as in a new store.
    ///   - existing: The tables of the file. Names that another framework or a migration has chosen are adopted from
    ///     the file.
    init(model: Model, numbers: [Int64]? = nil, tables existing: StoreTables = [:]) {
        self.model = model
        entitiesByRoot = Dictionary(grouping: model.preorder, by: \.rootIndex)
        withoutInverse = StoreSchema.withoutInverse(model)
        self.numbers = numbers ?? model.entities.map { Int64($0.number) }
        for entity in model.entities { entityOfNumber[self.numbers[Int(entity.index)]] = entity.index }
        var names = UniqueNames(taken: StoreSchema.systemTables)
        tables = model.roots.sorted { byteOrder($0.name, $1.name) }.enumerated().map { place, root in
            let name = names.makeUnique("Z" + root.name.uppercased())
            return TableSchema(root: root, name: name, place: place, schema: self, existing: existing[name])
        }
        let tableOfRoot = Dictionary(tables.map { ($0.root.index, $0) }, uniquingKeysWith: { first, _ in first })
        tableOfEntity = model.entities.compactMap { tableOfRoot[$0.rootIndex] }
        joins = JoinTable.all(of: self, existing: existing, tableNames: &names)
        for join in joins { register(join) }
        registerForeignKeys()
        mappings = makeMappings()
        derivedAttributes = tables.flatMap { table in
            table.entities.flatMap(\.ownAttributes).compactMap { DerivedAttribute($0, schema: self) }
        }
    }

    private static func withoutInverse(_ model: Model) -> [UInt32: [Relationship]] {
        let found = model.preorder.flatMap { entity in
            entity.ownRelationships.filter { $0.isStoredToMany && $0.inverse == nil }
                .sorted { byteOrder($0.name, $1.name) }
        }
        return Dictionary(grouping: found, by: \.destination.rootIndex)
    }

    static let systemTables = ["Z_PRIMARYKEY", "Z_METADATA", "Z_MODELCACHE"]

    func number(of entity: Entity) -> Int64 { numbers[Int(entity.index)] }

    /// Returns conditions for rows that are not objects: invalid keys, and entity numbers of other tables.
    ///
    /// SQLite can use an index for each condition.
    func strayConditions(of table: TableSchema) -> [String] {
        // Texts sort after all numbers.
        let keys = ["Z_PK < 1", "Z_PK > \(Int64.max)", "Z_PK IS NULL"]
        guard table.hasSubentities else { return keys }
        let known = table.entities.map { number(of: $0) }.sorted()
        let gaps = zip(known, known.dropFirst()).filter { $1 - $0 > 1 }.map { "Z_ENT > \($0) AND Z_ENT < \($1)" }
        return keys + ["Z_ENT IS NULL", "Z_ENT < \(known[0])", "Z_ENT > \(known[known.count - 1])"] + gaps
    }

    /// Returns the index in the model of the entity with a number, or nil for an unknown number.
    func entityIndex(number: Int64) -> UInt32? { entityOfNumber[number] }
    /// Returns the entity with a number, or nil for an unknown number.
    func entity(number: Int64) -> Entity? { entityOfNumber[number].map { model.entities[Int($0)] } }

    /// Returns the index of the entity with a number, for a row in the table of `relative`.
    ///
    /// - Returns: nil for an unknown number, and for an entity of another tree, which only a damaged file has in this
    ///   table.
    func entityIndex(number: Int64, in relative: Entity) -> UInt32? {
        guard let index = entityOfNumber[number] else { return nil }
        return model.entities[Int(index)].rootIndex == relative.rootIndex ? index : nil
    }

    func table(of entity: Entity) -> TableSchema { tableOfEntity[Int(entity.index)] }

    /// Returns the storage of a to-many relationship, or nil for a transient relationship.
    func storage(of relationship: Relationship) -> ToManyStorage? { toMany[relationship.key] }

    private func register(_ join: JoinTable) {
        toMany[join.naming.key] = .joinTable(
            table: join.name, owner: join.namingColumn.name, member: join.otherColumn.name,
            order: join.naming.isOrdered ? join.otherColumn.orderName : nil, isReflexive: join.isReflexive)
        guard let other = join.other else { return }
        toMany[other.key] = .joinTable(
            table: join.name, owner: join.otherColumn.name, member: join.namingColumn.name,
            order: other.isOrdered ? join.namingColumn.orderName : nil, isReflexive: false)
    }

    private func registerForeignKeys() {
        for entity in model.entities {
            for relationship in entity.ownRelationships where relationship.isStoredToMany {
                let table = table(of: relationship.destination)
                if let inverse = relationship.inverse, !inverse.isToMany {
                    guard let column = table.column(of: inverse) else { continue }
                    toMany[relationship.key] = .foreignKey(
                        table: table, column: column.name, order: table.orderColumn(of: inverse)?.name, isInverse: true)
                } else if relationship.inverse == nil {
                    guard let column = table.ownerColumn(of: relationship) else { continue }
                    toMany[relationship.key] = .foreignKey(
                        table: table, column: column.name, order: table.orderColumn(of: relationship)?.name,
                        isInverse: false)
                }
            }
        }
    }

    var spatialIndexes: [SpatialIndex] {
        tables.flatMap { table in
            table.entities.flatMap { entity in entity.indexes.compactMap { SpatialIndex($0, of: entity, in: table) } }
        }
    }

    /// Makes the file's R-trees available to fetches, except those without triggers and those that cannot be read.
    ///
    /// Must be called before another thread uses the schema.
    func findSpatialIndexes(in connection: Connection) throws {
        let wanted = spatialIndexes
        if wanted.isEmpty { return }
        let drift = try SchemaDrift(self, connection)
        for index in wanted where try drift.isMaintained(index) && index.isReadable(connection) {
            let mapping = index.mapping
            let columns = drift.leadingColumns(ofTable: index.table)
            for entity in index.entity.withDescendants {
                let place = Int(entity.index)
                mappings[place].spatialIndexes.append(mapping)
                mappings[place].indexedKeys = indexedKeys(of: mappings[place], columns)
            }
        }
    }

    private func indexedKeys(of mapping: TableMapping, _ columns: Set<String>) -> Set<String> {
        let keys = mapping.entity.properties.filter { property in
            switch mapping[property] {
            case .attribute(let column): columns.contains(column)
            case .toOne(let target): columns.contains(target.column)
            case .none, .toMany: false
            }
        }
        return Set(keys.map(\.path))
    }

    /// The statements that create an empty store, in Apple's order.
    var creationStatements: [String] {
        var statements: [String] = []
        for table in tables {
            statements.append(table.creationStatement)
            statements += joins.filter { $0.host === table }.map(\.creationStatement)
        }
        for table in tables {
            statements += table.propertyIndexes.map(\.creationStatement)
            statements += joins.filter { $0.host === table }.map(\.index.creationStatement)
            statements += table.modelIndexes.map(\.creationStatement)
        }
        statements += derivedAttributes.flatMap(\.triggerStatements)
        for index in spatialIndexes { statements += [index.creationStatement] + index.triggerStatements }
        return statements + [
            "CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)",
            "CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)",
            "CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)",
        ]
    }
}

/// The column or table that stores a to-many relationship.
enum ToManyStorage {
    /// A column of the members' table with the owner's primary key.
    ///
    /// It is the column of the inverse to-one relationship, or a separate column if there is no inverse.
    case foreignKey(table: TableSchema, column: String, order: String?, isInverse: Bool)
    case joinTable(table: String, owner: String, member: String, order: String?, isReflexive: Bool)
}

extension Relationship {
    var isStoredToMany: Bool { isToMany && !isTransient }
}

/// Whether a name precedes another one in the order of their bytes.
///
/// This is Core Data's case-sensitive order of identifiers.
func byteOrder(_ a: String, _ b: String) -> Bool { a.utf8.lexicographicallyPrecedes(b.utf8) }

/// Returns the byte offset of `part` in `text`, or nil if `text` does not contain it.
func position(of part: String, in text: String) -> Int? { position(of: Array(part.utf8), in: Array(text.utf8)) }

func position(of part: [UInt8], in bytes: [UInt8]) -> Int? {
    guard let first = part.first, part.count <= bytes.count else { return part.isEmpty ? 0 : nil }
    return bytes.withUnsafeBufferPointer { bytes in
        (0...bytes.count - part.count).first { place in
            bytes[place] == first && bytes[place..<place + part.count].elementsEqual(part)
        }
    }
}
