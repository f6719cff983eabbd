import CorestoneModel
import CorestonePredicate

/// What to fetch: an entity, a predicate, an order, a window.
///
/// Changed by one thread at a time; a context reads it during the call only.
public final class FetchRequest: @unchecked Sendable {
    public let entity: Entity
    /// nil: every object.
    public var predicate: Predicate?
    /// Without any, the order is that of the store.
    public var sortDescriptors: [SortDescriptor] = []
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
    /// Relationships whose targets the fetch reads too, one query for each.
    public var relationshipKeyPathsForPrefetching: [String] = []

    /// The columns of `Context.fetchDictionaries`, in order; without any, every attribute that is stored.
    public var propertiesToFetch: [FetchedColumn] = []
    /// Key paths, or names of columns, whose equal values make one dictionary of many rows.
    public var propertiesToGroupBy: [String] = []
    /// Which groups to give; it may name columns, and what is grouped by, and call functions over the rows of a group.
    public var havingPredicate: Predicate?
    /// Of equal dictionaries only the first.
    public var returnsDistinctResults = false

    /// Two meanings of nil in predicates; the values of `CST_NULLS_…`.
    public enum NullMeaning: UInt32, Sendable {
        /// `name != 'x'` holds without a name, as in memory.
        case memory
        /// As in SQL, and so in Apple's SQLite store: no comparison holds, nor does its negation, but with a constant nil.
        case database
    }

    /// What the template asked for of which the request was made: a fetch gives objects, so it refuses another kind, which
    /// `fetchIDs` and `count` give.
    public var resultType = FetchRequestTemplate.ResultType.objects
    /// How many objects a cursor reads at a time when it is not told; 0 is its own number.
    public var batchSize = 0

    public init(entity: Entity) { self.entity = entity }

    public init(
        entity: Entity, predicate: Predicate?, sortDescriptors: [SortDescriptor] = [], limit: Int = 0, offset: Int = 0
    ) {
        self.entity = entity
        self.predicate = predicate
        self.sortDescriptors = sortDescriptors
        self.limit = limit
        self.offset = offset
    }
}

extension FetchRequest {
    /// The predicate with the meaning that it has in memory.
    var effectivePredicate: Predicate? {
        nulls == .database ? predicate?.withDatabaseNulls : predicate
    }
}
