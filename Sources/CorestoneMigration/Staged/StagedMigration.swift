import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// A migration of a store stage by stage (`NSStagedMigrationManager`).
///
/// The migration begins with the stage that starts at the store's version, or after the stage that leads to it.
///
/// A stage that is not lightweight starts at its current version. The mapping from the version of the previous stage to
/// the current version is inferred. The last mapping, to the version of the model, is inferred too. As in Core Data,
/// the versions of lightweight stages are skipped if one inferred mapping is enough. Beyond Core Data, these versions
/// are used as intermediate steps if a mapping cannot be inferred in one step.
public struct StagedMigration: StoreConversion {
    public let stages: [MigrationStage]
    /// A function that receives the manager of each stage with a mapping model, before the mapping model is executed.
    var managerWillStart: (@Sendable (MigrationManager) throws -> Void)?

    /// Creates a staged migration, and checks the stages.
    ///
    /// - Throws: `.invalidArgument` if there are no stages, or if a stage is empty or has two equal references.
    ///   `.invalidArgument` if two stages have the same start or target, or if a target is the start of an earlier
    ///   stage.
    ///   The errors of `ModelReference.resolve`.
    public init(_ stages: [MigrationStage]) throws {
        self.stages = stages
        if stages.isEmpty {
            throw CoreError(
                .invalidArgument, code: .migration,
                "a staged migration needs at least one stage; add the stages in order",
                key: "stages")
        }
        var (starts, targets): ([String: Int], [String: Int]) = ([:], [:])
        for (place, stage) in stages.enumerated() {
            let name = stage.name(place)
            for target in try stage.requireSound(place).targets {
                if let other = targets.updateValue(place, forKey: target) {
                    throw StagedMigration.conflict(
                        target,
                        other == place
                            ? { "\(name) names \($0) twice; remove one of the two" }
                            : { "\(stages[other].name(other)) and \(name) both lead to \($0); remove one of them" })
                }
                if let other = starts[target] {
                    throw StagedMigration.conflict(target) {
                        "\(name) leads to \($0), at which \(stages[other].name(other)) starts; order the stages by version"
                    }
                }
            }
            guard let start = try stage.start, let other = starts.updateValue(place, forKey: start) else { continue }
            throw StagedMigration.conflict(start) {
                "\(stages[other].name(other)) and \(name) both start at \($0); remove one of them"
            }
        }
    }

    private static func conflict(_ checksum: String, _ text: (_ version: String) -> String) -> CoreError {
        CoreError(
            .invalidArgument, code: .migration, text("the version with the checksum \"\(checksum)\""),
            key: "stages", value: .string(checksum))
    }

    package func route(
        from source: Model, to destination: Model, ofStoreAt path: String, _ options: MigrationOptions
    ) throws -> (any ConversionRoute)? {
        guard options.isAutomatic, options.infersMapping else {
            throw CoreError(
                .invalidArgument, code: .migration,
                "cannot migrate \(path) in stages without automatic migration and inferred mappings; set "
                    + "CST_STORE_MIGRATE and CST_STORE_INFER_MAPPING (migrate, infer_mapping)", key: "flags",
                file: path)
        }
        let versions = try Versions(options, source, destination)
        let start = try firstStage(of: source, versions, path)
        try requireForward(from: source, to: destination, path)
        let last = try lastStage(for: destination.versionChecksum)
        var walk = StageWalk(from: source, MappingSearch([], options), path)
        for (place, stage) in stages.enumerated().dropFirst(start) {
            // The remaining stages have targets after the model's version, unless they are not in the order of
            // versions.
            if place > last, try walk.addInferredSteps(to: destination) {
                warnOfSkipped(place..., path)
                break
            }
            let name = stage.name(place)
            switch stage.kind {
            case .lightweight(let checksums):
                // The store's version may be in the middle of the stage.
                let rest = checksums.firstIndex(of: walk.checksum).map { checksums[($0 + 1)...] } ?? checksums[...]
                walk.addLightweightStage(try rest.map { try versions.model($0, name, path) }, name)
            case .custom(let current, let next, let will, let did):
                try walk.requireInferredSteps(to: current.resolve(), "the current version", of: name)
                if let will {
                    walk.steps.append(
                        .handle(StageHandling(name: "will_migrate (willMigrate) of \(name)", handler: will)))
                }
                try walk.requireInferredSteps(to: next.resolve(), "the next version", of: name)
                if let did {
                    walk.steps.append(.handle(StageHandling(name: "did_migrate (didMigrate) of \(name)", handler: did)))
                }
            case .transformation(let current, let next, let body):
                try walk.requireInferredSteps(to: current.resolve(), "the current version", of: name)
                walk.add(
                    .transform(StageTransformation(name: "of \(name)", destination: next, body: body)),
                    to: try next.resolve())
            case .mapping(let current, let next, let mapping):
                try walk.requireInferredSteps(to: current.resolve(), "the current version", of: name)
                let model = try next.resolve()
                walk.add(.map(mapping, to: model, stage: name), to: model)
            }
        }
        try walk.requireInferredSteps(to: destination, "the version of the model")
        return ChainRoute(
            source: source, destination: destination, links: walk.steps, options: options,
            managerWillStart: managerWillStart)
    }

    private func warnOfSkipped(_ places: PartialRangeFrom<Int>, _ path: String) {
        for place in stages.indices[places] where stages[place].hasCode {
            DebugLog.write(
                "CoreData: warning: \(stages[place].name(place)) does not run for \(path): the migration reaches the "
                    + "version of the model without this stage; order the stages by version if the stage must run")
        }
    }

