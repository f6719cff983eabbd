import CorestoneModel
import CorestoneValues

/// A version conflict: an object whose row was changed or deleted elsewhere since it was read.
public final class MergeConflict: SaveConflict, @unchecked Sendable {
    /// The writer that changed the row.
    public enum Kind: Int32, Sendable {
        /// Another context of the same coordinator.
        ///
        /// The row cache contains the newer state, and the conflict does not have a persisted snapshot.
        case context = 1
        /// Another process or another coordinator.
        ///
        /// The row cache contains the old state, and the store the newer one.
        case store
    }

    public let kind: Kind
    /// The values that were last read, as in Core Data: the base of a three-way comparison.
    public let objectSnapshot: ConflictSnapshot
    /// The current values of the object, its changes included.
    public let currentSnapshot: ConflictSnapshot
    /// The values in the coordinator's row cache; nil if the row was deleted through this coordinator.
    public let cachedSnapshot: ConflictSnapshot?
    /// The values in the store; nil if they are those of the row cache, or if the row is deleted.
    public let persistedSnapshot: ConflictSnapshot?
    /// The version of the row when the object was read.
    public let oldVersion: Int
    /// The current version of the row; 0 if it is deleted.
    public let newVersion: Int
    /// Whether the object is deleted here.
    public let isDeleted: Bool
    /// The stored properties that differ, in the model's order.
    public let differences: [PropertyDifference]
    /// Whether the object is new and the store reports its reference.
    ///
    /// Either a row already has the reference, or the store rejects it.
    public let isInserted: Bool
    /// Whether the row does not exist any more. An existing row can have the version 0, too.
    private let isGone: Bool
    /// Whether the object has changes here; false for an object that is only locked by `detectConflicts(for:)`.
    private let isChangedHere: Bool
    /// The URI that the object has in the store.
    private let uri: String
    /// The newest row, while the save runs its merge policy.
    private(set) var row: Record?
    private var chunk: RecordChunk?
    private let path: String

    /// Creates the conflict of an object.
    ///
    /// - Parameters:
    ///   - row: The newest row of the store, whose memory is retained; nil if it is deleted.
    ///   - cached: The row of the row cache.
    ///   - key: The key of the row, even if the object does not have a permanent ID yet.
    init(_ object: ManagedObject, row: Record?, cached: Record?, in context: Context, store: Store, key: Int64) {
        self.row = row
        chunk = row?.chunk.takeUnretainedValue()
        path = store.path
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

    override func settle(as type: MergePolicyType, in context: Context) throws {
        guard let object = sourceObject else { return }
        if isInserted { return try context.merge(inserted: object, with: row, as: type) }
        try context.merge(object, with: row, as: type)
    }

    override func end() { (row, chunk) = (nil, nil) }

    /// The maximum number of properties in a message.
    private static let shownDifferences = 20

    public override var message: String {
        let head = "\(objectID.entity.name) \(uri)"
        if isInserted {
            return isGone
                ? "\(head) is new here, but the store rejects its reference, although no row has it"
                : "\(head) is new here, but the store already has a row with its reference (version \(newVersion))"
                    + told
        }
        guard !isGone else {
            if objectSnapshot.isEmpty { return "\(head) has no row in the store" }
            let here = isDeleted ? "deleted here and" : isChangedHere ? "changed here and deleted" : "deleted"
            return "\(head) was \(here) in the store since it was read (version \(oldVersion) here)" + told
        }
        return "\(head) was \(isDeleted ? "deleted here and " : "")changed in the store since it was read "
            + "(version \(oldVersion) here, \(newVersion) in the store)" + told
    }

    /// The values of each property that differs, one line per property.
    private var told: String {
        if isDeleted { return "" }
        if differences.isEmpty { return isGone || newVersion == oldVersion ? "" : ": its relationships changed" }
        var lines = differences.prefix(MergeConflict.shownDifferences).map { "\n    " + $0.message }
        if differences.count > lines.count { lines.append("\n    and \(differences.count - lines.count) more") }
        return ":" + lines.joined()
    }

    override var error: CoreError {
        let remedy =
            isInserted
            ? "\(isGone ? "save again to get a new reference" : "fetch that object and change it instead"), or set the context's "
                + "merge policy"
            : isGone
                ? "roll back, or delete it in this context too"
                : "refresh it (keeping or discarding its changes) and save again, or set the context's merge policy"
        let theirs = differences.filter(\.isChangedThere)
        let concerned = theirs.isEmpty ? differences : theirs
        return CoreError(
            .conflict, code: .managedObjectMerge, "\(message)\n  \(remedy)", entity: objectID.entity.name,
            key: concerned.first?.key, objectURI: uri,
            children: isGone
                ? []
                : concerned.map {
                    CoreError(
                        .conflict, code: .managedObjectMerge, "\(objectID.entity.name).\($0.message)",
                        entity: objectID.entity.name, key: $0.key, value: $0.theirs, objectURI: uri, file: path)
                }, file: path, payload: ConflictList([self]))
    }
}

/// A property whose values differ between the row that was read, the object, and the store.
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
