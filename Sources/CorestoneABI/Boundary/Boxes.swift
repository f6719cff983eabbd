import CCorestone
import CPlatform
import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// A coordinator, and the token of its model, which the box retains.
final class CoordinatorBox: Sendable {
    let coordinator: Coordinator
    let modelToken: HandleToken

    /// Creates a box, which takes ownership of one of the library's references to the model's token.
    init(_ coordinator: Coordinator, modelToken: HandleToken) {
        self.coordinator = coordinator
        self.modelToken = modelToken
    }

    deinit { HandleTable.release(modelToken) }
}

/// A store, and its texts as C strings.
final class StoreBox {
    let store: Store
    let type, identifier: Text
    /// The paths of the store so far, kept because views of them must stay valid.
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

/// An object ID that keeps its model alive, because its entity depends on the model.
final class ObjectIDBox: ValueObject, Sendable {
    let id: ObjectID
    private let model: Model
    /// The reference, kept so that views of it stay valid; nil until it is read, and for a temporary ID.
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

/// A predicate, and the models on which it depends.
final class PredicateBox {
    let predicate: Predicate
    /// The models of object IDs among its constants, kept alive.
    let models: [Model]

    init(_ predicate: Predicate, models: [Model]) {
        self.predicate = predicate
        self.models = models
    }

    func makeHandle() throws -> Handle? { try HandleTable.make(self, .predicate) }
}

/// An expression, and the models on which it depends.
final class ExpressionBox {
    let expression: Expression
    /// The models of object IDs among its constants, kept alive.
    let models: [Model]

    init(_ expression: Expression, models: [Model]) {
        self.expression = expression
        self.models = models
    }

    func makeHandle() throws -> Handle? { try HandleTable.make(self, .expression) }
}

/// A fetch request, and the predicates and expressions that it keeps alive.
final class FetchRequestBox {
    let request: FetchRequest
    var predicate: PredicateBox? {
        didSet { request.predicate = predicate?.predicate }
    }

    var having: PredicateBox? {
        didSet { request.havingPredicate = having?.predicate }
    }
    /// The expressions of the columns, which keep the models of their object IDs alive.
    var columns: [ExpressionBox] = []

    init(_ request: FetchRequest) { self.request = request }

    func copy() -> FetchRequestBox {
        let copy = FetchRequestBox(request.copy())
        (copy.predicate, copy.having, copy.columns) = (predicate, having, columns)
        return copy
    }
}

/// Rows of values, and the model on which object IDs among the values depend.
final class RowsBox {
    let rows: FetchedRows
    let names: [Text]
    private let model: Model
    /// The entity and the columns of the request that returned the rows.
    let entity: Entity?
    let requested: [FetchedColumn]
    /// The context that reads lazy rows; nil for other rows.
    private let box: ContextBox?

    init(_ rows: FetchedRows, model: Model, request: FetchRequest? = nil, box: ContextBox? = nil) {
        self.rows = rows
        self.box = rows.isLazy ? box : nil
        names = rows.columns.map { Text($0) }
        self.model = model
        (entity, requested) = (request?.entity, request?.propertiesToFetch ?? [])
    }

    /// Throws for lazy rows on a thread other than their context's queue. Must be called before values are read.
    func enter() throws { try box?.enter() }
}

/// A list of objects or of IDs, with a token for each object whose handle was borrowed.
final class ResultList {
    /// The box of the context, which is the owner of the list's handle; nil for a list without a context.
    ///
    /// The box is alive as long as the host has a handle of the list.
    let nearBox: Unmanaged<ContextBox>?
    /// The thread of a list without a context.
    private let creator: UInt64
    /// The objects of a list that is not lazy.
    let objects: [ManagedObject]
    /// The results and borrowed handles of a lazy list.
    let lazyHandles: LazyHandles?
    let ids: [ObjectID]
    /// The entity whose keys are valid for an empty list; nil for a list of several entities. The owner of the handle,
    /// which is the context or the model, keeps the entity alive.
    private let nearEntity: Unmanaged<Entity>?
    var entity: Entity? { nearEntity?.takeUnretainedValue() }
    /// The tokens by index; 0 for objects whose handle was not borrowed yet.
    private var tokens: UnsafeMutablePointer<HandleToken>?
    /// The elements of `objects`, which never changes. They are read for each row of a fetch without being retained.
    let references: UnsafePointer<Unmanaged<ManagedObject>>?
    /// The number of objects of a list that is not lazy. `ResultList+Lazy` implements lazy lists.
    let objectCount: Int
    /// The values that key paths computed, kept so that views of them stay valid.
    private(set) lazy var kept = ComputedValueCache()

    convenience init(_ results: Results, entity: Entity?, box: ContextBox?) {
        self.init(
            results.objects, lazyHandles: results.isLazy ? LazyHandles(results) : nil,
            entity: entity.map(Unmanaged.passUnretained),
            nearBox: box.map(Unmanaged.passUnretained))
    }

    convenience init(_ objects: [ManagedObject], ids: [ObjectID] = [], entity: Entity?, box: ContextBox?) {
        self.init(
            objects, ids: ids, entity: entity.map(Unmanaged.passUnretained), nearBox: box.map(Unmanaged.passUnretained))
    }

    init(
        _ objects: __owned [ManagedObject], lazyHandles: LazyHandles? = nil, ids: [ObjectID] = [],
        entity: Unmanaged<Entity>?, nearBox: Unmanaged<ContextBox>?
    ) {
        self.objects = objects
        self.lazyHandles = lazyHandles
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

    var count: Int { ids.isEmpty ? lazyHandles?.results.count ?? objectCount : ids.count }
    var results: Results { lazyHandles?.results ?? Results(objects) }

    func objectID(at index: Int) -> ObjectID {
        ids.isEmpty ? lazyHandles?.results.objectID(at: index) ?? objects[index].objectID : ids[index]
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
                "\(nameOfThread(platform_thread_id())) used results that belong to \(nameOfThread(creator)); "
                    + "use results and their objects on the thread that created them")
        }
    }

    /// Returns a list of the objects at some indices.
    func choosing(_ indices: [Int]) -> ResultList {
        ResultList(results.choosing(indices), entity: entity, box: box)
    }

    __consuming func makeHandle() throws -> Handle? {
        let owner = nearBox.map { $0.toOpaque() } ?? entity.map { Unmanaged.passUnretained($0.model).toOpaque() }
        return try HandleTable.make(.passRetained(self), .results, owner: owner, isOwnedByModel: nearBox == nil)
    }

    /// Returns a borrowed handle, which is valid until the list is freed.
    ///
    /// A lazy list releases the handle earlier, when many further handles were borrowed (`trimLazyHandles`).
    @inline(__always)
    func borrowedHandle(at index: Int) throws -> Handle? {
        if objectCount == 0 { return try lazyHandle(at: index) }
        let tokens = self.tokens ?? makeTokens()
        if tokens[index] == 0, let references {
            tokens[index] = try references[index]._withUnsafeGuaranteedRef { try innerToken($0, in: nearBox) }
        }
        return handle(tokens[index])
    }

    private func makeTokens() -> UnsafeMutablePointer<HandleToken> {
        let fresh = UnsafeMutablePointer<HandleToken>.allocate(capacity: objectCount)
        fresh.initialize(repeating: 0, count: objectCount)
        tokens = fresh
        return fresh
    }
}

/// The userdata of a callback, which is freed exactly once, after its last use.
///
/// Within a call of the interface, the userdata is freed when the thread's outermost call ends, because the last use
/// can be in the middle of a change.
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
