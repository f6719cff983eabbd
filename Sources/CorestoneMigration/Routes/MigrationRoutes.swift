import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// Chooses how a store gets from its model to another one: by a mapping model, else by an inferred mapping in place, else over other
/// versions of the model.
struct MigrationRoutes: StoreConversion {
    var mappingModels: [MappingModel] = []
    var managerWillStart: (@Sendable (MigrationManager) throws -> Void)?

    /// Mapping models come first, as in Core Data: an inferred mapping would lose what they compute.
    ///
    /// - Returns: nil if an inferred mapping is used.
    func route(
        from source: Model, to destination: Model, ofStoreAt path: String, _ options: MigrationOptions
    ) throws -> (any ConversionRoute)? {
        let search = MappingSearch(mappingModels, options)
        if let mapping = try search.mapping(from: source, to: destination) {
            return MappingRoute(
                mapping: mapping, source: source, destination: destination, managerWillStart: managerWillStart)
        }
        if try search.infers(from: source, to: destination) { return nil }
        guard let chain = try search.chain(from: source, to: destination) else { return nil }
        let steps = chain.map { link in
            link.mapping.map { ChainRoute.Step.map($0, to: link.destination) } ?? .infer(to: link.destination)
        }
        return ChainRoute(
            source: source, destination: destination, links: steps, options: options,
            managerWillStart: managerWillStart)
    }
}

/// One step between two versions of a model; without a mapping model it is inferred.
struct MappingLink {
    let source: Model
    let destination: Model
    let mapping: MappingModel?
}

/// Finds mapping models, and the shortest chain of them and of inferred mappings.
struct MappingSearch {
    private let mappingModels: [MappingModel]
    private let options: MigrationOptions

    init(_ mappingModels: [MappingModel], _ options: MigrationOptions) {
        (self.mappingModels, self.options) = (mappingModels, options)
    }

    /// The mapping model between two versions: one that was given, else one in the files and folders that are searched.
    func mapping(from source: Model, to destination: Model) throws -> MappingModel? {
        try source.freeze()
        try destination.freeze()
        if let given = mappingModels.first(where: { $0.applies(from: source, to: destination) }) { return given }
        return MappingModel.find(in: options.searchPaths, from: source, to: destination)
    }

    /// Whether a mapping between two versions can be inferred, and may be.
    func infers(from source: Model, to destination: Model) throws -> Bool {
        guard options.infersMapping else { return false }
        do {
            _ = try ModelMapping.inferred(
                from: source, to: destination, typeChanges: options.allowsTypeChanges ? .exact : .refused)
            return true
        } catch let error as CoreError where error.code == CocoaCode.inferredMappingModel.rawValue { return false }
    }

    /// The shortest chain from one version to another over the versions that are known; nil if there is none.
    ///
    /// Of two chains of one length, the one with the version that was listed first is used.
    func chain(from source: Model, to destination: Model) throws -> [MappingLink]? {
        let goal = entityVersionHashes(of: destination)
        var versions = try options.knownVersions()
        versions.removeAll { [goal, entityVersionHashes(of: source)].contains(entityVersionHashes(of: $0)) }
        versions.append(destination)
        var reached: [(model: Model, links: [MappingLink])] = [(source, [])]
        var place = 0
        while place < reached.count {
            let (model, links) = reached[place]
            place += 1
            var rest: [Model] = []
            for next in versions {
                // The direct step was found impossible before.
                let isDirect = links.isEmpty && next === destination
                guard !isDirect, let link = try link(from: model, to: next) else {
                    rest.append(next)
                    continue
                }
                if next === destination { return links + [link] }
                reached.append((next, links + [link]))
            }
            versions = rest
        }
        return nil
    }

    private func link(from source: Model, to destination: Model) throws -> MappingLink? {
        if let mapping = try mapping(from: source, to: destination) {
            return MappingLink(source: source, destination: destination, mapping: mapping)
        }
        guard try infers(from: source, to: destination) else { return nil }
        return MappingLink(source: source, destination: destination, mapping: nil)
    }
}

extension MappingModel {
    /// Whether a mapping model that the host passes is for two versions. One that was made in code may lack hashes; then the entities have
    /// to exist.
    fileprivate func applies(from source: Model, to destination: Model) -> Bool {
        let lacksHashes = entityMappings.allSatisfy { $0.sourceHash == nil && $0.destinationHash == nil }
        guard lacksHashes else { return matches(source: source, destination: destination) }
        return !entityMappings.isEmpty
            && entityMappings.allSatisfy { mapping in
                (mapping.sourceName.map { source.entity(named: $0) != nil } ?? true)
                    && (mapping.destinationName.map { destination.entity(named: $0) != nil } ?? true)
            }
    }
}
