import CorestoneModel
import CorestoneValues

/// The source of related data for the columns of saved rows.
///
/// It reads the rows of to-one targets, the members of relationships and the backing files of one store, and creates
/// URIs. Targets and members are read with `reader`.
final class ArrowRowSource {
    let store: Store
    let reader: any StoreReading
    private let entities: [Entity]
    /// The cached rows of targets, by the index of their root entity and by primary key.
    private var targets: [UInt32: [Int64: Record]] = [:]
    private var targetCount = 0
    private var chunks: [RecordChunk] = []
    /// The part of URIs before the primary key, by entity index.
    private var heads: [Text?]

    /// The number of cached target rows above which the cache is emptied before the next read.
    private static let maximumTargets = 100_000

    init(_ store: Store, _ reader: any StoreReading, model: Model) {
        (self.store, self.reader, entities) = (store, reader, model.entities)
        heads = Array(repeating: nil, count: entities.count)
    }

    /// Returns the targets of a to-one relationship, one for each row and in the same order; nil if there is no target.
    func targets(of rows: [Record?], _ slots: ArrowSlots) throws -> [Record?] {
        guard let root = (slots.property as? Relationship)?.destination.root else { return rows.map { _ in nil } }
        let keys = rows.map { row in row.flatMap { slots.place($0) }.map { $0.load(as: Int64.self) } }
        if targetCount > ArrowRowSource.maximumTargets { (targets, chunks, targetCount) = ([:], [], 0) }
        // Removed from `targets`, so that the dictionary grows without a copy.
        var known = targets.removeValue(forKey: root.index) ?? [:]
        defer { targets[root.index] = known }
        let missing = Set(keys.compactMap { $0 }).filter { known[$0] == nil }
        if !missing.isEmpty {
            let batch = try reader.rows(of: root, primaryKeys: missing.sorted())
            for record in batch.records { known[record.primaryKey] = record }
            targetCount += batch.records.count
            chunks += batch.chunks
        }
        return keys.map { key in key.flatMap { known[$0] } }
    }

    /// Returns the members of a to-many relationship by the primary key of the owner, in the order of the relationship.
    func members(of relationship: Relationship, _ rows: [Record?]) throws -> [Int64: [StoreMembers.Member]] {
        let owners = Set(rows.compactMap { $0?.primaryKey })
        let found = try reader.members(of: relationship, owners: owners.sorted(), includingRows: false)
        return Dictionary(grouping: found.members, by: \.owner)
    }

    func entity(_ row: Record) -> Entity { entities[Int(row.header.pointee.entity)] }

    /// Reads an attribute value from its backing file.
    func file(_ name: UnsafeRawBufferPointer, _ field: ArrowField, _ row: Record) throws -> Bytes {
        let name = String(decoding: name, as: UTF8.self)
        let entity = entity(row)
        return try store.backing.externalValue(named: name).bytes { file, fault in
            let uri = ObjectID(store: store, entity: entity, reference: row.primaryKey).uri
            let key = field.property?.path ?? field.name
            return CoreError(
                .storeIO, code: .persistentStoreOperation,
                "cannot export \(entity.name).\(key) of \(uri): \(fault)\(fault.hasRemedy ? ", or" : ";") leave the "
                    + "column out",
                entity: entity.name, key: key, objectURI: uri, file: file)
        }
    }

    /// Appends the URI of a saved object, or its primary key if the column contains keys.
    @inline(__always)
    func append(key: Int64, entity: UInt32, to builder: ArrowBuilder) throws {
        if builder.field.type == .int64 { return builder.appendFixed(key) }
        guard Int(entity) < heads.count else { return builder.appendNull() }
        if heads[Int(entity)] == nil {
            heads[Int(entity)] = Text("x-coredata://\(store.identifier)/\(entities[Int(entity)].name)/p")
        }
        try withUnsafeTemporaryAllocation(byteCount: 20, alignment: 1) { digits in
            var (rest, place) = (key.magnitude, 20)
            repeat {
                place -= 1
                digits[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            try builder.append(
                heads[Int(entity)]!.utf8, UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(digits)[place...]))
        }
    }
}
