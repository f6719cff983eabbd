import CorestoneGraph
import CorestoneHosting
import CorestoneModel
import CorestoneValues

/// A row that a save writes, as the store gets it.
public struct SavedRow {
    public let row: RowReference
    /// The version to be written; of rows that are deleted or locked the one that they must still have.
    public let version: Int64
    /// Of a changed row the version that it must still have.
    public let oldVersion: Int64?
    /// The names of the properties that changed, of a changed row.
    public let changed: Set<String>
    /// All values by name, null ones too: of a to-one relationship the reference as a value. None of rows that are deleted or locked.
    public let values: [String: PropertyValue]
    /// The rows that to-one relationships lead to, by their names.
    public let targets: [String: RowReference]

    public init(
        _ row: RowReference, version: Int64, oldVersion: Int64? = nil, changed: Set<String> = [],
        values: [String: PropertyValue] = [:], targets: [String: RowReference] = [:]
    ) {
        (self.row, self.version, self.oldVersion) = (row, version, oldVersion)
        (self.changed, self.values, self.targets) = (changed, values, targets)
    }
}

/// What a save hands to a store: all that changed, to be kept as a whole or not at all. All may be nothing: then at most the
/// metadata is to be written.
///
/// Good during the save.
public final class SaveChangesRequest: PersistentStoreRequest, @unchecked Sendable {
    public let inserted: [SavedRow]
    public let updated: [SavedRow]
    public let deleted: [SavedRow]
    /// Not changed, but the save is to fail unless they still have their version.
    public let locked: [SavedRow]
    public let memberChanges: [MemberChange]
    /// What the store is to say about itself from now on; nil when that stays.
    public let metadata: [String: PropertyListValue]?
    public let author: SaveAuthor
    private let changes: HostChanges?

    public init(
        inserted: [SavedRow]? = nil, updated: [SavedRow]? = nil, deleted: [SavedRow]? = nil, locked: [SavedRow]? = nil
    ) {
        (self.inserted, self.updated, self.deleted, self.locked) =
            (inserted ?? [], updated ?? [], deleted ?? [], locked ?? [])
        (memberChanges, metadata, author, changes) = ([], nil, SaveAuthor(), nil)
        super.init()
    }

    init(_ changes: HostChanges) {
        self.changes = changes
        inserted = changes.inserted.map { SavedRow(changes, $0.record, $0.entity, nil, []) }
        updated = changes.updated.map { SavedRow(changes, $0.record, $0.entity, $0.oldVersion, $0.slots) }
        deleted = changes.deleted.map { SavedRow($0.row, version: Int64($0.version)) }
        locked = changes.locked.map { SavedRow($0.row, version: Int64($0.version)) }
        memberChanges = changes.memberChanges
        metadata = changes.metadata?.dictionary
        author = changes.author
        super.init()
    }

    public override var requestType: UInt32 { RequestType.save.rawValue }

    /// A row has another version in the store than the save is based on, or is gone; of a new row, there is one of its reference
    /// already. The save ends with a conflict, which the context's merge policy may settle upon what the store gives next, whatever
    /// the store does then. A batch request, or a migration, ends with it.
    ///
    /// - Throws: `.invalidArgument` for a row that is none of this save.
    public func addConflict(_ row: RowReference) throws { try changes?.addConflict(.version, row) }

    /// The same for a row whose values another one has, where they must be unique.
    public func addUniquenessConflict(_ row: RowReference) throws { try changes?.addConflict(.unique, row) }

    /// Hands `body` each row that an atomic store holds once this save is done, entity by entity, with the members of its to-many
    /// relationships by their names, in order; of both sides, and none that is empty. One row is in memory twice at a time.
    ///
    /// - Throws: `.invalidArgument` for the save of an incremental store, and after the save; what `body` throws.
    public func forEachRow(_ body: (SavedRow, _ members: [String: [RowReference]]) throws -> Void) throws {
        guard let changes, let keys = try changes.wholeKeys() else {
            throw CoreError(
                .invalidArgument, code: .persistentStoreSave,
                "forEachRow works only during the save of an atomic store; use inserted, updated and deleted instead")
        }
        for key in keys {
            try changes.withWhole(key) { record, members in
                let lists = Dictionary(uniqueKeysWithValues: members.map { ($0.relationship.name, $0.rows) })
                try body(SavedRow(changes, record, key.entity, nil, []), lists)
            }
        }
    }
}

extension SavedRow {
    fileprivate init(_ changes: HostChanges, _ record: Record, _ entity: Entity, _ old: Int32?, _ slots: [Int]) {
        var values: [String: PropertyValue] = [:]
        var targets: [String: RowReference] = [:]
        changes.forEachValue(record, entity) { slot, view, target in
            let name = entity.properties[slot].path
            values[name] = target?.reference.value ?? view.propertyValue
            if let target { targets[name] = target }
        }
        self.init(
            changes.row(of: record, entity), version: Int64(record.version), oldVersion: old.map { Int64($0) },
            changed: Set(slots.map { entity.properties[$0].path }), values: values, targets: targets)
    }
}
