import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension FetchRequest {
    /// Returns the request as a keyed archive, in the layout of requests in compiled models.
    ///
    /// The archive contains the name of the entity, and does not contain the affected stores.
    ///
    /// - Throws: `.unsupported` for a predicate with a block, an object or an ID.
    public func archived() throws -> [UInt8] {
        var archive = FetchRequestArchive(template)
        archive.columns = propertiesToFetch.map { column in
            guard case .expression(let computed) = column else { return FetchRequestArchive.Column(name: column.name) }
            return FetchRequestArchive.Column(
                name: column.name, expression: computed.expression, type: computed.resultType)
        }
        archive.groupBy = propertiesToGroupBy
        archive.having = havingPredicate
        archive.includesPendingChanges = includesPendingChanges
        archive.refreshesRefetched = shouldRefreshRefetchedObjects
        archive.allowsSplit = allowsSplit
        archive.computesRowsInMemory = computesRowsInMemory
        archive.nulls = Int64(nulls.rawValue)
        do { return try archive.encoded() } catch let error as CoreError where error.entity == nil {
            throw error.within(
                "cannot archive the fetch request\(entityName.map { " for \($0)" } ?? "")", entity: entityName)
        }
    }

    /// Creates a request from an archive that `archived` or Apple's framework wrote.
    ///
    /// Additional flags of Apple's framework are ignored.
    ///
    /// - Throws: `.storeCorrupt` if the bytes are not an archive of a request.
    ///   `.predicateSyntax` if the predicate cannot be read.
    public convenience init(archived bytes: [UInt8]) throws {
        let archive = try FetchRequestArchive(bytes)
        self.init()
        try fill(from: archive.template)
        entityName = archive.template.entityName.isEmpty ? nil : archive.template.entityName
        propertiesToFetch = archive.columns.map { column in
            guard let expression = column.expression else { return .property(column.name) }
            return .expression(
                ExpressionDescription(name: column.name, expression: expression, resultType: column.type))
        }
        propertiesToGroupBy = archive.groupBy
        havingPredicate = archive.having
        includesPendingChanges = archive.includesPendingChanges
        shouldRefreshRefetchedObjects = archive.refreshesRefetched
        allowsSplit = archive.allowsSplit
        computesRowsInMemory = archive.computesRowsInMemory
        nulls = UInt32(exactly: archive.nulls).flatMap(NullMeaning.init(rawValue:)) ?? .memory
    }
}
