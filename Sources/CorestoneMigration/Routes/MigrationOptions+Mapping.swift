import CorestoneGraph
import CorestoneModel
import CorestoneValues

// What goes beyond inference, as options of a migration.
extension MigrationOptions {
    /// Mapping models that are tried before those in the files and folders of `searchPaths`, and before inference.
    public var mappingModels: [MappingModel] {
        get { routes.mappingModels }
        set { routes.mappingModels = newValue }
    }

    /// Called with the manager of each mapping model that is executed, before it starts: to set its `userInfo` and functions, or to keep it
    /// for a cancellation. An error fails the migration.
    public var managerWillStart: (@Sendable (MigrationManager) throws -> Void)? {
        get { routes.managerWillStart }
        set { routes.managerWillStart = newValue }
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
