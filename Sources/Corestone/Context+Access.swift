import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension Context {
    /// Inserts an object and sets values. If a value is rejected, deletes the object and throws the error.
    @discardableResult
    public func insert(
        _ entityName: String, _ values: KeyValuePairs<String, any PropertyConvertible>
    ) throws -> ManagedObject {
        let object = try insert(entityName)
        do { try object.set(values) } catch {
            try delete(object)
            throw error
        }
        return object
    }

    /// Fetches objects of an entity.
    ///
    /// `format` is a predicate whose % conversions use `arguments` in order. A sort key that begins with "-" sorts
    /// descending.
    ///
    ///     try context.fetch("Employee", "age > %d AND department.name == %@", 40, "R&D", sort: ["-salary"], limit: 50)
    public func fetch(
        _ entityName: String, _ format: String? = nil, _ arguments: any PropertyConvertible..., sort: [String] = [],
        limit: Int = 0, offset: Int = 0
    ) throws -> [ManagedObject] {
        try fetch(request(entityName, format, arguments, sort: sort, limit: limit, offset: offset))
    }

    /// Fetches columns for Arrow, one per key path; without key paths, one per stored attribute.
    ///
    ///     try context.fetchArrow("Employee", "age > %d", 40, keyPaths: ["name", "department.name"])
    public func fetchArrow(
        _ entityName: String, _ format: String? = nil, _ arguments: any PropertyConvertible..., keyPaths: [String] = [],
        sort: [String] = [], limit: Int = 0, offset: Int = 0, options: ArrowOptions = ArrowOptions()
    ) throws -> ArrowStream {
        let request = try request(entityName, format, arguments, sort: sort, limit: limit, offset: offset)
        return try fetchArrow(request, keyPaths: keyPaths, options: options)
    }

    /// Inserts an object of an entity for each row of an Arrow stream; see `insertArrow(_:from:options:)`.
    @discardableResult
    public func insertArrow(
        _ entityName: String, from place: UnsafeMutableRawPointer, options: ArrowImportOptions = ArrowImportOptions()
    ) throws -> Int {
        try insertArrow(coordinator.model.requireEntity(named: entityName), from: place, options: options)
    }

    /// Updates or inserts an object of an entity for each row of an Arrow stream; see `upsertArrow(_:from:options:)`.
    @discardableResult
    public func upsertArrow(
        _ entityName: String, from place: UnsafeMutableRawPointer, options: ArrowImportOptions = ArrowImportOptions()
    ) throws -> ArrowImportResult {
        try upsertArrow(coordinator.model.requireEntity(named: entityName), from: place, options: options)
    }

    /// Returns the number of objects of an entity that satisfy a predicate; of all objects if `format` is nil.
    public func count(
        _ entityName: String, _ format: String? = nil, _ arguments: any PropertyConvertible...
    ) throws -> Int { try count(request(entityName, format, arguments)) }

    func request(
        _ entityName: String, _ format: String?, _ arguments: [any PropertyConvertible], sort: [String] = [],
        limit: Int = 0,
        offset: Int = 0
    ) throws -> FetchRequest {
        let request = FetchRequest(entity: try coordinator.model.requireEntity(named: entityName))
        request.predicate = try format.map { try Predicate.parse($0, arguments: arguments.map(\.propertyValue)) }
        request.sortDescriptors = sort.map { SortDescriptor($0) }
        request.limit = limit
        request.offset = offset
        return request
    }

}

extension Context {
    /// Saves with a merge policy for this save only.
    ///
    /// For instance, pass the policy that a user chose after a save failed with conflicts.
    public func save(merging policy: MergePolicy) throws {
        try checkQueue()
        let usual = mergePolicy
        mergePolicy = policy
        defer { mergePolicy = usual }
        try save()
    }
}
