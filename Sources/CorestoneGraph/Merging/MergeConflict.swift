import CorestoneModel
import CorestoneValues

/// A version conflict of an object with its row in the store.
///
/// The row was changed or deleted elsewhere since the object was read, or the store reported a conflict.
public final class MergeConflict: SaveConflict, @unchecked Sendable {
    /// The writer that changed the row, as far as the row cache shows.
    public enum Kind: Int32, Sendable {
        /// Another context of the same coordinator.
        ///
        /// The row cache has the same state as the store, and the conflict does not have a persisted snapshot.
        case context = 1
        /// Another process or another coordinator.
        ///
        /// The row cache differs from the store, or does not contain a row that the store contains.
        case store
    }

    public let kind: Kind
    /// The values of the row that the object was read from: the base of a three-way comparison, as in Core Data.
    ///
    /// Empty if the object does not have a row.
    public let objectSnapshot: ConflictSnapshot
    /// The current values of the object, including its changes.
    public let currentSnapshot: ConflictSnapshot
    /// The values in the coordinator's row cache, or `objectSnapshot` if the cache does not contain the row.
    ///
    /// For a nested context, the values in the parent. Nil if `kind` is `.context` and the row is deleted.
    public let cachedSnapshot: ConflictSnapshot?
    /// The values in the store; nil if `kind` is `.context`, or if the row is deleted.
    public let persistedSnapshot: ConflictSnapshot?
    /// The version of the row when the object was read.
    public let oldVersion: Int
    /// The current version of the row; 0 if the row is deleted.
    public let newVersion: Int
    /// Whether the object is deleted here.
    public let isDeleted: Bool
    /// The stored properties that were changed here or in the store, in the model's order.
    public let differences: [PropertyDifference]
    /// Whether the object is new and the store reported a conflict for its reference.
    ///
    /// Either a row already has the reference, or the store rejects the reference.
    public let isInserted: Bool
    /// Whether the store does not contain the row. A version of 0 does not imply this.
    private let isGone: Bool
    /// Whether the object has unsaved changes; false for an object that is only locked by `detectConflicts(for:)`.
    private let isChangedHere: Bool
    /// The URI for the primary key of the row.
    private let uri: String
    /// The newest row, while the save runs its merge policy; nil afterwards, or if the row is deleted.
    private(set) var row: Record?
    private var chunk: RecordChunk?
    /// The path of the store; nil for a store without a path.
    private let path: String?

    /// Creates the conflict of an object.
    ///
    /// - Parameters:
    ///   - row: The newest row of the store, whose memory is retained; nil if the row is deleted.
    ///   - cached: The row in the row cache; nil if the cache does not contain it.
    ///   - key: The primary key of the row, even if the object does not have a permanent ID yet.
    init(_ object: ManagedObject, row: Record?, cached: Record?, in context: Context, store: Store, key: Int64) {
        self.row = row
        chunk = row?.chunk.takeUnretainedValue()
        path = store.path.isEmpty ? nil : store.path
        (isInserted, isGone, isChangedHere) = (object.isInserted, row == nil, object.hasChanges)
        uri = ObjectID(store: store, entity: object.entity, reference: key).uri
        let base = object.record.map { Record($0) }
        let now = row.map { object.entity.snapshot(of: $0, store) }
        currentSnapshot = object.snapshot()
        objectSnapshot = base.map { object.entity.snapshot(of: $0, store) } ?? [:]
        kind = cached?.version == row?.version ? .context : .store
        cachedSnapshot =
            kind == .context ? now : cached.map { object.entity.snapshot(of: $0, store) } ?? objectSnapshot
        persistedSnapshot = kind == .context ? nil : now
        (oldVersion, newVersion, isDeleted) = (Int(object.version), Int(row?.version ?? 0), object.isDeleted)
        differences = object.differences(to: row, base: objectSnapshot, mine: currentSnapshot, theirs: now)
        super.init([object], in: context)
    }

    public var objectID: ObjectID { objectIDs[0] }
    /// The object while it is registered in its context; otherwise nil.
    public var sourceObject: ManagedObject? { objects.first }

