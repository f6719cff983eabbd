import CorestoneFormats
import CorestoneModel
import CorestoneValues

/// A store of rows.
///
/// Callers pass requests and batches of keys, and receive records; they do not depend on the storage format. Only one
/// thread at a time uses a store without `parallelReads`. A store with `parallelReads` is read by any number of
/// threads, each through its context's reader, while at most one thread saves. Members that are marked "Any thread" can
/// be used on any thread at any time. Rows are identified by primary key within the root entity of their entity tree,
/// entities by their index in the model.
package protocol PersistentStore: StoreReading, Sendable {
    var type: StoreType { get }
    /// The identifier, usually a UUID as text: the host part of the URIs of the store's objects.
    var identifier: String { get }
    var path: String { get }
    var modelSource: ModelSource { get }
    /// The optional features of the store. The coordinator rejects a store that lacks a feature of its model.
    var abilities: StoreAbilities { get }
    var isReadOnly: Bool { get }
    /// The reason why the store is read-only, and the remedy, as the end of a sentence.
    ///
    /// Nil if the store is writable or was opened with the read-only option.
    var readOnlyReason: String? { get }

    /// The attributes for which a value of another type was read as null so far. Any thread.
    var attributesReadAsNull: [Attribute] { get }

    /// The warnings about options that this store does not support.
    var warnings: [String] { get }

    /// Reads the value of a backing file, whose name the row contains. Any thread.
    func externalValue(named name: String) -> ExternalValue

    /// Whether a backing file of a name exists. Any thread.
    func hasExternalValue(named name: String) -> Bool

    /// Reserves primary keys, which are never reserved again, in a separate transaction.
    ///
    /// Returns the first of `count` consecutive keys.
    func reservePrimaryKeys(of root: Entity, count: Int) throws -> Int64

    /// The table that maps keys to references, in stores that identify rows by references.
    ///
    /// Nil in other stores.
    var references: ReferenceTable? { get }

    /// Returns a key for each new object, in a separate transaction; nil if keys must be reserved instead.
    func obtainKeys(for rows: [NewRow]) throws -> [Int64]?

    /// Records the entity of a key, even if it is unknown whether the row exists. Any thread.
    func noteEntity(_ entity: Entity, ofKey key: Int64)

    /// Runs `body` in a write transaction.
    ///
    /// The transaction is committed if `body` returns, and rolled back if it throws. `body` may read from the store,
    /// and reads its own writes.
    func save(by author: SaveAuthor, _ body: (any SaveTransaction) throws -> Void) throws

    /// Removes and returns the list of rows in which the last save computed values, for example derived attributes.
    func takeComputedRows() -> [(entity: UInt32, primaryKey: Int64)]

    /// Whether the computed rows are the final state of the saved rows.
    ///
    /// The versions of the computed rows may differ from those that the save passed.
    var decidesVersions: Bool { get }

    /// Notifies a store with the ability `registrations` that a context registered objects.
    ///
    /// A new object is registered after its save. The function is called on the context's thread, and `didUnregister`
    /// on any thread for a deallocated object. `didRegister` is called once for objects that are registered together.
    func didRegister(_ ids: [ObjectID])
    func didUnregister(_ ids: [ObjectID])

    /// Sets the receiver of pushed rows. Called once, before the store is used.
    func cachePushedRows(in rows: any RowKeeping)

    /// Returns a reader of a snapshot of the store, which later saves do not change.
    ///
    /// Returns nil if the store does not support such readers.
    func pinnedReader() throws -> (any StoreReading)?

    /// Releases the snapshot of a pinned reader. Any thread.
    func unpin(_ reader: any StoreReading)

    /// Returns the metadata.
    ///
    /// This function does not have a default implementation, because metadata without version hashes would match every
    /// model.
    func metadata() throws -> StoreMetadata

    /// Throws an error with the key of the entry if the store cannot write the metadata.
    func requireWritable(_ metadata: StoreMetadata) throws

    /// Whether the next save must reach the store even without changes.
    var needsSave: Bool { get }

    /// Moves the store to `path`.
    ///
    /// Called by the thread that holds the store's writer lock. Without `parallelReads`, other threads do not read
    /// during the call.
    func move(to path: String) throws

    /// A text that differs after every write to the store; nil if the store does not support it.
    ///
    /// It may also be nil after a very recent write, because readers may still see the earlier state. Any thread.
    var contentState: String? { get }

    /// Calls `notify` on a watcher thread after writes of other writers.
    ///
    /// The watcher is stopped before the store is closed. Returns nil if the store cannot detect writes.
    func watch(_ notify: @escaping @Sendable (ExternalChanges) -> Void) throws -> (any StoreWatch)?

    /// Whether the coordinator must post the saves of its own contexts too.
    var postsOwnChanges: Bool { get }
    /// Whether saves are recorded in a history.
    var keepsHistory: Bool { get }
    /// The number of the last transaction that this store object wrote to the history; nil if it has not written one.
    var lastOwnTransaction: Int64? { get }

    /// Whether opening the store created it.
    var isNew: Bool { get }

    /// Notifies the store that a coordinator added it. Called once, before observers are notified.
    func didAdd(to coordinator: Coordinator)
    /// Notifies the store that the coordinator is about to remove and close it; its rows can still be read and saved.
    func willRemove(from coordinator: Coordinator)

    /// Closes the file. Later reads and writes throw `Status.objectGone`.
    func close()
}

