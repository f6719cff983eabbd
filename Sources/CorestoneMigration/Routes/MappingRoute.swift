import CorestoneGraph
import CorestoneModel
import CorestoneSQLite
import CorestoneValues
import Glibc

/// A route that executes one mapping model.
struct MappingRoute: ConversionRoute {
    let mapping: MappingModel
    let source: Model
    let destination: Model
    let managerWillStart: (@Sendable (MigrationManager) throws -> Void)?

    /// Whether the destination may be an older version.
    ///
    /// True, because a mapping model to an older version was created for that purpose.
    var allowsEarlierModel: Bool { true }

    var steps: [String] {
        mapping.entityMappings.map { mapping in
            let policy = mapping.policyClassName.map { " with the policy \"\($0)\"" } ?? ""
            switch (mapping.sourceName, mapping.destinationName) {
            case (let source?, let destination?): return "\(mapping.name): \(source) -> \(destination)\(policy)"
            case (let source?, nil): return "\(mapping.name): remove \(source)\(policy)"
            case (nil, let destination?): return "\(mapping.name): add \(destination)\(policy)"
            case (nil, nil): return "\(mapping.name): nothing\(policy)"
            }
        }
    }

    func run(
        from path: String, named given: String, to result: String, limits: StoreLimits,
        progress: @escaping (_ done: Int, _ total: Int) -> Bool
    ) throws -> ConvertedContent {
        var properties: [CopiedProperty] = []
        let scratch = ["\(result).keys", "\(result).associations"]
        defer { for file in scratch { unlink(file) } }
        do {
            let former = try Coordinator(model: source)
            try former.addSQLiteStore(at: path, options: .migrationSource(limits))
            let new = try Coordinator(model: destination)
            let store = try new.addSQLiteStore(at: result, options: .migrationResult(limits))
            let manager = try MigrationManager(source: source, destination: destination)
            manager.report = progress
            try manager.withHandle {
                do { try managerWillStart?(manager) } catch {
                    throw failure(of: error, in: "the callback manager_will_start (managerWillStart)", file: path)
                }
                try manager.migrate(
                    mapping, from: Context(coordinator: former), to: Context(coordinator: new),
                    associations: { try AssociationTable(at: scratch[0]) }
                ) { run in
                    properties = run.copiedProperties
                    try new.remove(store)
                    try run.writeAssociations(intoStoreAt: result, scratch: scratch[1])
                }
            }
        } catch let error as CoreError { throw error.replacing([(path, given)]) }
        return .rows(properties: properties)
    }
}

extension StoreOptions {
    /// The page cache of a migration. It is small, because most objects are read and written only once.
    private static var migrationCacheKilobytes: Int { 4096 }

    /// Returns the options of the source store.
    fileprivate static func migrationSource(_ limits: StoreLimits) -> StoreOptions {
        var options = StoreOptions.readOnly
        options.limits = limits
        options.cacheKilobytes = migrationCacheKilobytes
        return options
    }

    /// Returns the options of the store that a mapping model fills.
    ///
    /// The caller of the route copies the content of this store into the source store, and deletes this store.
    fileprivate static func migrationResult(_ limits: StoreLimits) -> StoreOptions {
        var options = StoreOptions.migrationWork(limits)
        options.isTransient = true
        options.cacheKilobytes = migrationCacheKilobytes
        return options
    }

    /// Returns the options of a temporary store.
    ///
    /// The store uses a rollback journal, so that it does not have a separate write-ahead log.
    static func migrationWork(_ limits: StoreLimits) -> StoreOptions {
        var options = StoreOptions()
        options.limits = limits
        options.rollbackJournal = true
        return options
    }
}
