import CorestonePredicate

/// A fetch request in a model: a named template, or the request of a fetched property.
public struct FetchRequestTemplate: Hashable, Sendable {
    /// The type of the results, with Core Data's values.
    public enum ResultType: Int64, Sendable { case objects = 0, objectIDs = 1, dictionaries = 2, count = 4 }

    public var entityName: String
    /// The predicate; nil for all objects. Its `$variables` are bound when the request is used.
    public var predicate: PredicateText?
    public var sortDescriptors: [SortDescriptor] = []
    /// The maximum number of objects; 0 for no limit.
    public var limit = 0
    /// The number of objects that are skipped at the beginning.
    public var offset = 0
    /// The number of rows that are read in one batch; 0 for all.
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