/// The optional features of a store.
package struct StoreAbilities: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The store computes derived attributes in a save.
    package static let derivedAttributes = StoreAbilities(rawValue: 1)
    /// The store enforces unique constraints.
    package static let uniqueConstraints = StoreAbilities(rawValue: 2)
    /// The store must be notified of saves without changes.
    ///
    /// Apple's framework sends this notification to custom incremental stores as well.
    package static let emptySaves = StoreAbilities(rawValue: 4)
    /// The store must be notified of the objects that contexts register.
    ///
    /// Apple's framework sends this notification to custom incremental stores as well.
    package static let registrations = StoreAbilities(rawValue: 8)
    /// The store supports query generations, unless it was opened with options that exclude them.
    package static let generations = StoreAbilities(rawValue: 16)
    /// Several threads can read the store at a time, each with its own reader, even during a save.
    package static let parallelReads = StoreAbilities(rawValue: 32)
    /// The store has all rows in memory, so that fetched rows need not be cached.
    package static let rowsInMemory = StoreAbilities(rawValue: 64)
    /// The store writes decimals that are not 64-bit integers as doubles.
    package static let decimalsAsDoubles = StoreAbilities(rawValue: 128)
}

/// The source of the model of an open store.
public enum ModelSource: UInt32, Sendable {
    /// The application passed the model.
    case given = 1
    /// The store contains the model.
    case cached = 2
    /// The model was inferred from the store's tables.
    ///
    /// Names are in lower case, and information that the tables do not contain is guessed.
    case inferred = 3
}

extension PersistentStore {
    package var abilities: StoreAbilities { [] }
    package var modelSource: ModelSource { .given }
    package var readOnlyReason: String? { nil }
    package var attributesReadAsNull: [Attribute] { [] }
    package var warnings: [String] { [] }
    package var keepsHistory: Bool { false }
    package func requireWritable(_ metadata: StoreMetadata) throws {}
    package var contentState: String? { nil }

    package func save(_ body: (any SaveTransaction) throws -> Void) throws { try save(by: SaveAuthor(), body) }

    package var needsSave: Bool { false }

    package func move(to path: String) throws {
        throw CoreError(
            .unsupported, code: .persistentStoreOperation,
            "cannot move \(Coordinator.shown(self.path)) to \(path): open stores of type \(type.rawValue) cannot be moved; migrate the "
                + "store with cst_coordinator_migrate_store (migrate_store, migrateStore)",
            file: self.path)
    }

    package func pinnedReader() throws -> (any StoreReading)? { nil }
    package func unpin(_ reader: any StoreReading) {}

    package func externalValue(named name: String) -> ExternalValue { .missing(file: name) }

    package func hasExternalValue(named name: String) -> Bool { false }

    package func takeComputedRows() -> [(entity: UInt32, primaryKey: Int64)] { [] }
    package var decidesVersions: Bool { false }
    package var references: ReferenceTable? { nil }
    package func obtainKeys(for rows: [NewRow]) throws -> [Int64]? { nil }
    package func noteEntity(_ entity: Entity, ofKey key: Int64) {}

    package func didAdd(to coordinator: Coordinator) {}
    package func willRemove(from coordinator: Coordinator) {}

