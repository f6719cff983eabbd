import CorestoneGraph
import CorestoneModel
import CorestoneSQLite
import CorestoneValues

/// A route that migrates a copy of the store step by step. The last result replaces the store.
///
/// Each step is a separate migration with its own checks, metadata and history.
struct ChainRoute: ConversionRoute {
    enum Step {
        /// An inferred migration in place; `stage` is the name of its stage.
        case infer(to: Model, stage: String? = nil)
        /// A migration with a mapping model.
        case map(MappingModel, to: Model, stage: String? = nil)
        /// Application code that changes the store between two migrations.
        case handle(StageHandling)
        /// Application code that fills a store of another version, with both stores open.
        case transform(StageTransformation)
    }

    let source: Model
    let destination: Model
    let links: [Step]
    let options: MigrationOptions
    var managerWillStart: (@Sendable (MigrationManager) throws -> Void)?

    var steps: [String] { links.map(\.line) }

    var removals: [String] {
        var model = source
        return links.flatMap { step -> [String] in
            switch step {
            case .handle: return []
            case .map(_, let next, _): model = next
            case .transform(let transformation): model = (try? transformation.destination.resolve()) ?? model
            case .infer(let next, _):
                defer { model = next }
                let mapping = try? ModelMapping.inferred(
                    from: model, to: next, typeChanges: options.allowsTypeChanges ? .exact : .refused)
                return mapping?.removedNames ?? []
            }
            return []
        }
    }

    func run(
        from path: String, named given: String, to result: String, limits: StoreLimits,
        progress: @escaping (_ done: Int, _ total: Int) -> Bool
    ) throws -> ConvertedContent {
        do {
            try SQLiteKind().replace(result, byStoreAt: path, options: .migrationWork(limits), removing: {})
            var model = source
            for (number, step) in links.enumerated() {
                // The steps have equal shares of the reported rows.
                let share = { (done: Int, total: Int) -> Bool in
                    progress(number * total + min(done, total), links.count * total)
                }
                do { model = try run(step, on: result, of: model, limits, progress: share) } catch let error
                    as CoreError
                {
                    throw error.status == .cancelled ? error : error.inStep(number + 1, of: links.count, step.line)
                }
            }
            // A handler may have changed the journal mode, which opening restores.
            try open(result, model, MigrationOptions(), limits) { _ in }
        } catch let error as CoreError { throw error.replacing([(result, given), (path, given)]) }
        return .complete
    }

    /// Runs a step, and returns the store's model after it.
    private func run(
        _ step: Step, on path: String, of model: Model, _ limits: StoreLimits,
        progress: @escaping (Int, Int) -> Bool
    ) throws -> Model {
        switch step {
        case .infer(let next, _):
            var migration = migration(from: model, progress)
            migration.infersMapping = true
            migration.allowsTypeChanges = options.allowsTypeChanges
            try open(path, next, migration, limits) { _ in }
            return next
        case .map(let mapping, let next, _):
            try convert(
                path, from: model, to: next,
                MappingRoute(mapping: mapping, source: model, destination: next, managerWillStart: managerWillStart),
                limits, progress)
            return next
        case .transform(let transformation):
            let next = try transformation.destination.resolve()
            try convert(
                path, from: model, to: next,
                TransformationRoute(transformation: transformation, source: model, destination: next), limits, progress)
            return next
        case .handle(let handling):
            try open(path, model, MigrationOptions(), limits) { coordinator in
                try handling.run(in: Context(coordinator: coordinator))
            }
            guard progress(1, 1) else { throw cancelled(path) }
            return model
        }
    }

    private func convert(
        _ path: String, from model: Model, to next: Model, _ route: any ConversionRoute,
        _ limits: StoreLimits, _ progress: @escaping (Int, Int) -> Bool
    ) throws {
        var migration = migration(from: model, progress)
        migration.conversion = FixedRoute(route: route)
        try open(path, next, migration, limits) { _ in }
    }

    private func migration(from model: Model, _ progress: @escaping (Int, Int) -> Bool) -> MigrationOptions {
        var migration = MigrationOptions(isAutomatic: true)
        migration.sourceModels = [model]
        // For the whole chain, the caller has checked that the destination is not an older version.
        migration.allowsRemovals = true
        migration.verifies = options.verifies
        // The function is called only on the thread of this migration.
        nonisolated(unsafe) let progress = progress
        migration.progress = { progress($0, $1) }
        return migration
    }

    private func open(
        _ path: String, _ model: Model, _ migration: MigrationOptions, _ limits: StoreLimits,
        _ body: (Coordinator) throws -> Void
    ) throws {
        var options = StoreOptions.migrationWork(limits)
        options.mustExist = true
        options.migration = migration
        let coordinator = try Coordinator(model: model)
        let store = try coordinator.addSQLiteStore(at: path, options: options)
        try body(coordinator)
        try coordinator.remove(store)
    }

    private func cancelled(_ path: String) -> CoreError {
        CoreError(
            .cancelled, code: .migrationCancelled, "cannot migrate \(path): cancelled by the application", file: path)
    }
}

/// A conversion with a fixed route, for a step that was already chosen.
private struct FixedRoute: StoreConversion {
    nonisolated(unsafe) let route: any ConversionRoute

    func route(
        from source: Model, to destination: Model, ofStoreAt path: String, _ options: MigrationOptions
    ) -> (any ConversionRoute)? { route }
}

extension ChainRoute.Step {
    /// The description of the step in plans and errors.
    fileprivate var line: String {
        switch self {
        case .infer(let model, let stage): "infer the mapping to \(model.versionText)" + suffix(stage)
        case .map(let mapping, let model, let stage):
            "execute the mapping model with \(mapping.entityMappings.count) entity "
                + "mapping\(mapping.entityMappings.count == 1 ? "" : "s") to \(model.versionText)" + suffix(stage)
        case .handle(let handling): "call the handler \(handling.name)"
        case .transform(let transformation): "call the transformation \(transformation.name)"
        }
    }

    private func suffix(_ stage: String?) -> String { stage.map { ", \($0)" } ?? "" }
}

extension ModelMapping {
    /// The removed entities, and the removed properties as `Entity.property`. Inherited properties are listed once.
    fileprivate var removedNames: [String] {
        entities.flatMap { pair -> [String] in
            guard let source = pair.source else { return [] }
            if pair.destination == nil { return [source.name] }
            return pair.removed.filter { $0.entity === source }.map { "\(source.name).\($0.path)" }
        }
    }
}

extension Model {
    /// The version as text: its identifiers, or the beginning of its checksum.
    var versionText: String {
        let names = versionIdentifiers.filter { !$0.isEmpty }.sorted().joined(separator: ", ")
        return names.isEmpty
            ? "the version with the checksum \"\(versionChecksum.prefix(8))…\"" : "version \"\(names)\""
    }
}

extension CoreError {
    fileprivate func inStep(_ number: Int, of count: Int, _ line: String) -> CoreError {
        within("step \(number) of \(count) (\(line)) failed")
    }
}
