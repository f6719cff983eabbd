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
    mutating func pass(_ versions: [Model], _ stage: String) {
        named += versions
        for version in versions { stages[version.versionChecksum] = stage }
    }

    /// Adds a step that is not an inferred mapping.
    mutating func add(_ step: ChainRoute.Step, to next: Model) {
        steps.append(step)
        (current, named) = (next, [])
    }

    /// Adds the inferred mappings to a version.
    ///
    /// - Parameters:
    ///   - role: The role of the version, for the error.
    ///   - stage: The stage to which the version belongs.
    /// - Throws: 134140 if there are no such mappings.
    mutating func reach(_ next: Model, _ role: String, of stage: String? = nil) throws {
        if try infer(to: next, of: stage) { return }
        let role = stage.map { "\(role) of \($0)" } ?? role
        let reason = search.refusal(from: current, to: next)
        throw CoreError(
            .migration, code: .migrationMissingMappingModel,
            "cannot migrate \(path): no mapping can be inferred from \(current.versionText) to \(next.versionText), \(role)"
                + (reason.map { ": \($0.message)" } ?? "")
                + "; name the versions between them in a lightweight stage, or add a stage with code",
            entity: reason?.entity, key: reason?.key, value: .string(next.versionChecksum), file: path)
    }

    /// Adds the inferred mappings to a version, if there are any.
    ///
    /// - Returns: Whether the version can be reached by inferred mappings.
    mutating func infer(to next: Model, of stage: String? = nil) throws -> Bool {
        if next.versionChecksum != current.versionChecksum {
            guard let way = try way(to: next) else { return false }
            steps += way.map { .infer(to: $0, stage: stages[$0.versionChecksum] ?? stage) }
        }
        (current, named) = (next, [])
        return true
    }

    /// Returns the versions on the way to a version.
    ///
    /// It is one step if that can be inferred, else the shortest way over the named versions, without a step back in
    /// their order.
    private func way(to next: Model) throws -> [Model]? {
        if try search.infers(from: current, to: next) { return [next] }
        var ways: [[Model]] = [[]]
        for version in named {
            if let way = try shortest(ways, to: version) { ways.append(way) }
        }
        return try shortest(ways, to: next)
    }

    /// Returns the shortest of the given ways that can be extended by one step to a version.
    private func shortest(_ ways: [[Model]], to version: Model) throws -> [Model]? {
        var best: [Model]?
        for way in ways where way.count + 1 < best?.count ?? .max {
            if try search.infers(from: way.last ?? current, to: version) { best = way + [version] }
        }
        return best
    }
}
