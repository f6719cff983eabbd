import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// A builder of the steps of a staged migration, starting at the version of the store.
struct StageWalk {
    private var current: Model
    /// The versions of the lightweight stages since `current`, in their order.
    private var named: [Model] = []
    /// The names of the lightweight stages so far, by the checksums of their versions.
    private var stages: [String: String] = [:]
    var steps: [ChainRoute.Step] = []
    private let search: MappingSearch
    private let path: String

    init(from source: Model, _ search: MappingSearch, _ path: String) {
        (current, self.search, self.path) = (source, search, path)
    }

    var checksum: String { current.versionChecksum }

    /// Adds the versions of a lightweight stage.
    mutating func addLightweightStage(_ versions: [Model], _ stage: String) {
        named += versions
        for version in versions { stages[version.versionChecksum] = stage }
    }

    /// Adds a step that is not an inferred mapping.
    mutating func add(_ step: ChainRoute.Step, to next: Model) {
        steps.append(step)
        (current, named) = (next, [])
    }

    /// Adds the steps with inferred mappings that lead to a version.
    ///
    /// - Parameters:
    ///   - role: The role of the version, for the error.
    ///   - stage: The stage to which the version belongs.
    /// - Throws: 134140 if inferred mappings do not lead to the version.
    mutating func requireInferredSteps(to next: Model, _ role: String, of stage: String? = nil) throws {
        if try addInferredSteps(to: next, of: stage) { return }
        let role = stage.map { "\(role) of \($0)" } ?? role
        let reason = search.refusal(from: current, to: next)
        let cause = reason.map { ": \($0.message)" } ?? ""
        throw CoreError(
            .migration, code: .migrationMissingMappingModel,
            "cannot migrate \(path): the mapping from "
                + "\(current.versionText) to \(next.versionText), \(role), cannot be inferred\(cause)"
                + (cause.hasRemedy
                    ? ", or name the versions between them in a lightweight stage"
                    : "; name the versions between them in a lightweight stage, or use a stage of "
                        + "cst_migration_stages_add_mapping (MigrationStage.mapping) or "
                        + "cst_migration_stages_add_transformation (MigrationStage.transformation)"),
            entity: reason?.entity, key: reason?.key, value: .string(next.versionChecksum),
            children: reason?.children ?? [], file: path)
    }

    /// Adds the steps with inferred mappings that lead to a version, if the version can be reached by such steps.
    ///
    /// - Returns: Whether the version can be reached.
    mutating func addInferredSteps(to next: Model, of stage: String? = nil) throws -> Bool {
        if next.versionChecksum != current.versionChecksum {
            guard let route = try shortestRoute(to: next) else { return false }
            steps += route.map { .infer(to: $0, stage: stages[$0.versionChecksum] ?? stage) }
        }
        (current, named) = (next, [])
        return true
    }

    /// Returns the versions on the route to a version, or nil if there is no route.
    ///
    /// The route is one inferred step if possible. Otherwise, it is the shortest route over versions in `named`, in the
    /// order of `named`.
    private func shortestRoute(to next: Model) throws -> [Model]? {
        if try search.infers(from: current, to: next) { return [next] }
        var routes: [[Model]] = [[]]
        for version in named {
            if let route = try shortest(routes, to: version) { routes.append(route) }
        }
        return try shortest(routes, to: next)
    }

    /// Extends the shortest possible route by an inferred step to a version. Returns nil if no route can be extended.
    private func shortest(_ routes: [[Model]], to version: Model) throws -> [Model]? {
        var best: [Model]?
        for route in routes where route.count + 1 < best?.count ?? .max {
            if try search.infers(from: route.last ?? current, to: version) { best = route + [version] }
        }
        return best
    }
}
