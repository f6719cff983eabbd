import CorestoneGraph
import CorestoneModel
import CorestoneSQLite
import CorestoneValues

/// A route that runs a transformation: application code with a store of each version.
struct TransformationRoute: ConversionRoute {
    let transformation: StageTransformation
    let source: Model
    let destination: Model

    var steps: [String] { ["call the transformation \(transformation.name)"] }

    func run(
        from path: String, named given: String, to result: String, limits: StoreLimits,
        progress: @escaping (_ done: Int, _ total: Int) -> Bool
    ) throws -> ConvertedContent {
        let former = try Coordinator(model: source)
        var reading = StoreOptions.readOnly
        reading.limits = limits
        try former.addSQLiteStore(at: path, options: reading)
        let new = try Coordinator(model: destination)
        let store = try new.addSQLiteStore(at: result, options: .migrationWork(limits))
        let (old, context) = (Context(coordinator: former), Context(coordinator: new))
        do {
            try MigrationManager.withHandles(of: old, context) {
                try transformation.body(old, context)
                try context.save()
            }
        } catch {
            throw failure(of: error, in: "the transformation \(transformation.name)", file: path)
        }
        try new.remove(store)
        try AssociationTable(at: "\(result).keys").finish(intoStoreAt: result, source: source, destination: destination)
        guard progress(1, 1) else {
            throw CoreError(
                .cancelled, code: .migrationCancelled, "cannot migrate \(given): cancelled by the application",
                file: given)
        }
        return .rows(properties: [])
    }
}
