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
            _ = try inferred(from: source, to: destination)
            return true
        } catch let error as CoreError where error.code == CocoaCode.inferredMappingModel.rawValue { return false }
    }

    /// Why no mapping between two versions can be inferred; nil if one can be.
    func refusal(from source: Model, to destination: Model) -> CoreError? {
        do {
            _ = try inferred(from: source, to: destination)
            return nil
        } catch { return error as? CoreError }
    }

    private func inferred(from source: Model, to destination: Model) throws -> ModelMapping {
        try ModelMapping.inferred(
            from: source, to: destination, typeChanges: options.allowsTypeChanges ? .exact : .refused)
    }

    /// The shortest chain from one version to another over the versions that are known; nil if there is none.
    ///
    /// No inferred step removes an entity or a property that the last version has, as a step to an older version does. If there is no such
    /// chain, a step may remove a property that has another type there: no inferred mapping could keep its values. Of two chains of one
    /// length, the one with the version that was listed first is used.
    func chain(from source: Model, to destination: Model) throws -> [MappingLink]? {
        try chain(from: source, to: destination, keeping: .names)
            ?? chain(from: source, to: destination, keeping: .types)
    }

    /// What inferred steps of a chain keep: properties that the last version has by name, or by name and type.
    fileprivate enum Keeping { case names, types }

    private func chain(from source: Model, to destination: Model, keeping: Keeping) throws -> [MappingLink]? {
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
                guard !isDirect, let link = try link(from: model, to: next, toward: destination, keeping)
                else {
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

    private func link(
        from source: Model, to next: Model, toward destination: Model, _ keeping: Keeping
    ) throws -> MappingLink? {
        if let mapping = try mapping(from: source, to: next) {
            return MappingLink(source: source, destination: next, mapping: mapping)
        }
        guard try infers(from: source, to: next),
            try next === destination || !inferred(from: source, to: next).removesPart(of: destination, keeping)
        else { return nil }
        return MappingLink(source: source, destination: next, mapping: nil)
    }
}

extension ModelMapping {
    /// Whether it removes an entity or a property that a later version has.
    fileprivate func removesPart(of model: Model, _ keeping: MappingSearch.Keeping) -> Bool {
        entities.contains { pair in
            guard let entity = pair.source,
                let later = model.entities.first(where: { $0.canonicalName == entity.canonicalName })
            else { return false }
            return pair.destination == nil
                || pair.removed.contains { property in
                    later.storedProperties.contains { property.continues(in: $0, keeping) }
                }
        }
    }
}

extension Property {
    fileprivate func continues(in later: Property, _ keeping: MappingSearch.Keeping) -> Bool {
        guard canonicalName == later.canonicalName else { return false }
        if keeping == .names { return true }
        switch (self, later) {
        case (let attribute as Attribute, let later as Attribute): return attribute.type == later.type
        case (is Relationship, is Relationship): return true
        default: return false
        }
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
