import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// A description of the objects to be fetched: an entity, a predicate, sort descriptors, limit and offset.
///
/// A request must be changed by one thread at a time. A context reads the request only during the call to which it is
/// passed. The first use of a request with an entity name changes the request, because the entity is looked up.
public final class FetchRequest: PersistentStoreRequest, @unchecked Sendable {
    public typealias ResultType = FetchRequestTemplate.ResultType

    /// The entity; nil before a context has looked up `entityName`.
    public var entity: Entity! {
        get { found }
        set { (found, model, name) = (newValue, newValue?.model, nil) }
    }
    /// The name of the entity, in the model of the context that executes the request.
    ///
    /// Nil if neither an entity nor a name was set.
    public var entityName: String? {
        get { name ?? found?.name }
        set { (found, model, name) = (nil, nil, newValue) }
    }
    private var found: Entity?
    /// The model, which retains the entity.
    private var model: Model?
    /// The name that was set instead of an entity.
    private var name: String?
    /// The predicate; nil selects every object.
    public var predicate: Predicate?
    /// The sort descriptors. If empty, the order is that of the store.
    ///
    /// In a request for dictionaries, a sort descriptor can also name a computed column.
    public var sortDescriptors: [SortDescriptor] = [] { didSet { isOrderGiven = true } }
    /// Whether sort descriptors were set, even to an empty list.
    private(set) var isOrderGiven = false
    /// The maximum number of objects; 0 for all.
    public var limit = 0
    /// The number of objects to skip at the beginning.
    public var offset = 0
    /// Whether objects of subentities are included.
    public var includesSubentities = true
    /// Whether unsaved changes are included.
    public var includesPendingChanges = true
    /// The meaning of comparisons with nil.
    public var nulls = NullMeaning.memory
    /// Whether the parts of the predicate and order that the store does not support are evaluated in memory.
    ///
    /// If false, a request with such parts fails.
    public var allowsSplit = true
    /// Whether objects that were not registered before are returned as faults.
    ///
    /// The rows of these faults are already loaded, unless `includesPropertyValues` is false. If this property is
    /// false, the fetch loads all objects that it returns.
    public var returnsObjectsAsFaults = true
    /// Whether rows are loaded.
    ///
    /// If false, objects that were not registered before are faults without rows, unless the store or another setting
    /// requires rows.
    public var includesPropertyValues = true
    /// Whether registered objects without changes are updated with the fetched values.
    public var shouldRefreshRefetchedObjects = false
    /// The key paths of relationships whose targets are loaded together with the objects.
    public var relationshipKeyPathsForPrefetching: [String] = []

    /// The columns of dictionaries, in order; if empty, every stored attribute.
    ///
    /// For objects, the properties whose values are loaded; all others are loaded when one of them is read. If empty,
    /// all values are loaded with the object.
    public var propertiesToFetch: [FetchedColumn] = []
    /// The key paths or column names to group by. Rows with equal values become one dictionary.
    public var propertiesToGroupBy: [String] = []
    /// The predicate for groups.
    ///
    /// It can use columns and grouping properties as variables (`$total`) or key paths, and aggregate functions over
    /// the rows of a group.
    public var havingPredicate: Predicate?
    /// Whether duplicate dictionaries are removed.
    public var returnsDistinctResults = false
    /// Whether columns are computed in memory even if the store can compute them.
    ///
    /// This is slower and has the same result, with which the store's result can be compared.
    public var computesRowsInMemory = false

    /// The meanings of nil in predicates. The raw values are those of `CST_NULLS_…`.
    public enum NullMeaning: UInt32, Sendable {
        /// The meaning in the in-memory evaluator: `name != 'x'` is true if the name is nil.
        case memory
        /// The meaning in SQL and Apple's SQLite store: a comparison with a nil value and its negation are both false.
        ///
        /// Comparisons with a constant nil are exempt.
        case database
    }

    /// The type of the result of `Context.execute`. `fetch` returns only objects and rejects other types.
    public var resultType = ResultType.objects
    /// The number of objects that `Context.execute` reads at a time, on demand; 0 reads all objects immediately.
    ///
    /// It also applies to dictionaries with a column for the object ID, and is the default batch size of a cursor.
    public var batchSize = 0

    /// Creates a request whose entity or entity name must be set before its use.
    public override init() { super.init() }

