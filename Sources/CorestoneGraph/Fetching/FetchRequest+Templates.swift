import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension FetchRequest {
    /// The request of a template. `variables` are the values of the `$variables` of its predicate; nil leaves them as they
    /// are, for somebody else to bind.
    /// - Throws: `.model` when the template fetches no entity of the model, `.predicateSyntax` when its predicate cannot be
    ///   read, `.predicate` that names a variable without a value.
    public convenience init(
        _ template: FetchRequestTemplate, in model: Model, variables: [String: PropertyValue]? = [:]
    ) throws {
        self.init(entity: try model.requireEntity(named: template.entityName))
        try fill(from: template)
        if let variables { predicate = try predicate?.binding(variables) }
    }

    /// Takes over everything but the entity.
    func fill(from template: FetchRequestTemplate) throws {
        predicate = try template.predicate?.required()
        sortDescriptors = template.sortDescriptors
        (limit, offset) = (template.limit, template.offset)
        (resultType, batchSize) = (template.resultType, template.batchSize)
        includesSubentities = template.includesSubentities
        returnsObjectsAsFaults = template.returnsObjectsAsFaults
        includesPropertyValues = template.includesPropertyValues
        returnsDistinctResults = template.returnsDistinctResults
        relationshipKeyPathsForPrefetching = template.relationshipKeyPathsForPrefetching
    }

    /// The request as a model holds it. A model refuses one with an object in its predicate.
    public var template: FetchRequestTemplate {
        var template = FetchRequestTemplate(
            entityName: entityName ?? "", predicate: predicate.map { PredicateText($0) })
        template.sortDescriptors = sortDescriptors
        (template.limit, template.offset) = (limit, offset)
        (template.resultType, template.batchSize) = (resultType, batchSize)
        template.includesSubentities = includesSubentities
        template.returnsObjectsAsFaults = returnsObjectsAsFaults
        template.includesPropertyValues = includesPropertyValues
        template.returnsDistinctResults = returnsDistinctResults
        template.relationshipKeyPathsForPrefetching = relationshipKeyPathsForPrefetching
        return template
    }
}

extension FetchRequest {
    /// - Throws: `.unsupported` for a request that asks for something else than objects.
    func requireObjects() throws {
        guard resultType != .objects else {
            if propertiesToGroupBy.isEmpty, havingPredicate == nil { return }
            throw CoreError(
                .invalidArgument,
                "the fetch request for \(entityName ?? "") groups its results, so it cannot return objects; request dictionaries, or fetch rows",
                entity: entityName)
        }
        let (what, remedy) =
            switch resultType {
            case .objectIDs: ("object IDs", "fetch IDs with it")
            case .count: ("a count", "count with it")
            default: ("dictionaries", "fetch rows with it")
            }
        throw CoreError(
            .unsupported, code: .persistentStoreUnsupportedRequestType,
            "the fetch request for \(entityName ?? "") returns \(what), not objects; execute it, or \(remedy)",
            entity: entityName)
    }
}

extension Model {
    /// A request made of the template of that name, its variables bound; a null value is nil. The template does not change.
    /// - Throws: `.invalidArgument` when the model has no template of that name, `.predicate` that names a variable without a
    ///   value.
    public func fetchRequest(
        fromTemplate name: String, variables: [String: PropertyValue] = [:]
    ) throws -> FetchRequest {
        try FetchRequest(try requireTemplate(named: name), in: self, variables: variables)
    }

    private func requireTemplate(named name: String) throws -> FetchRequestTemplate {
        if let template = fetchRequestTemplates[name] { return template }
        let nearest = nearestName(to: name, among: sortedByBytes(fetchRequestTemplates.keys))
        let hint = nearest.map { "; did you mean \"\($0)\"?" } ?? ""
        throw CoreError(.invalidArgument, "the model has no fetch request template \"\(name)\"\(hint)", key: name)
    }
}
