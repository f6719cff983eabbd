import CorestoneGraph
import CorestoneModel
import CorestoneValues

// What goes beyond inference, as options of a migration.
extension MigrationOptions {
    /// Mapping models that are tried before those in the files and folders of `searchPaths`, and before inference. They replace `stages`.
    public var mappingModels: [MappingModel] {
        get { routes.mappingModels }
        set { routes.mappingModels = newValue }
    }

    /// Called with the manager of each mapping model that is executed, before it starts: to set its `userInfo` and functions, or to keep it
    /// for a cancellation. An error fails the migration.
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

    /// The stages of the migration; nil without. They replace `mappingModels`.
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

    /// The same with the search for mapping models and chains, unless stages say otherwise.
    package var withRoutes: MigrationOptions {
        var options = self
        if conversion == nil { options.routes = MigrationRoutes() }
        return options
    }
}
