import CorestoneModel
import CorestoneValues

/// Where rows live. Requests and batches of keys go down, records come up; nothing above a store knows how it keeps them.
///
/// One thread at a time uses a store, but for those that allow `parallelReads`: these are read by any number, each through its
/// context's reader, while at most one saves. Rows are named by primary key within the root of their entity's
/// inheritance tree; entities by their index in the model.
package protocol PersistentStore: StoreReading, Sendable {
    var type: StoreType { get }
    /// The UUID as text: the host of the store's object URIs.
    var identifier: String { get }
    var path: String { get }
    var modelSource: ModelSource { get }
    /// What a model may ask for; the coordinator takes no store that lacks what its model does.
    var abilities: StoreAbilities { get }
    var isReadOnly: Bool { get }
    /// Why, and what to do about it, as the end of a sentence; nil when it can be written, or for no special reason.
    var readOnlyReason: String? { get }

    /// Attributes of which a row had a value of another type, so far, that was read as null. Any thread.
    var attributesReadAsNull: [Attribute] { get }

    /// What the options asked for and this store does not do.
    var warnings: [String] { get }

    /// Reads a value that lies in a file of its own, whose name the row has. Any thread.
    func externalValue(named name: String) -> ExternalValue

    /// Whether there is a file of that name. Any thread.
    func hasExternalValue(named name: String) -> Bool

    /// Reserves primary keys that are never handed out again, in a transaction of its own. Returns the first of `count`.
    func reservePrimaryKeys(of root: Entity, count: Int) throws -> Int64

    /// What the keys of rows stand for, in stores that name rows otherwise; nil in others.
    var references: ReferenceTable? { get }

    /// Keys for new objects, one for each; nil where they are to be reserved. In a transaction of its own.
    func obtainKeys(for rows: [NewRow]) throws -> [Int64]?

    /// Somebody named a row of that entity; nobody knows whether there is one. Any thread.
    func noteEntity(_ entity: Entity, ofKey key: Int64)

    /// Runs `body` in one write transaction: committed when it returns, rolled back when it throws. `body` may read from the
    /// store, and finds what it wrote.
    func save(by author: SaveAuthor, _ body: (any SaveTransaction) throws -> Void) throws

    /// The rows whose values the store itself computed in the last save, such as those of derived attributes.
    func takeComputedRows() -> [(entity: UInt32, primaryKey: Int64)]

    /// Whether these are what the save made of its own rows, also where they have another version than was to be written.
    var decidesVersions: Bool { get }

    /// A context knows objects from now on, or no longer; for stores with that ability. A new object is known when its save is
    /// done. Called on the context's thread, which for an object that ends may be any; once for those that come or go together.
    func didRegister(_ ids: [ObjectID])
    func didUnregister(_ ids: [ObjectID])

    /// Where rows go that a store was given without having asked for them. Called once, before the store is used.
    func keepUnasked(in rows: any RowKeeping)

    /// A reader of the state that the store has now, whatever is saved later, for as long as somebody keeps it; nil when the
    /// store has no such readers.
    func pinnedReader() throws -> (any StoreReading)?

    /// Nobody needs the state of such a reader any more. Any thread.
    func unpin(_ reader: any StoreReading)

    /// What the store says about itself. Every store has its own: without the version hashes it would fit any model.
    func metadata() throws -> StoreMetadata

    /// Throws with the key where the store could not write that about itself.
    func requireWritable(_ metadata: StoreMetadata) throws

    /// Whether the next save is to reach the store even if it changes nothing.
    var wantsSave: Bool { get }

    /// Lies at `path` from now on. By whoever saves, while nobody reads if the store has no `parallelReads`.
    func move(to path: String) throws

    /// What is another text after anybody wrote into the store; nil when the store cannot say so, or not yet: somebody has
    /// just written, and what others read may still be what was there before. Any thread.
    var contentState: String? { get }

    /// Calls `tell`, on a thread of the watch's own, after others wrote into the store, until the watch is stopped, which it is
    /// before the store is closed. nil when the store cannot notice.
    func watch(_ tell: @escaping @Sendable (ForeignChanges) -> Void) throws -> (any StoreWatch)?

    /// Whether the coordinator is to post what its own contexts save.
    var postsOwnChanges: Bool { get }
    /// Whether what is saved is noted in a history.
    var keepsHistory: Bool { get }
    /// The number of the last transaction that the store wrote into its history; nil without one.
    var lastOwnTransaction: Int64? { get }

    /// Whether opening it made it, and nobody else.
    var isNew: Bool { get }

    /// Closes the file. Every later call throws `Status.objectGone`.
    func close()
}