    package func didRegister(_ ids: [ObjectID]) {}
    package func didUnregister(_ ids: [ObjectID]) {}
    package func cachePushedRows(in rows: any RowKeeping) {}
}

/// The cached rows of a store. Thread-safe.
package protocol RowKeeping: AnyObject, Sendable {
    /// The state of the cached rows. It must be read before rows are read from the store.
    var state: UInt64 { get }
    /// Adds rows of one entity tree, unless rows of the tree were saved or removed since `state`.
    func add(_ batch: RowBatch, root: Entity, asOf state: UInt64?)
}

/// The result of reading a backing file.
package enum ExternalValue {
    case bytes(Bytes)
    case missing(file: String)
    /// The file cannot be read.
    ///
    /// The fault names the file, and ends with a remedy; another remedy may follow after ", or".
    case unreadable(file: String, fault: String)

    /// Returns the value, or throws the error that `failure` returns for the file and a fault.
    ///
    /// The fault names the file and ends with a remedy.
    ///
    /// - Parameter remedy: The remedy for a file that does not exist.
    func bytes(
        whenMissing remedy: String = "restore it", _ failure: (_ file: String, _ fault: String) -> CoreError
    ) throws -> Bytes {
        switch self {
        case .bytes(let bytes): return bytes
        case .missing(let file):
            let fault = "the backing file \(file) does not exist; \(remedy)"
            throw failure(file, fault)
        case .unreadable(let file, let fault): throw failure(file, fault)
        }
    }

    /// The remedy for a missing backing file of an open store.
    static let folderRemedy = "restore the folder of backing files next to the store"
}

/// The author of a save, for a store with a history.
public struct SaveAuthor: Sendable {
    /// The transaction author of the context.
    public package(set) var author: String?
    public package(set) var contextName: String?

    public init(author: String? = nil, contextName: String? = nil) {
        self.author = author
        self.contextName = contextName
    }
}

/// One write transaction of a store.
package protocol SaveTransaction: AnyObject {
    /// Reserves primary keys within this transaction. Returns the first of `count` consecutive keys.
    func reservePrimaryKeys(of root: Entity, count: Int) throws -> Int64

    /// Returns a key for each new object; nil if keys must be reserved instead.
    func permanentKeys(for rows: [NewRow]) throws -> [Int64]?

    /// Writes a value to a backing file if it is large enough, and returns the file's name.
    ///
    /// Called for attributes that allow backing files. The record then contains the name. Returns nil if the record
    /// must contain the value.
    func externalName(for value: Bytes) throws -> String?

    /// Inserts rows of one entity. The records contain the primary key, the version, attributes and to-one targets.
    func insert(_ records: [Record], entity: Entity) throws

    /// Updates slots of rows of one entity if the stored version is still the old one.
    ///
    /// Returns the indexes in `rows` of the rows that do not match.
    func update(_ rows: [UpdatedRow], slots: [Int], entity: Entity) throws -> [Int]

    /// Deletes rows of one entity if the version still matches.
    ///
    /// Returns the indexes of the rows that do not match.
    func delete(_ rows: [(primaryKey: Int64, version: Int32)], entity: Entity) throws -> [Int]

    /// Whether a row exists in a version. Called for objects whose rows are not written.
    func isCurrent(_ primaryKey: Int64, version: Int32, entity: Entity) throws -> Bool

    /// Sets slots of a row to null, so that another row can use its unique values.
    ///
    /// A later `update` in this transaction sets the slots to values.
    func clear(_ slots: [Int], of primaryKey: Int64, entity: Entity) throws

    /// Adds and removes pairs of owner and member of a relationship.
    ///
    /// The relationship is many-to-many, or to-many without an inverse. Adding an existing pair and removing a missing
    /// pair are not errors.
    func link(_ relationship: Relationship, added: [Link], removed: [Link]) throws

    /// Writes the positions of the members of an ordered to-many relationship: all members of each owner, in order.
    func setOrder(_ relationship: Relationship, owners: [(owner: Int64, members: [Int64])]) throws

    /// Inserts rows of one entity directly from values, and adds them to `changes`.
    ///
    /// For a row that violates a unique constraint, the store or `resolve` applies `policy`; with the policy `error`,
    /// the violation is thrown. If `resolve` returns false, the row is inserted again. Returns false, without a change,
    /// if the store needs records.
    func insert(
        _ rows: BatchRows, _ policy: MergePolicyType, _ changes: inout ExternalChanges,
        resolving resolve: (inout ExternalChanges) throws -> Bool
    ) throws -> Bool

    /// Updates the rows of a fetch with one statement, and adds them to `changes`.
    ///
    /// Returns false, without a change, if the store does not support this.
    func update(_ fetch: StoreFetch, _ settings: [BatchSetting], _ changes: inout ExternalChanges) throws -> Bool

    /// Deletes the oldest transactions of the history before a number, up to the limit of one save.
    ///
    /// Returns nil for a store without history.
    func deleteHistory(before number: Int64) throws -> HistoryDeletionStep?

    /// Writes a consumer of the history, and replaces a consumer with the same name.
    func setHistoryConsumer(_ consumer: HistoryConsumer) throws

    /// Removes a consumer of the history. Returns false if it does not exist.
    func removeHistoryConsumer(_ name: String) throws -> Bool

    /// Adds an application's metadata to the metadata of this store.
    func setApplicationMetadata(_ values: [String: PropertyListValue]) throws

    /// Replaces the metadata.
    func setMetadata(_ metadata: StoreMetadata) throws
}

