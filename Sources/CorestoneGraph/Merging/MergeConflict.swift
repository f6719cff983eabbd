import CorestoneModel
import CorestoneValues

/// An object that was changed or deleted elsewhere since it was read.
public final class MergeConflict: SaveConflict, @unchecked Sendable {
    /// Where the object was overtaken.
    public enum Kind: Int32, Sendable {
        /// By another context of the same coordinator: the row cache has the newer state, and there is no persisted snapshot.
        case context = 1
        /// By another program, or another coordinator: the row cache has the old state, the store the newer one.
        case store
    }

    public let kind: Kind
    /// What the object was last read with, before its changes, as Core Data's: the base of a three-way comparison.
    public let objectSnapshot: ConflictSnapshot
    /// What the object holds, its changes included.
    public let currentSnapshot: ConflictSnapshot
    /// What the coordinator's row cache holds; nil when the row was deleted through this coordinator.
    public let cachedSnapshot: ConflictSnapshot?
    /// What the store holds; nil when that is what the row cache holds, and for a deleted row.
    public let persistedSnapshot: ConflictSnapshot?
    /// The version that the object was read with.
    public let oldVersion: Int
    /// The version that is there now; 0 for a deleted row.
    public let newVersion: Int
    /// Whether the object is deleted here.
    public let isDeleted: Bool
    /// The stored properties that differ, by name of the model's order.
    public let differences: [PropertyDifference]
    /// Whether the object is new here, and the store reports its reference: it has a row of that already, or takes none.
    public let isInserted: Bool
    /// Whether there is no such row any more; of one that is there the version may be 0, too.
    private let isGone: Bool
    /// The URI that the object has in the store.
    private let uri: String
    /// The row as it is now, while the save asks its policy.
    private(set) var row: Record?
    private var chunk: RecordChunk?
    private let path: String

    /// - Parameters:
    ///   - row: as the store has it now; nil for one that is deleted. Its memory is retained.
    ///   - cached: as the row cache had it.
    ///   - key: what names the row, also of an object that has no permanent ID yet.
    init(_ object: ManagedObject, row: Record?, cached: Record?, in context: Context, store: Store, key: Int64) {
        self.row = row
        chunk = row?.chunk.takeUnretainedValue()
        path = store.path
        (isInserted, isGone) = (object.isInserted, row == nil)
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
    /// The object, as long as its context knows it.
    public var sourceObject: ManagedObject? { objects.first }

    override func settle(as type: MergePolicyType, in context: Context) throws {
        guard let object = sourceObject else { return }
        if isInserted { return try context.merge(inserted: object, with: row, as: type) }
        try context.merge(object, with: row, as: type)
    }

    override func end() { (row, chunk) = (nil, nil) }

    /// At most so many properties are told in full.
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
            return
                "\(head) was \(isDeleted ? "deleted here and" : "changed here and deleted") in the store since it was read "
                + "(version \(oldVersion) here)" + told
        }
        return "\(head) was \(isDeleted ? "deleted here and " : "")changed in the store since it was read "
            + "(version \(oldVersion) here, \(newVersion) in the store)" + told
    }

    /// The three values of each property that differs, a line each.
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

/// A property with more than one value: what the object was read with, what it holds, what the store holds.
public struct PropertyDifference: Sendable {
    public let key: String
    public let base: PropertyValue
    public let mine: PropertyValue
    /// nil when the row was deleted.
    public let theirs: PropertyValue?

    public let isChangedHere: Bool
    public let isChangedThere: Bool

    /// Whether it was changed here and there, not to the same value.
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