    public init(entity: Entity) {
        (found, model) = (entity, entity.model)
        super.init()
    }

    /// Creates a request whose entity is looked up when the request is used.
    public init(entityName: String) {
        name = entityName
        super.init()
    }

    public convenience init(
        entity: Entity, predicate: Predicate?, sortDescriptors: [SortDescriptor] = [], limit: Int = 0, offset: Int = 0
    ) {
        self.init(entity: entity)
        self.predicate = predicate
        self.sortDescriptors = sortDescriptors
        isOrderGiven = !sortDescriptors.isEmpty
        self.limit = limit
        self.offset = offset
    }

    public override var requestType: UInt32 { RequestType.fetch.rawValue }

    override func perform(in context: Context) throws -> RequestResult {
        switch resultType {
        case .objects: .objects(try context.results(of: self))
        case .objectIDs: .objectIDs(try context.fetchIDs(self))
        case .dictionaries: .dictionaries(try context.fetchDictionaries(self))
        case .count: .count(try context.count(self))
        }
    }
}

extension FetchRequest {
    /// Returns an independent copy of the request.
    public func copy() -> FetchRequest {
        let copy = FetchRequest()
        (copy.found, copy.model, copy.name) = (found, model, name)
        copy.affectedStores = affectedStores
        copy.predicate = predicate
        copy.sortDescriptors = sortDescriptors
        (copy.limit, copy.offset, copy.batchSize) = (limit, offset, batchSize)
        copy.resultType = resultType
        copy.includesSubentities = includesSubentities
        copy.includesPendingChanges = includesPendingChanges
        copy.includesPropertyValues = includesPropertyValues
        copy.returnsObjectsAsFaults = returnsObjectsAsFaults
        copy.shouldRefreshRefetchedObjects = shouldRefreshRefetchedObjects
        copy.relationshipKeyPathsForPrefetching = relationshipKeyPathsForPrefetching
        copy.propertiesToFetch = propertiesToFetch
        copy.propertiesToGroupBy = propertiesToGroupBy
        copy.havingPredicate = havingPredicate
        copy.returnsDistinctResults = returnsDistinctResults
        copy.computesRowsInMemory = computesRowsInMemory
        (copy.nulls, copy.allowsSplit) = (nulls, allowsSplit)
        copy.isOrderGiven = isOrderGiven
        return copy
    }

    /// Looks up the entity by name if necessary, and checks that it belongs to the model.
    ///
    /// - Throws: `.invalidArgument` for a request without an entity or with one of another model, and if the model does
    ///   not have the named entity.
    package func resolve(in model: Model) throws {
        if let found, found.model === model, !found.isRemoved { return }
        if let name {
            (found, self.model) = (try model.requireEntity(named: name), model)
        } else if let found {
            throw CoreError(
                .invalidArgument,
                "\(found.name) does not belong to the model with which the request is used; set the name of an "
                    + "entity of that model with cst_fetch_request_set_entity_name (entity_name, entityName)",
                entity: found.name, key: "entity")
        } else {
            throw CoreError(
                .invalidArgument,
                "the fetch request does not have an entity; set the name of one with cst_fetch_request_set_entity_name "
                    + "(entity_name, entityName)", key: "entity")
        }
    }
}

extension FetchRequest {
    /// The predicate, rewritten so that comparisons with nil have the meaning of `nulls`.
    var effectivePredicate: Predicate? {
        nulls == .database ? predicate?.withDatabaseNulls : predicate
    }

    /// Returns the having predicate, rewritten like `effectivePredicate`.
    ///
    /// Columns can be variables, as in `$total > 5` (Core Data's form), or key paths.
    func effectiveHaving(_ columns: Set<String>) -> Predicate? {
        let named = havingPredicate?.mapExpressions { $0.named(columns) }
        return nulls == .database ? named?.withDatabaseNulls : named
    }
}

extension Expression {
    /// Returns the key path for a variable that has the name of a column, except for a subquery's own variable.
    fileprivate func named(_ columns: Set<String>) -> Expression? {
        switch self {
        case .variable(let name) where columns.contains(name): .key(name)
        case .subquery(let collection, let name, let condition) where columns.contains(name):
            .subquery(
                collection.mapped { $0.named(columns) }, variable: name,
                condition.mapExpressions { $0.named(columns.subtracting([name])) })
        default: nil
        }
    }
}
