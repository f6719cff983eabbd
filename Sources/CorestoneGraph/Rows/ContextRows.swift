import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// The rows of a store as a context reads them.
///
/// Conditions that are evaluated in memory use these rows instead of the context's objects, which may be stale. The
/// targets of a row are read together with those of adjacent rows.
final class ContextRows: RowSource {
    private let context: Context
    private let store: Store
    var model: Model { context.coordinator.model }
    var identifier: String { store.identifier }
    /// The rows by index of the root entity and primary key; nil if the store does not have the row.
    private var found: [UInt32: [Int64: (group: RowGroup, place: Int)?]] = [:]
    /// The members by relationship and owner, as the positions of rows that were read together.
    private var members: [UInt32: [Int64: (group: RowGroup, places: [Int])]] = [:]
    private var counts: [UInt32: [Int64: Int]] = [:]
    private var size = 0

    /// The maximum number of adjacent rows whose targets are read together.
    private static let stride = 512
    /// The number of cached rows and lists above which the cache is emptied during a large fetch.
    private static let limit = 1 << 16

    init(_ context: Context, _ store: Store) { (self.context, self.store) = (context, store) }

    /// Returns the rows of a fetch.
    func rows(_ batch: RowBatch) -> [StoredRow] {
        let group = RowGroup(batch)
        return group.records.indices.map { StoredRow(self, group, at: $0) }
    }

    func find(_ target: StoredRow, of row: StoredRow, _ relationship: Relationship) throws {
        let root = target.entity.root
        if found[root.index]?[target.primaryKey] == nil { try read(target.primaryKey, root, for: row, relationship) }
        guard case .some(.some((let group, let place))) = found[root.index]?[target.primaryKey] else { return }
        target.setRow(at: place, in: group)
    }

    private func read(_ key: Int64, _ root: Entity, for row: StoredRow, _ relationship: Relationship) throws {
        discardIfAboveLimit()
        var keys = [key]
        var requested: Set<Int64> = [key]
        for record in row.neighbours(ContextRows.stride) {
            let entity = model.entities[Int(record.header.pointee.entity)]
            guard entity.isKind(of: relationship.entity) else { continue }
            let slot = Int(relationship.slot)
            guard let (other, index) = record.target(slot, entity.layout.slots[slot]),
                model.entities[Int(index)].root === root, found[root.index]?[other] == nil,
                requested.insert(other).inserted
            else { continue }
            keys.append(other)
        }
        let batch = try context.using(store) { try context.reader(of: store).rows(of: root, primaryKeys: keys) }
        let group = RowGroup(batch)
        for key in keys { found[root.index, default: [:]].updateValue(nil, forKey: key) }
        for (place, record) in group.records.enumerated() {
            found[root.index, default: [:]].updateValue((group, place), forKey: record.primaryKey)
        }
        size += keys.count
    }

    func members(of row: StoredRow, _ relationship: Relationship) throws -> [StoredRow] {
        if members[relationship.key]?[row.primaryKey] == nil { try readMembers(of: row, relationship) }
        guard let (group, places) = members[relationship.key]?[row.primaryKey] else { return [] }
        return places.map { StoredRow(self, group, at: $0) }
    }

    private func readMembers(of row: StoredRow, _ relationship: Relationship) throws {
        discardIfAboveLimit()
        let owners = owners(row, relationship) { members[relationship.key]?[$0] == nil }
        let read = try stored(relationship, owners, includingRows: true)
        let group = RowGroup(read.batch)
        var places: [Int64: Int] = [:]
        for (place, record) in group.records.enumerated() { places[record.primaryKey] = place }
        var lists: [Int64: [Int]] = [:]
        for member in read.members {
            if let place = places[member.primaryKey] { lists[member.owner, default: []].append(place) }
        }
        for owner in owners { members[relationship.key, default: [:]][owner] = (group, lists[owner] ?? []) }
        size += owners.count + read.members.count
    }

    func memberCount(of row: StoredRow, _ relationship: Relationship) throws -> Int {
        if let known = members[relationship.key]?[row.primaryKey] { return known.places.count }
        if let known = counts[relationship.key]?[row.primaryKey] { return known }
        discardIfAboveLimit()
        let owners = owners(row, relationship) { counts[relationship.key]?[$0] == nil }
        for owner in owners { counts[relationship.key, default: [:]][owner] = 0 }
        for member in try stored(relationship, owners, includingRows: false).members {
            counts[relationship.key, default: [:]][member.owner, default: 0] += 1
        }
        size += owners.count
        return counts[relationship.key]?[row.primaryKey] ?? 0
    }

    private func stored(_ relationship: Relationship, _ owners: [Int64], includingRows: Bool) throws -> StoreMembers {
        try context.using(store) {
            try context.reader(of: store).members(of: relationship, owners: owners, includingRows: includingRows)
        }
    }

    /// Returns the primary key of a row, followed by the keys of adjacent rows whose targets were not read yet.
    private func owners(
        _ row: StoredRow, _ relationship: Relationship, _ isUnknown: (Int64) -> Bool
    ) -> [Int64] {
        let others = row.neighbours(ContextRows.stride).filter {
            model.entities[Int($0.header.pointee.entity)].isKind(of: relationship.entity)
                && $0.primaryKey != row.primaryKey
                && isUnknown($0.primaryKey)
        }
        return [row.primaryKey] + others.map(\.primaryKey)
    }

    private func discardIfAboveLimit() {
        if size > ContextRows.limit { (found, members, counts, size) = ([:], [:], [:], 0) }
    }

    func externalValue(named name: String) -> ExternalValue { store.backing.externalValue(named: name) }

    func hostValue(of row: StoredRow, _ name: String) throws -> PropertyValue {
        let object = managedObject(of: row)
        // The values of a changed object may differ from those of its row, so a transient value counts as null.
        if object.hasChanges, object.entity.property(named: name) != nil { return .null }
        return try object.value(forKey: name)
    }

    func object(of row: StoredRow) -> (any ValueObject)? { managedObject(of: row) }

    private func managedObject(of row: StoredRow) -> ManagedObject {
        context.identityMap.object(store: store, entity: row.entity, primaryKey: row.primaryKey)
    }

    func reference(of row: StoredRow) -> ObjectIDReference? {
        ObjectIDReference(ObjectID(store: store, entity: row.entity, reference: row.primaryKey))
    }
}

extension StoredRow {
    /// Returns this row and following rows that were read with it, at most `count` in total.
    ///
    /// Returns an empty list for a row that was read alone.
    fileprivate func neighbours(_ count: Int) -> ArraySlice<Record> {
        siblings.map { ArraySlice($0.records[place...].prefix(count)) } ?? []
    }
}
