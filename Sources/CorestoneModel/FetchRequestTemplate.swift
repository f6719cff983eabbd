import CorestonePredicate

/// A fetch request as a model holds it: under a name of its own, or behind a fetched property.
public struct FetchRequestTemplate: Hashable, Sendable {
    /// What a fetch gives; Core Data's values.
    public enum ResultType: Int64, Sendable { case objects = 0, objectIDs = 1, dictionaries = 2, count = 4 }

    public var entityName: String
    /// Its `$variables` are bound when the request is used; nil is every object.
    public var predicate: PredicateText?
    public var sortDescriptors: [SortDescriptor] = []
    /// At most this many objects; 0 is all.
    public var limit = 0
    /// Leaves out this many at the beginning.
    public var offset = 0
    /// Rows that are read at a time; 0 is all.
    public var batchSize = 0
    public var resultType = ResultType.objects
    public var includesSubentities = true
    public var includesPropertyValues = true
    public var returnsObjectsAsFaults = true
    public var returnsDistinctResults = false
    public var relationshipKeyPathsForPrefetching: [String] = []

    public init(entityName: String, predicate: PredicateText? = nil) {
        self.entityName = entityName
        self.predicate = predicate
    }
}