/// What not every store can do.
package struct StoreAbilities: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Computes derived attributes as it saves.
    package static let derivedAttributes = StoreAbilities(rawValue: 1)
    /// Refuses rows whose values are those of another one, where the model says that they are unique.
    package static let uniqueConstraints = StoreAbilities(rawValue: 2)
    /// Wants to hear of a save also when nothing changed, as Apple's framework tells a custom incremental store.
    package static let emptySaves = StoreAbilities(rawValue: 4)
    /// Wants to hear which of its objects contexts know, as a custom incremental store of Apple's framework does.
    package static let registrations = StoreAbilities(rawValue: 8)
    /// Has readers of a state that stays, unless it was opened in a way that leaves no room for them.
    package static let generations = StoreAbilities(rawValue: 16)
    /// May be read by several threads at a time, through a reader for each, also while one saves.
    package static let parallelReads = StoreAbilities(rawValue: 32)
    /// Has all rows in memory, so that nobody has to keep what a fetch read.
    package static let rowsInMemory = StoreAbilities(rawValue: 64)
    /// Keeps decimals that are no integers of 64 bits as doubles.
    package static let decimalsAsDoubles = StoreAbilities(rawValue: 128)
}

/// Where the model of an open store comes from.
public enum ModelSource: UInt32, Sendable {
    /// From the host.
    case given = 1
    /// From the store, which carries it.
    case cached = 2
    /// From the store's tables: names are in lower case, and what the tables do not tell is a guess.
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

    package var wantsSave: Bool { false }

    package func move(to path: String) throws {
        throw CoreError(
            .unsupported, code: .persistentStoreOperation,
            "cannot move \(self.path) to \(path): open stores of type \(type.rawValue) cannot be moved; remove the store, "
                + "and add it again at the new path", file: self.path)
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

    package func didRegister(_ ids: [ObjectID]) {}
    package func didUnregister(_ ids: [ObjectID]) {}
    package func keepUnasked(in rows: any RowKeeping) {}
}

/// What a coordinator knows of a store's rows. Any thread.
package protocol RowKeeping: AnyObject, Sendable {
    /// To be asked before rows are read.
    var state: UInt64 { get }
    /// Takes in rows of one inheritance tree, unless others of it were saved or forgotten since that state.
    func add(_ batch: RowBatch, root: Entity, asOf state: UInt64?)
}

/// What a store finds where a value should lie in a file of its own.
package enum ExternalValue {
    case bytes(Bytes)
    case missing(file: String)
    /// The fault names the file, and ends with a remedy; another one may follow behind ", or".
    case unreadable(file: String, fault: String)

    /// The value. Otherwise throws what `failure` makes of the file and of a fault, which names the file and ends with a remedy.
    ///
    /// - Parameter remedy: for a file that does not exist.
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

    /// For a value that is read from the store itself.
    static let folderRemedy = "restore the folder of backing files next to the store"
}

/// Who saves, for a store that keeps a history.
public struct SaveAuthor: Sendable {
    public package(set) var author: String?
    public package(set) var contextName: String?