    /// Throws if the stages list the model's version before the store's version.
    private func requireForward(from source: Model, to destination: Model, _ path: String) throws {
        let order = try stages.flatMap { try $0.versions }
        guard let store = order.firstIndex(of: source.versionChecksum),
            let goal = order.lastIndex(of: destination.versionChecksum), goal < store
        else { return }
        throw CoreError(
            .migration, code: .stagedMigrationBackwardMigration,
            "cannot migrate \(path): the stages name \(destination.versionText), the version of the model, before "
                + "\(source.versionText), the version of the store; use a newer model, or order the stages by version",
            value: .string(destination.versionChecksum), file: path)
    }

    /// Returns the index of the last stage that is needed to reach a version; -1 if no stage is needed.
    ///
    /// This is the last stage that has the version as a target. Without such a stage, it is the stage before the one
    /// that starts at the version. If no stage names the version, it is the last stage.
    private func lastStage(for checksum: String) throws -> Int {
        if let place = try stages.lastIndex(where: { try $0.targets.contains(checksum) }) { return place }
        return try (stages.firstIndex { try $0.versions.contains(checksum) } ?? stages.count) - 1
    }

    /// Returns the index of the first stage that runs.
    ///
    /// This is the first stage that starts at the store's version or contains it. Without such a stage, it is the stage
    /// after the last one that leads to the store's version. The index can be `stages.count`.
    private func firstStage(of source: Model, _ versions: Versions, _ path: String) throws -> Int {
        let checksum = source.versionChecksum
        for (place, stage) in stages.enumerated() {
            if try stage.start == checksum { return place }
            guard case .lightweight(let checksums) = stage.kind else { continue }
            if checksums.dropLast().contains(checksum) { return place }
            if checksums.last == checksum { return place + 1 }
        }
        if let place = try stages.lastIndex(where: { try $0.targets.contains(checksum) }) { return place + 1 }
        // The store's version can be older than the first stage, if a mapping to the stage's first version is inferred.
        if case .lightweight(let checksums) = stages[0].kind {
            let first = try versions.model(checksums[0], stages[0].name(0), path)
            if try MappingSearch([], versions.options).infers(from: source, to: first) { return 0 }
        }
        throw CoreError(
            .migration, code: .migration,
            "cannot migrate \(path) in stages: the stages do not contain one that starts at \(source.versionText), the "
                + "version of the store; add a stage for this version, or migrate the store with CST_STORE_MIGRATE "
                + "(migrate, corestone migrate) but without stages to a version that a stage names",
            value: .string(source.versionChecksum), file: path)
    }
}

/// The known versions, to which lightweight stages refer by checksum.
private struct Versions {
    let options: MigrationOptions
    private var models: [String: Model] = [:]

    init(_ options: MigrationOptions, _ source: Model, _ destination: Model) throws {
        self.options = options
        for model in try options.knownVersions() + [source, destination] { models[model.versionChecksum] = model }
    }

    func model(_ checksum: String, _ stage: String, _ path: String) throws -> Model {
        if let model = models[checksum] { return model }
        throw CoreError(
            .migration, code: .managedObjectModelReferenceNotFound,
            "cannot migrate \(path): \(stage) names the version with the checksum \"\(checksum)\", but a model of "
                + "this version was not found; correct the checksum, or pass the model in source_models or its file in "
                + "model_paths", value: .string(checksum), file: path)
    }
}

extension MigrationStage {
    func name(_ place: Int) -> String { label.map { "the stage \"\($0)\"" } ?? "stage \(place + 1)" }

    /// The checksums of the stage's target versions.
    var targets: [String] {
        get throws {
            switch kind {
            case .lightweight(let checksums): checksums
            case .custom(_, let next, _, _), .transformation(_, let next, _), .mapping(_, let next, _):
                [try next.resolve().versionChecksum]
            }
        }
    }

    /// Whether the stage does more than infer mappings.
    fileprivate var hasCode: Bool {
        switch kind {
        case .lightweight: false
        case .custom(_, _, let will, let did): will != nil || did != nil
        case .transformation, .mapping: true
        }
    }

    /// The checksum of the version at which a stage with one step starts; nil for a lightweight stage.
    fileprivate var start: String? {
        get throws {
            switch kind {
            case .lightweight: nil
            case .custom(let current, _, _, _), .transformation(let current, _, _), .mapping(let current, _, _):
                try current.resolve().versionChecksum
            }
        }
    }

    /// The checksums of all versions of the stage, in order.
    fileprivate var versions: [String] {
        get throws { try (start.map { [$0] } ?? []) + targets }
    }

    fileprivate func requireSound(_ place: Int) throws -> MigrationStage {
        if case .mapping(_, _, let mapping) = kind, mapping.entityMappings.isEmpty {
            throw CoreError(
                .invalidArgument, code: .migration,
                "the mapping model of \(name(place)) does not have entity mappings, so that all objects would be lost; add an entity "
                    + "mapping for each entity that stays", key: "mapping")
        }
        switch kind {
        case .lightweight(let checksums):
            guard checksums.isEmpty else { return self }
            throw CoreError(
                .invalidArgument, code: .migration,
                "\(name(place)) is lightweight but does not name a version; name its versions by the checksums that "
                    + "cst_model_copy_version_checksums (version_checksums, versionChecksums) returns",
                key: "checksums")
        case .custom(let current, let next, _, _), .transformation(let current, let next, _),
            .mapping(let current, let next, _):
            let checksum = try current.resolve().versionChecksum
            guard try next.resolve().versionChecksum == checksum else { return self }
            throw CoreError(
                .invalidArgument, code: .migration,
                "the current and the next model reference of \(name(place)) must differ, but both have the checksum "
                    + "\"\(checksum)\"; name two versions, or set a version hash modifier in the next version with "
                    + "cst_entity_set_version_hash_modifier (version_hash_modifier, setVersionHashModifier)",
                key: "next", value: .string(checksum))
        }
    }
}
