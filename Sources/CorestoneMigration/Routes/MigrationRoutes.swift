import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The choice of the route of a migration.
///
/// The route is a mapping model, else an inferred mapping in place, else a chain over other versions of the model.
struct MigrationRoutes: StoreConversion {
    var mappingModels: [MappingModel] = []
    var managerWillStart: (@Sendable (MigrationManager) throws -> Void)?

    /// Returns the route of a migration.
    ///
    /// Mapping models have priority, as in Core Data, because an inferred mapping would lose the values that they
    /// compute.
    ///
    /// - Returns: nil if an inferred mapping is used, or if there is no route.
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

/// A step between two versions of a model. Without a mapping model, the mapping is inferred.
struct MappingLink {
    let source: Model
    let destination: Model
    let mapping: MappingModel?
}

/// A search for mapping models, and for the shortest chain of mapping models and inferred mappings.
struct MappingSearch {
    private let mappingModels: [MappingModel]
    private let options: MigrationOptions

    init(_ mappingModels: [MappingModel], _ options: MigrationOptions) {
        (self.mappingModels, self.options) = (mappingModels, options)
    }

    /// Returns the mapping model between two versions: a given one, else one in the searched files and folders.
    ///
    /// - Returns: nil if no mapping model matches.
    func mapping(from source: Model, to destination: Model) throws -> MappingModel? {
        try source.freeze()
        try destination.freeze()
        if let given = mappingModels.first(where: { $0.applies(from: source, to: destination) }) { return given }
        return MappingModel.find(in: options.searchPaths, from: source, to: destination)
    }

    /// Whether the options allow inference, and a mapping between two versions can be inferred.
    func infers(from source: Model, to destination: Model) throws -> Bool {
        guard options.infersMapping else { return false }
        do {
            _ = try inferred(from: source, to: destination)
            return true
        } catch let error as CoreError where error.code == CocoaCode.inferredMappingModel.rawValue { return false }
    }

    /// Returns the reason why a mapping between two versions cannot be inferred; nil if it can be.
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

    /// Returns the shortest chain from one version to another over the known versions, or nil if there is no chain.
    ///
    /// An inferred step to an intermediate version must not remove an entity or a property that the last version has.
    /// This excludes detours by way of older versions. If there is no such chain, a step may remove a property whose
    /// type differs in the last version, because an inferred mapping cannot keep the values of the property. Among
    /// chains of the same length, the order of the known versions decides.
    func chain(from source: Model, to destination: Model) throws -> [MappingLink]? {
        try chain(from: source, to: destination, rule: .names)
            ?? chain(from: source, to: destination, rule: .types)
    }

    /// The properties that inferred steps must keep: those of the last version by name, or by name and type.
    fileprivate enum RetentionRule { case names, types }

    private func chain(from source: Model, to destination: Model, rule: RetentionRule) throws -> [MappingLink]? {
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
                // The caller has already tried the direct step.
                let isDirect = links.isEmpty && next === destination
                guard !isDirect, let link = try link(from: model, to: next, toward: destination, rule)
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
        from source: Model, to next: Model, toward destination: Model, _ rule: RetentionRule
    ) throws -> MappingLink? {
        if let mapping = try mapping(from: source, to: next) {
            return MappingLink(source: source, destination: next, mapping: mapping)
        }
        guard try infers(from: source, to: next),
            try next === destination || !inferred(from: source, to: next).removesPart(of: destination, rule)
        else { return nil }
        return MappingLink(source: source, destination: next, mapping: nil)
    }
}

extension ModelMapping {
    /// Whether the mapping removes an entity or a property that a later version has.
    fileprivate func removesPart(of model: Model, _ rule: MappingSearch.RetentionRule) -> Bool {
        entities.contains { pair in
            guard let entity = pair.source,
                let later = model.entities.first(where: { $0.canonicalName == entity.canonicalName })
            else { return false }
            return pair.destination == nil
                || pair.removed.contains { property in
                    later.storedProperties.contains { property.continues(in: $0, rule) }
                }
        }
    }
}

extension Property {
    fileprivate func continues(in later: Property, _ rule: MappingSearch.RetentionRule) -> Bool {
        guard canonicalName == later.canonicalName else { return false }
        if rule == .names { return true }
        switch (self, later) {
        case (let attribute as Attribute, let later as Attribute): return attribute.type == later.type
        case (is Relationship, is Relationship): return true
        default: return false
        }
    }
}

extension MappingModel {
    /// Whether a mapping model that the application passed can be executed between two versions.
    ///
    /// Its version hashes must match. Without version hashes, only its entities must exist.
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
