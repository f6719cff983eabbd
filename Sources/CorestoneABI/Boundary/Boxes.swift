import CCorestone
import CPlatform
import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// A coordinator, and the token of its model that it keeps for hosts.
final class CoordinatorBox: Sendable {
    let coordinator: Coordinator
    let modelToken: Token

    /// Takes over a reference of the library's to the model's token.
    init(_ coordinator: Coordinator, modelToken: Token) {
        self.coordinator = coordinator
        self.modelToken = modelToken
    }

    deinit { HandleTable.release(modelToken) }
}

final class StoreBox {
    let store: Store
    let type, identifier: Text
    /// Every path that the store had since, as views of them stay valid.
    private let paths: Locked<[(path: String, text: Text)]>
    let readOnlyReason, configuration: Text?
    let warnings: [Text]

    init(_ store: Store) {
        self.store = store
        type = Text(store.type.rawValue)
        identifier = Text(store.identifier)
        paths = Locked([(store.path, Text(store.path))])
        readOnlyReason = store.readOnlyReason.map { Text($0) }
        configuration = store.configuration.map { Text($0) }
        warnings = store.warnings.map { Text($0) }
    }

    var path: Text {
        let path = store.path
        return paths.withLock { paths in
            if let known = paths.last(where: { $0.path == path }) { return known.text }
            paths.append((path, Text(path)))
            return paths[paths.count - 1].text
        }
    }
}

/// An object ID that keeps its model, on which its entity depends.
final class ObjectIDBox: ValueObject, Sendable {
    let id: ObjectID
    private let model: Model
    /// Kept, so that a view of it stays valid. nil for a temporary ID.
    private let keptReference = Locked<PropertyValue?>(nil)

    init(_ id: ObjectID) {
        self.id = id
        model = id.entity.model
    }

    var reference: PropertyValue? {
        if let known = keptReference.withLock({ $0 }) { return known }
        let found = id.storeReference?.value
        return keptReference.withLock { kept in
            if kept == nil { kept = found }
            return kept
        }
    }

    func isEqual(to other: any ValueObject) -> Bool { (other as? ObjectIDBox)?.id == id }
    func hashIdentity(into hasher: inout Hasher) { hasher.combine(id) }
    var valueDescription: String { id.uri }
}

final class PredicateBox {
    let predicate: Predicate
    /// Of the object IDs among its constants.
    let models: [Model]

    init(_ predicate: Predicate, models: [Model]) {
        self.predicate = predicate
        self.models = models
    }

    func makeHandle() throws -> Handle? { try HandleTable.make(self, .predicate) }
}

final class ExpressionBox {
    let expression: Expression
    /// Of the object IDs among its constants.
    let models: [Model]

    init(_ expression: Expression, models: [Model]) {
        self.expression = expression
        self.models = models
    }

    func makeHandle() throws -> Handle? { try HandleTable.make(self, .expression) }
}

final class FetchRequestBox {
    let request: FetchRequest
    var predicate: PredicateBox? {
        didSet { request.predicate = predicate?.predicate }
    }

    var having: PredicateBox? {
        didSet { request.havingPredicate = having?.predicate }
    }
    /// Keeps the models of object IDs in expressions.
    var columns: [ExpressionBox] = []

    init(_ request: FetchRequest) { self.request = request }

    func copy() -> FetchRequestBox {
        let copy = FetchRequestBox(request.copy())
        (copy.predicate, copy.having, copy.columns) = (predicate, having, columns)
        return copy
    }
}

/// Rows of values. The model is kept for the object IDs among them.
final class RowsBox {
    let rows: FetchedRows
    let names: [Text]
    private let model: Model
    /// What gave the rows: the entity and the columns of the request.
    let entity: Entity?
    let requested: [FetchedColumn]
    /// Of lazy rows, whose context reads them.
    private let box: ContextBox?

    init(_ rows: FetchedRows, model: Model, request: FetchRequest? = nil, box: ContextBox? = nil) {
        self.rows = rows
        self.box = rows.isLazy ? box : nil
        names = rows.columns.map { Text($0) }
        self.model = model
        (entity, requested) = (request?.entity, request?.propertiesToFetch ?? [])
    }

    /// Before values are asked for: lazy rows are read on the queue of their context.
    func enter() throws { try box?.enter() }
}

/// A list of objects or of IDs, with a token for each object that was handed out.
final class ResultList {
    /// Alive as long as the host holds the list: the box is the owner of the list's handle. nil for members of an object
    /// outside every context.
    let nearBox: Unmanaged<ContextBox>?
    /// The thread of a list without a context.
    private let creator: UInt64
    /// Of a list that is not lazy.
    let objects: [ManagedObject]
    /// Of one that is: what it reads, and what it lends.
    let loans: Loans?
    let ids: [ObjectID]
    /// What a key stands for when the list is empty; nil for lists of several entities. Alive like the box, through which, or
    /// instead of which, the owner of the handle keeps its model.
    private let nearEntity: Unmanaged<Entity>?
    var entity: Entity? { nearEntity?.takeUnretainedValue() }
    /// By index, 0 where none was handed out yet.
    private var tokens: UnsafeMutablePointer<Token>?
    /// The elements of `objects`, which never changes: read for each row of a fetch without a reference.
    let references: UnsafePointer<Unmanaged<ManagedObject>>?
    /// Of a list that is not lazy, the others being looked after in `ResultList+Lazy`.
    let objectCount: Int
    /// Values that key paths computed, kept so that views of them stay valid.
    private(set) lazy var kept = KeptValues()