extension SaveTransaction {
    package func permanentKeys(for rows: [NewRow]) throws -> [Int64]? { nil }
    package func insert(
        _ rows: BatchRows, _ policy: MergePolicyType, _ changes: inout ExternalChanges,
        resolving resolve: (inout ExternalChanges) throws -> Bool
    ) throws -> Bool { false }
    package func update(
        _ fetch: StoreFetch, _ settings: [BatchSetting], _ changes: inout ExternalChanges
    ) throws -> Bool { false }
    package func externalName(for value: Bytes) throws -> String? { nil }
    package func setApplicationMetadata(_ values: [String: PropertyListValue]) throws {}
    package func setMetadata(_ metadata: StoreMetadata) throws {
        try setApplicationMetadata(metadata.applicationValues)
    }
    package func isCurrent(_ primaryKey: Int64, version: Int32, entity: Entity) throws -> Bool { true }
    package func clear(_ slots: [Int], of primaryKey: Int64, entity: Entity) throws {}
}

/// A row to be inserted, for a store that may choose the key by the row's values.
package struct NewRow {
    package let entity: Entity
    private let read: (Int) -> PropertyValue

    /// Creates a row for an unsaved object.
    init(_ object: ManagedObject) {
        entity = object.entity
        read = { slot in
            guard let overlay = object.overlay, overlay.isChanged(slot) else { return .null }
            return overlay[slot]
        }
    }

    /// Creates a row for a copy of another store's record. The record must outlive the new row.
    init(_ record: Record, _ entity: Entity) {
        self.entity = entity
        read = { record.view($0, entity.layout.slots[$0]).propertyValue }
    }

    /// Creates a row whose values are not known yet.
    init(_ entity: Entity) {
        self.entity = entity
        read = { _ in .null }
    }

    /// Returns the value of a stored attribute.
    package func value(_ slot: Int) -> PropertyValue { read(slot) }
}

/// A row to be updated.
package struct UpdatedRow {
    /// The new state, with the version to be written.
    package let record: Record
    /// The version that the stored row must still have.
    package let oldVersion: Int32
    /// The to-many relationships whose members changed, for a store with a history.
    ///
    /// They are not columns of the row.
    package let members: [Relationship]
    /// The written slots whose values do not change. The history of a store does not list them.
    package let equalSlots: [Int]

    package init(record: Record, oldVersion: Int32, members: [Relationship] = [], equalSlots: [Int] = []) {
        self.record = record
        self.oldVersion = oldVersion
        self.members = members
        self.equalSlots = equalSlots
    }
}

/// One pair of a to-many relationship, as primary keys: the object that has the relationship, and its member.
package struct Link {
    package let owner: Int64
    package let member: Int64

    package init(owner: Int64, member: Int64) {
        self.owner = owner
        self.member = member
    }
}

/// A store that can be opened read-only and become writable by a move.
package protocol WritableAfterMove: AnyObject {
    /// Sets whether the store is writable after the next move.
    ///
    /// The caller reverts the setting if the move fails.
    func setMayWrite(_ mayWrite: Bool)
}
