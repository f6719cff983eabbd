import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// Migrates a store stage by stage (`NSStagedMigrationManager`). The stage whose version is that of the store is the first to run.
///
/// Beyond Core Data, versions that follow each other in lightweight stages need not be reachable in one inferred step: each version is
/// a step of its own.
public struct StagedMigration: StoreConversion {
    public let stages: [MigrationStage]

    /// - Throws: `.invalidArgument` if there is no stage, if the two references of a stage are equal, or if two stages lead to one version.
    public init(_ stages: [MigrationStage]) throws {
        self.stages = stages
        if stages.isEmpty {
            throw CoreError(
                .invalidArgument, code: .migration,
                "a staged migration needs at least one stage; pass the stages in order")
        }
        var targets: [String: Int] = [:]
        for (place, stage) in stages.enumerated() {
            for target in try stage.requireSound(place).targets {
                if let other = targets.updateValue(place, forKey: target) {
                    let version = "the version with the checksum \"\(target)\""
                    throw CoreError(
                        .invalidArgument, code: .migration,
                        other == place
                            ? "\(stage.name(place)) names \(version) twice; remove one of the two"
                            : "\(stages[other].name(other)) and \(stage.name(place)) both lead to \(version); remove one of them",
                        value: .string(target))
                }
            }
        }
    }

    package func route(
        from source: Model, to destination: Model, ofStoreAt path: String, _ options: MigrationOptions
    ) throws -> (any ConversionRoute)? {
        guard options.isAutomatic, options.infersMapping else {
            throw CoreError(
                .invalidArgument, code: .migration,
                "cannot migrate \(path) in stages without automatic and inferred migration; set CST_STORE_MIGRATE and "
                    + "CST_STORE_INFER_MAPPING (migrate, infer_mapping)", file: path)
        }
        let versions = try Versions(options, source, destination)
        let start = try firstStage(of: source, versions, path)
        let goal = destination.versionChecksum
        var steps: [ChainRoute.Step] = []
        var current = source.versionChecksum
        for (place, stage) in stages.enumerated().dropFirst(start) {
            if current == goal { break }
            switch stage.kind {
            case .lightweight(let checksums):
                // The store may be of a version in the middle of the stage.
                let rest = checksums.firstIndex(of: current).map { checksums[($0 + 1)...] } ?? checksums[...]
                for checksum in rest where current != goal {
                    steps.append(.infer(to: try versions.model(checksum, stage.name(place), path)))
                    current = checksum
                }
            case .custom(let from, let to, let will, let did):
                try requireCurrent(current, from, stage.name(place), path)
                let next = try to.resolve()
                if let will {
                    steps.append(.handle(StageHandling(name: "willMigrate of \(stage.name(place))", handler: will)))
                }
                steps.append(.infer(to: next))
                if let did {
                    steps.append(.handle(StageHandling(name: "didMigrate of \(stage.name(place))", handler: did)))
                }
                current = next.versionChecksum
            case .transformation(let from, let to, let body):
                try requireCurrent(current, from, stage.name(place), path)
                steps.append(
                    .transform(StageTransformation(name: "of \(stage.name(place))", destination: to, body: body)))
                current = try to.resolve().versionChecksum
            case .mapping(let from, let to, let mapping):
                try requireCurrent(current, from, stage.name(place), path)
                let next = try to.resolve()
                steps.append(.map(mapping, to: next))
                current = next.versionChecksum
            }
        }
        if current != goal {
            guard
                try MappingSearch([], options).infers(
                    from: versions.model(current, "the last stage", path), to: destination)
            else { throw unreached(destination, path) }
            steps.append(.infer(to: destination))
        }
        return ChainRoute(source: source, destination: destination, links: steps, options: options)
    }

    /// The first stage that starts at the store's version, or follows the stage that leads to it.
    private func firstStage(of source: Model, _ versions: Versions, _ path: String) throws -> Int {
        let checksum = source.versionChecksum
        for (place, stage) in stages.enumerated() {
            switch stage.kind {
            case .custom(let from, _, _, _), .transformation(let from, _, _), .mapping(let from, _, _):
                if try from.resolve().versionChecksum == checksum { return place }
            case .lightweight(let checksums):
                if checksums.dropLast().contains(checksum) { return place }
                if checksums.last == checksum { return place + 1 }
            // A store of an older version, from which the first version of the stage is inferred.
            }
        }
        if let place = try stages.lastIndex(where: { try $0.targets.contains(checksum) }) { return place + 1 }
        if case .lightweight(let checksums) = stages[0].kind {
            let first = try versions.model(checksums[0], stages[0].name(0), path)
            if try MappingSearch([], versions.options).infers(from: source, to: first) { return 0 }
        }
        throw CoreError(
            .migration, code: .migration,
            "cannot migrate \(path) in stages: no stage starts at \(source.versionText), the version of the store; add a stage "
                + "for it, or migrate the store to a version that a stage names", file: path)
    }

    private func requireCurrent(
        _ checksum: String, _ reference: ModelReference, _ stage: String, _ path: String
    ) throws {
        let wanted = try reference.resolve()
        guard wanted.versionChecksum != checksum else { return }
        throw CoreError(
            .migration, code: .migration,
            "cannot migrate \(path): \(stage) starts at \(wanted.versionText), but the stage before it ends at the version with "
                + "the checksum \"\(checksum)\"; order the stages by version", value: .string(checksum), file: path)
    }

    private func unreached(_ destination: Model, _ path: String) -> CoreError {
        CoreError(
            .migration, code: .stagedMigrationBackwardMigration,
            "cannot migrate \(path): no stage leads to \(destination.versionText), the version of the model; add a stage for it, "
                + "or use the model of the last stage", file: path)
    }
}

/// The versions that lightweight stages name by their checksums.
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
            "cannot migrate \(path): \(stage) names the version with the checksum \"\(checksum)\", whose model was not found; pass it "
                + "in source_models, or its file in model_paths", value: .string(checksum), file: path)
    }
}

extension MigrationStage {
    func name(_ place: Int) -> String { label.map { "the stage \"\($0)\"" } ?? "stage \(place + 1)" }

    /// The checksums of the versions to which it leads.
    var targets: [String] {
        get throws {
            switch kind {
            case .lightweight(let checksums): checksums
            case .custom(_, let next, _, _), .transformation(_, let next, _), .mapping(_, let next, _):
                [try next.resolve().versionChecksum]
            }
        }
    }

    fileprivate func requireSound(_ place: Int) throws -> MigrationStage {
        switch kind {
        case .lightweight(let checksums):
            guard checksums.isEmpty else { return self }
            throw CoreError(
                .invalidArgument, code: .migration,
                "\(name(place)) is lightweight but does not name a version; pass the checksums of its versions, which "
                    + "cst_model_copy_version_checksums (version_checksums) returns")
        case .custom(let current, let next, _, _), .transformation(let current, let next, _),
            .mapping(let current, let next, _):
            let checksum = try current.resolve().versionChecksum
            guard try next.resolve().versionChecksum == checksum else { return self }
            throw CoreError(
                .invalidArgument, code: .migration,
                "the current and the next model reference of \(name(place)) must differ, but both have the checksum "
                    + "\"\(checksum)\"; name two versions, or give the next one a version hash modifier",
                value: .string(checksum))
        }
    }
}

extension MigrationOptions {
    /// The stages of the migration; nil without.
    public var stages: StagedMigration? {
        get { conversion as? StagedMigration }
        set { conversion = newValue }
    }
}