    convenience init(_ results: Results, entity: Entity?, box: ContextBox?) {
        self.init(
            results.objects, loans: results.isLazy ? Loans(results) : nil, entity: entity.map(Unmanaged.passUnretained),
            nearBox: box.map(Unmanaged.passUnretained))
    }

    convenience init(_ objects: [ManagedObject], ids: [ObjectID] = [], entity: Entity?, box: ContextBox?) {
        self.init(
            objects, ids: ids, entity: entity.map(Unmanaged.passUnretained), nearBox: box.map(Unmanaged.passUnretained))
    }

    init(
        _ objects: __owned [ManagedObject], loans: Loans? = nil, ids: [ObjectID] = [],
        entity: Unmanaged<Entity>?, nearBox: Unmanaged<ContextBox>?
    ) {
        self.objects = objects
        self.loans = loans
        self.ids = ids
        nearEntity = entity
        self.nearBox = nearBox
        creator = nearBox == nil ? platform_thread_id() : 0
        references = objects.withUnsafeBufferPointer {
            UnsafeRawPointer($0.baseAddress)?.assumingMemoryBound(to: Unmanaged<ManagedObject>.self)
        }
        objectCount = objects.count
    }

    deinit {
        guard let tokens else { return }
        for place in 0..<objectCount where tokens[place] != 0 { HandleTable.release(tokens[place]) }
        tokens.deallocate()
    }

    var count: Int { ids.isEmpty ? loans?.results.count ?? objectCount : ids.count }
    var results: Results { loans?.results ?? Results(objects) }

    func objectID(at index: Int) -> ObjectID {
        ids.isEmpty ? loans?.results.objectID(at: index) ?? objects[index].objectID : ids[index]
    }

    /// Throws unless the calling thread may use the list's objects now.
    @inline(__always)
    func checkQueue() throws {
        if let nearBox, nearBox._withUnsafeGuaranteedRef({ $0.isOnQueue }) { return }
        try refuseThread()
    }

    private var box: ContextBox? { nearBox?.takeUnretainedValue() }

    private func refuseThread() throws {
        if let box { try box.context.checkQueue() } else { try checkCreator() }
    }

    private func checkCreator() throws {
        if platform_is_forked() { throw Context.forked() }
        guard creator == platform_thread_id() else {
            throw CoreError(
                .wrongThread,
                "\(nameOfThread(platform_thread_id())) used a list of objects that belongs to \(nameOfThread(creator)); "
                    + "use the list and its objects on the thread that created them")
        }
    }

    /// A list of some of its objects, by their indices.
    func choosing(_ indices: [Int]) -> ResultList {
        ResultList(results.choosing(indices), entity: entity, box: box)
    }

    __consuming func makeHandle() throws -> Handle? {
        let owner = nearBox.map { $0.toOpaque() } ?? entity.map { Unmanaged.passUnretained($0.model).toOpaque() }
        return try HandleTable.make(.passRetained(self), .results, owner: owner, isLoose: nearBox == nil)
    }

    /// A handle that the list keeps until its end.
    @inline(__always)
    func lend(at index: Int) throws -> Handle? {
        if objectCount == 0 { return try lendLazily(at: index) }
        let tokens = self.tokens ?? makeTokens()
        if tokens[index] == 0, let references {
            tokens[index] = try references[index]._withUnsafeGuaranteedRef { try innerToken($0, in: nearBox) }
        }
        return handle(tokens[index])
    }

    private func makeTokens() -> UnsafeMutablePointer<Token> {
        let fresh = UnsafeMutablePointer<Token>.allocate(capacity: objectCount)
        fresh.initialize(repeating: 0, count: objectCount)
        tokens = fresh
        return fresh
    }
}

/// What a host hung on a callback: freed exactly once, when the last that needs it lets go. Within a call, at its end: the last
/// that needs it may let go between two halves of a change.
final class Userdata: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer?
    private let destroy: cst_destroy_fn?

    init(_ pointer: UnsafeMutableRawPointer?, _ destroy: cst_destroy_fn?) {
        self.pointer = pointer
        self.destroy = destroy
    }

    deinit {
        guard let destroy else { return }
        platform_call_defer(
            { destroy, pointer, _ in
                let destroy = unsafeBitCast(UInt(destroy), to: cst_destroy_fn.self)
                destroy(UnsafeMutableRawPointer(bitPattern: UInt(pointer)))
            }, UInt64(UInt(bitPattern: unsafeBitCast(destroy, to: UnsafeRawPointer.self))),
            UInt64(UInt(bitPattern: pointer)), 0)
    }
}
