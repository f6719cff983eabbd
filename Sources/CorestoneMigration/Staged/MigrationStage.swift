import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// One stage of a staged migration (`NSMigrationStage`).
public struct MigrationStage: @unchecked Sendable {
    /// Application code that changes a store during a migration. The context belongs to the thread of the migration.
    /// Unsaved changes are saved at the end. An error fails the migration, and the store is unchanged.
    public typealias Handler = (_ context: Context) throws -> Void
    /// Application code that fills a new store from the old one. Only `new` is saved, at the end.
    public typealias Transformation = (_ old: Context, _ new: Context) throws -> Void

    enum Kind {
        case lightweight(checksums: [String])
        case custom(current: ModelReference, next: ModelReference, willMigrate: Handler?, didMigrate: Handler?)
        case transformation(current: ModelReference, next: ModelReference, Transformation)
        case mapping(current: ModelReference, next: ModelReference, MappingModel)
    }

    let kind: Kind
    /// The name of the stage in errors and plans.
    public var label: String?

    /// Returns a stage with versions that are reached by inferred mappings (`NSLightweightMigrationStage`).
    ///
    /// - Parameter checksums: The `Model.versionChecksum` of each version, in order.
    public static func lightweight(_ checksums: [String], label: String? = nil) -> MigrationStage {
        MigrationStage(kind: .lightweight(checksums: checksums), label: label)
    }

    /// Returns a stage with an inferred mapping between two versions (`NSCustomMigrationStage`).
    ///
    /// The stage can have application code that runs before and after the mapping.
    ///
    /// - Parameters:
    ///   - willMigrate: Called with the store of the current version.
    ///   - didMigrate: Called with the store of the next version.
    public static func custom(
        from current: ModelReference, to next: ModelReference, label: String? = nil, willMigrate: Handler? = nil,
        didMigrate: Handler? = nil
    ) -> MigrationStage {
        MigrationStage(
            kind: .custom(current: current, next: next, willMigrate: willMigrate, didMigrate: didMigrate), label: label)
    }

    /// Returns a stage with application code that creates the objects of the next version, with both stores open.
    ///
    /// A mapping is not inferred, so the new store contains only the objects that the code creates.
    public static func transformation(
        from current: ModelReference, to next: ModelReference, label: String? = nil,
        _ body: @escaping Transformation
    ) -> MigrationStage {
        MigrationStage(kind: .transformation(current: current, next: next, body), label: label)
    }

    /// Returns a stage with a mapping model between two versions. The mapping model need not have version hashes.
    public static func mapping(
        from current: ModelReference, to next: ModelReference, label: String? = nil, _ mapping: MappingModel
    ) -> MigrationStage {
        MigrationStage(kind: .mapping(current: current, next: next, mapping), label: label)
    }
}

/// A handler of a stage as a step of a chain.
struct StageHandling {
    let name: String
    let handler: MigrationStage.Handler

    func run(in context: Context) throws {
        do {
            try MigrationManager.withHandles(of: context) {
                try handler(context)
                try context.save()
            }
        } catch {
            throw failure(of: error, in: "the handler \(name)", file: context.coordinator.stores.first?.path)
        }
    }
}

/// A transformation as a step of a chain.
struct StageTransformation {
    let name: String
    let destination: ModelReference
    let body: MigrationStage.Transformation
}

/// Returns the error for a failure of application code in a migration.
func failure(of error: any Error, in owner: String, file: String?) -> CoreError {
    guard let error = error as? CoreError else {
        return CoreError(.migration, code: .migration, "\(owner) failed: \(error)", file: file)
    }
    if error.status == .cancelled { return error }
    return CoreError(
        .migration, code: .migration, "\(owner) failed: \(error.message)", entity: error.entity, key: error.key,
        value: error.withoutObjects.value, objectURI: error.objectURI, children: [error.withoutObjects],
        sqliteCode: error.sqliteCode, file: error.file ?? file)
}
