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
    /// Objects come as faults over rows already read.
    public var returnsObjectsAsFaults = true
    /// Relationships whose targets the fetch reads too, one query for each.
    public var relationshipKeyPathsForPrefetching: [String] = []

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
