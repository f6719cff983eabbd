import CorestoneGraph
import CorestoneCustomStores
import CorestoneModel
import CorestoneValues

/// A row of a save request.
public struct SavedRow {
    public let row: RowReference
    /// The version to be written; for a deleted or locked row, the version that the store must still have.
    public let version: Int64
    /// For a changed row, the version that the store must still have.
    public let oldVersion: Int64?
    /// For a changed row, the names of the properties that changed.
    public let changed: Set<String>
    /// All values by name, including null values; the value of a to-one relationship is the target's reference. Empty
    /// for deleted and locked rows.
    public let values: [String: PropertyValue]
    /// The targets of to-one relationships, by the relationship's name.
    public let targets: [String: RowReference]

    public init(
        _ row: RowReference, version: Int64, oldVersion: Int64? = nil, changed: Set<String> = [],
        values: [String: PropertyValue] = [:], targets: [String: RowReference] = [:]
    ) {
        (self.row, self.version, self.oldVersion) = (row, version, oldVersion)
        (self.changed, self.values, self.targets) = (changed, values, targets)
    }
}

/// The changes of a save, which a store writes completely or not at all.
///
/// If no rows changed, only the metadata is written. The functions of the request must not be called after the save.
public final class SaveChangesRequest: PersistentStoreRequest, @unchecked Sendable {
    public let inserted: [SavedRow]
    public let updated: [SavedRow]
    public let deleted: [SavedRow]
    /// Unchanged rows whose version must be the same in the store; otherwise the save must fail.
    public let locked: [SavedRow]
    public let memberChanges: [MemberChange]
    /// The new metadata of the store; nil if the metadata did not change.
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

    /// Reports a version conflict.
    ///
    /// Call it for a row that has another version in the store or was deleted, and for a new row whose reference
    /// already exists. The save fails with a conflict, even if `save` returns without an error. The context's merge
    /// policy may resolve the conflict with the values that the store returns next. A batch request or a migration
    /// fails with the conflict.
    ///
    /// - Throws: `.invalidArgument` if the row is not part of this save.
    public func addConflict(_ row: RowReference) throws { try changes?.addConflict(.version, row) }

    /// Reports a unique-constraint conflict: another row has the same values of the constraint's attributes.
    public func addUniquenessConflict(_ row: RowReference) throws { try changes?.addConflict(.unique, row) }

    /// Calls `body` with each row that an atomic store contains after this save, entity by entity.
    ///
    /// `members` has the members of the row's to-many relationships by name, in order. Both sides of a relationship are
    /// included, but empty relationships are not. Only one row at a time is copied.
    ///
    /// - Throws: `.invalidArgument` in the save of an incremental store, and after the save.
    ///   The errors of `body`.
    public func forEachRow(_ body: (SavedRow, _ members: [String: [RowReference]]) throws -> Void) throws {
        guard let changes, let keys = try changes.allKeys() else {
            throw CoreError(
                .invalidArgument, code: .persistentStoreSave,
                "forEachRow works only during the save of an atomic store; use inserted, updated and deleted in an "
                    + "incremental store")
        }
        for key in keys {
            try changes.withRow(key) { record, members in
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
