import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// What to fetch: an entity, a predicate, an order, a window.
///
/// Changed by one thread at a time; a context reads it during the call only. One that has a name instead of an entity is
/// changed by its first use, which looks the entity up.
public final class FetchRequest: PersistentStoreRequest, @unchecked Sendable {
    public typealias ResultType = FetchRequestTemplate.ResultType

    /// nil before a context has looked the name up.
    public var entity: Entity! {
        get { found }
        set { (found, model, name) = (newValue, newValue?.model, nil) }
    }
    /// Looked up in the model of the context that carries the request out, when it does. nil without an entity.
    public var entityName: String? {
        get { name ?? found?.name }
        set { (found, model, name) = (nil, nil, newValue) }
    }
    private var found: Entity?
    /// On which the entity depends.
    private var model: Model?
    /// Of a request that was made by name.
    private var name: String?
    /// nil: every object.
    public var predicate: Predicate?
    /// Without any, the order is that of the store.
    public var sortDescriptors: [SortDescriptor] = [] { didSet { isOrderGiven = true } }
    /// Whether sort descriptors were set, were it to none.
    private(set) var isOrderGiven = false
    /// At most this many objects; 0 is all.
    public var limit = 0
    /// Leaves out this many at the beginning.
    public var offset = 0
    /// Objects of entities that inherit from `entity` too.
    public var includesSubentities = true
    /// Changes that were not saved count.
    public var includesPendingChanges = true
    /// What a comparison with nil says.
    public var nulls = NullMeaning.memory
    /// What the store cannot express of predicate and order is done in memory; else it is an error that names it.
    public var allowsSplit = true
    /// Objects come as faults over rows already read.
    public var returnsObjectsAsFaults = true
    /// Rows come along. Without them objects are faults that know their IDs, and no row is kept for later.
    public var includesPropertyValues = true
    /// Objects without changes that are no faults take the values that the fetch finds, too.
    public var shouldRefreshRefetchedObjects = false
    /// Relationships whose targets the fetch reads too, one query for each.
    public var relationshipKeyPathsForPrefetching: [String] = []

    /// The columns of dictionaries, in order; without any, every attribute that is stored. Objects come with the values of these
    /// properties alone, and with all others when another one is asked for; without any, with all at once.
    public var propertiesToFetch: [FetchedColumn] = []
    /// Key paths, or names of columns, whose equal values make one dictionary of many rows.
    public var propertiesToGroupBy: [String] = []
    /// Which groups to give; it may name columns, and what is grouped by, as variables (`$total`) or key paths, and call functions
    /// over the rows of a group.
    public var havingPredicate: Predicate?
    /// Of equal dictionaries only the first.
    public var returnsDistinctResults = false
    /// Columns are computed from objects even where the store could compute them: slower, and the same; to compare.
    public var computesRowsInMemory = false

    /// Two meanings of nil in predicates; the values of `CST_NULLS_…`.
    public enum NullMeaning: UInt32, Sendable {
        /// `name != 'x'` holds without a name, as in memory.
        case memory
        /// As in SQL, and so in Apple's SQLite store: no comparison holds, nor does its negation, but with a constant nil.
        case database
    }

    /// What `Context.execute` gives. `fetch` gives objects alone, and refuses a request for something else.
    public var resultType = ResultType.objects
    /// How many objects, or dictionaries that have a column with the object's ID, `Context.execute` reads at a time, when one of them
    /// is asked for; 0 reads all at once. A cursor reads as many when it is not told.
    public var batchSize = 0

    /// A request that needs an entity yet, or the name of one.
    public override init() { super.init() }

    public init(entity: Entity) {
        (found, model) = (entity, entity.model)
        super.init()
    }

    /// A request for objects of an entity that is looked up when the request is used.
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
    /// A request of its own that asks for the same.
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

    /// Sees to it that the entity is one of the model that the request is used with.
    /// - Throws: `.invalidArgument` for a request without an entity, with one of another model, and with a name that the model
    ///   does not have.
    package func resolve(in model: Model) throws {
        if let found, found.model === model, !found.isRemoved { return }
        if let name {
            (found, self.model) = (try model.requireEntity(named: name), model)
        } else if let found {
            throw CoreError(
                .invalidArgument,
                "\(found.name) does not belong to the model with which the request is used; set an entity of that model",
                entity: found.name)
        } else {
            throw CoreError(.invalidArgument, "the fetch request has no entity; set an entity or an entity name")
        }
    }
}

extension FetchRequest {
    /// The predicate with the meaning that it has in memory.
    var effectivePredicate: Predicate? {
        nulls == .database ? predicate?.withDatabaseNulls : predicate
    }

    /// The same for groups, whose columns may be named by variables, `$total > 5`, as Core Data has it, or by key paths.
    func effectiveHaving(_ columns: Set<String>) -> Predicate? {
        let named = havingPredicate?.mapExpressions { $0.named(columns) }
        return nulls == .database ? named?.withDatabaseNulls : named
    }
}

extension Expression {
    /// The key path that a variable with the name of a column stands for. A subquery's own variable is none.
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