    public init(author: String? = nil, contextName: String? = nil) {
        self.author = author
        self.contextName = contextName
    }
}

/// One write transaction of a store.
package protocol SaveTransaction: AnyObject {
    /// Reserves primary keys within this transaction. Returns the first of `count`.
    func reservePrimaryKeys(of root: Entity, count: Int) throws -> Int64

    /// Keys for new objects, one for each; nil where they are to be reserved.
    func permanentKeys(for rows: [NewRow]) throws -> [Int64]?

    /// Puts a value of an attribute that allows it into a file of its own, if the store wants that. Returns the file's name,
    /// for the record that is to be written; nil for a value that belongs into the record itself.
    func externalName(for value: Bytes) throws -> String?

    /// Writes new rows of one entity; the records carry primary key, version 1, attributes and to-one targets.
    func insert(_ records: [Record], entity: Entity) throws

    /// Writes some slots of changed rows of one entity where the stored version is still the old one. Returns the places in
    /// `rows` of those that no longer match.
    func update(_ rows: [UpdatedRow], slots: [Int], entity: Entity) throws -> [Int]

    /// Deletes rows of one entity where the version still matches. Returns the places of those that no longer do.
    func delete(_ rows: [(primaryKey: Int64, version: Int32)], entity: Entity) throws -> [Int]

    /// Whether a row is there in that version; for objects that are not changed but locked.
    func isCurrent(_ primaryKey: Int64, version: Int32, entity: Entity) throws -> Bool

    /// Sets slots of a row to nothing that `update` sets to values later in this transaction: so that another row may take
    /// the unique values that it has.
    func clear(_ slots: [Int], of primaryKey: Int64, entity: Entity) throws

    /// Adds and removes pairs of a many-to-many relationship, or of a to-many relationship without inverse, seen from
    /// `relationship`. Removing what is not there and adding what is there already is no error.
    func link(_ relationship: Relationship, added: [Link], removed: [Link]) throws

    /// Writes the places of members of an ordered to-many relationship: all members of each owner, in order.
    func setOrder(_ relationship: Relationship, owners: [(owner: Int64, members: [Int64])]) throws

    /// Writes new rows of one entity straight from values, and notes them in `changes`. Of a row whose unique values are taken,
    /// `settle` does what `policy` says, unless that is `error`; false: the row is to be tried again. False, and nothing done,
    /// where the store wants records.
    func insert(
        _ rows: BatchRows, _ policy: MergePolicyType, _ changes: inout ForeignChanges,
        settling settle: (inout ForeignChanges) throws -> Bool
    ) throws -> Bool

    /// Changes the rows that a fetch would find, at once, and notes them in `changes`. False, and nothing done, where the store
    /// cannot.
    func update(_ fetch: StoreFetch, _ settings: [BatchSetting], _ changes: inout ForeignChanges) throws -> Bool

    /// Deletes the oldest transactions of the history before a number, as many as one save should; nil for a store without
    /// history.
    func deleteHistory(before number: Int64) throws -> HistoryDeletionStep?

    /// Writes a named reader of the history, in place of the one of that name.
    func setHistoryConsumer(_ consumer: HistoryConsumer) throws

    /// Removes a reader of the history; false if there is no such one.
    func removeHistoryConsumer(_ name: String) throws -> Bool

    /// Puts what an application writes into the metadata of its stores into that of this one.
    func setApplicationMetadata(_ values: [String: PropertyListValue]) throws

    /// Replaces what the store says about itself.
    func setMetadata(_ metadata: StoreMetadata) throws
}

extension SaveTransaction {
    package func permanentKeys(for rows: [NewRow]) throws -> [Int64]? { nil }
    package func insert(
        _ rows: BatchRows, _ policy: MergePolicyType, _ changes: inout ForeignChanges,
        settling settle: (inout ForeignChanges) throws -> Bool
    ) throws -> Bool { false }
    package func update(
        _ fetch: StoreFetch, _ settings: [BatchSetting], _ changes: inout ForeignChanges
    ) throws -> Bool { false }
    package func externalName(for value: Bytes) throws -> String? { nil }
    package func setApplicationMetadata(_ values: [String: PropertyListValue]) throws {}
    package func setMetadata(_ metadata: StoreMetadata) throws {
        try setApplicationMetadata(metadata.applicationValues)
    }
    package func isCurrent(_ primaryKey: Int64, version: Int32, entity: Entity) throws -> Bool { true }
    package func clear(_ slots: [Int], of primaryKey: Int64, entity: Entity) throws {}
}

/// A row that is to be, for a store that may choose its key by what it has.
package struct NewRow {
    package let entity: Entity
    private let read: (Int) -> PropertyValue

    /// An object that was not saved yet.
    init(_ object: ManagedObject) {
        entity = object.entity
        read = { slot in
            guard let overlay = object.overlay, overlay.isChanged(slot) else { return .null }
            return overlay[slot]
        }
    }

    /// A copy of a row of another store, which is used while the row is there.
    init(_ record: Record, _ entity: Entity) {
        self.entity = entity
        read = { record.view($0, entity.layout.slots[$0]).propertyValue }
    }

    /// A row of which nothing is known yet.
    init(_ entity: Entity) {
        self.entity = entity
        read = { _ in .null }
    }

    /// The value of an attribute that is stored.
    package func value(_ slot: Int) -> PropertyValue { read(slot) }
}

/// A row to be changed.
package struct UpdatedRow {
    /// The new state, with the version that is to be written.
    package let record: Record
    /// The version that must still be there.
    package let oldVersion: Int32
    /// To-many relationships whose members changed, for a store that keeps a history; they have no column in the row.
    package let members: [Relationship]
    /// Slots among the written ones that keep their value, for a store that keeps a history, which does not name them.
    package let equalSlots: [Int]

    package init(record: Record, oldVersion: Int32, members: [Relationship] = [], equalSlots: [Int] = []) {
        self.record = record
        self.oldVersion = oldVersion
        self.members = members
        self.equalSlots = equalSlots
    }
}

/// One pair of a to-many relationship: the object that has the relationship, and its member.
package struct Link {
    package let owner: Int64
    package let member: Int64

    package init(owner: Int64, member: Int64) {
        self.owner = owner
        self.member = member
    }
}

/// A store that may be opened read-only, and be written where it is moved to.
package protocol WritableElsewhere: AnyObject {
    /// Holds from the next move on. By whoever moves it, who takes it back when that fails.
    func setMayWrite(_ mayWrite: Bool)
}