    override func resolve(as type: MergePolicyType, in context: Context) throws {
        guard let object = sourceObject else { return }
        if isInserted { return try context.conflictResolver.merge(inserted: object, with: row, as: type) }
        try context.conflictResolver.merge(object, with: row, as: type)
    }

    override func end() { (row, chunk) = (nil, nil) }

    /// The maximum number of differing properties in a message.
    private static let shownDifferences = 20

    public override var message: String {
        let head = "\(objectID.entity.name) \(uri)"
        if isInserted {
            return isGone
                ? "\(head) is new here, but the store rejects its reference, although the reference is not in use"
                : "\(head) is new here, but the store already has a row with its reference (version \(newVersion))"
                    + differencesText
        }
        guard !isGone else {
            if objectSnapshot.isEmpty { return "\(head) does not have a row in the store" }
            let here = isDeleted ? "deleted here and" : isChangedHere ? "changed here and deleted" : "deleted"
            return "\(head) was \(here) in the store since it was read (version \(oldVersion) here)" + differencesText
        }
        return "\(head) was \(isDeleted ? "deleted here and " : "")changed in the store since it was read "
            + "(version \(oldVersion) here, \(newVersion) in the store)" + differencesText
    }

    /// The values of the properties that differ, as the end of the message: one line for each of the first 20.
    ///
    /// Empty for a deleted object.
    private var differencesText: String {
        if isDeleted { return "" }
        if differences.isEmpty {
            // A new version can also be due to changed members, or to a write of equal values.
            return isGone || newVersion == oldVersion ? "" : ": only its version or its to-many relationships changed"
        }
        var lines = differences.prefix(MergeConflict.shownDifferences).map { "\n    " + $0.message }
        if differences.count > lines.count { lines.append("\n    and \(differences.count - lines.count) more") }
        return ":" + lines.joined()
    }

    override var error: CoreError {
        let otherPolicy = "set another merge policy with cst_context_set_merge_policy (merge_policy, mergePolicy)"
        let remedy =
            isInserted
            ? (isGone
                ? "\(otherPolicy), and save again to get a new reference"
                : "fetch the object of that row with cst_context_fetch (fetch) and change it instead, or "
                    + otherPolicy)
            : isGone
                ? "call cst_context_rollback (rollback), or delete the object in this context too with "
                    + "cst_context_delete (delete)"
                : "call cst_object_refresh (refresh) on the object and save again, or \(otherPolicy)"
        let theirs = differences.filter(\.isChangedThere)
        let concerned = theirs.isEmpty ? differences : theirs
        return CoreError(
            .conflict, code: .managedObjectMerge, "\(message)\n  \(remedy)", entity: objectID.entity.name,
            key: concerned.first?.key, value: concerned.first?.theirs, objectURI: uri,
            children: isGone
                ? []
                : concerned.map {
                    CoreError(
                        .conflict, code: .managedObjectMerge, "\(objectID.entity.name).\($0.message)",
                        entity: objectID.entity.name, key: $0.key, value: $0.theirs, objectURI: uri, file: path)
                }, file: path, payload: ConflictList([self]))
    }
}

/// A property that was changed in an object, in the object's row in the store, or in both.
public struct PropertyDifference: Sendable {
    public let key: String
    /// The value in the row that the object was read from.
    public let base: PropertyValue
    /// The current value of the object.
    public let mine: PropertyValue
    /// The value in the store; nil if the row is deleted.
    public let theirs: PropertyValue?

    public let isChangedHere: Bool
    public let isChangedThere: Bool

    /// Whether the property was changed here and in the store to different values.
    public var isContested: Bool { isChangedHere && isChangedThere && mine != theirs }

    var message: String {
        var parts = ["was \(base.shownInConflict)"]
        if isChangedHere { parts.append("is \(mine.shownInConflict) here") }
        if isChangedThere, let theirs {
            parts.append("\(isChangedHere ? "" : "is ")\(theirs.shownInConflict) in the store")
        }
        return "\(key) " + parts.joined(separator: ", ")
    }
}
