import CorestoneGraph
import CorestoneModel
import CorestoneValues

// Migration options for mapping models and stages.
extension MigrationOptions {
    /// Mapping models that are tried before inference, and before those in the files and folders of `searchPaths`.
    /// Setting them removes `stages`.
    public var mappingModels: [MappingModel] {
        get { routes.mappingModels }
        set {
            let start = managerWillStart
            routes.mappingModels = newValue
            if let start { managerWillStart = start }
        }
    }

    /// A function that receives the manager of each mapping model before the mapping model is executed.
    ///
    /// The function can set the manager's `userInfo` and functions, or retain the manager to cancel the migration. An
    /// error fails the migration.
    public var managerWillStart: (@Sendable (MigrationManager) throws -> Void)? {
        get { stages?.managerWillStart ?? routes.managerWillStart }
        set {
            if var stages {
                stages.managerWillStart = newValue
                conversion = stages
            } else {
                routes.managerWillStart = newValue
            }
        }
    }

    /// The stages of a staged migration; nil for other migrations. Setting them removes `mappingModels`.
    public var stages: StagedMigration? {
        get { conversion as? StagedMigration }
        set {
            let start = managerWillStart
            conversion = newValue
            if let start { managerWillStart = start }
        }
    }

    private var routes: MigrationRoutes {
        get { conversion as? MigrationRoutes ?? MigrationRoutes() }
        set { conversion = newValue }
    }

    /// The options with the search for mapping models and chains, unless stages are set.
    package var withRoutes: MigrationOptions {
        var options = self
        if conversion == nil { options.routes = MigrationRoutes() }
        return options
    }
}
