import CorestoneFormats
import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension FetchRequest {
    /// Creates a request from a template.
    ///
    /// `variables` are the values of the `$variables` in the template's predicate; nil leaves the variables unbound.
    ///
    /// - Throws: `.invalidArgument` if the model does not have the template's entity.
    ///   `.predicateSyntax` if the predicate cannot be read.
    ///   `.predicate` if a variable does not have a value.
    public convenience init(
        _ template: FetchRequestTemplate, in model: Model, variables: [String: PropertyValue]? = [:]
    ) throws {
        self.init(entity: try model.requireEntity(named: template.entityName))
        try fill(from: template)
        guard let variables else { return }
        do { predicate = try predicate?.binding(variables) } catch let error as CoreError where error.value == nil {
            throw error.with(entity: template.entityName, key: nil)
        }
    }

    /// Copies the settings of a template, except the entity.
    func fill(from template: FetchRequestTemplate) throws {
        do { predicate = try template.predicate?.required() } catch let error as CoreError where error.entity == nil {
            let entity = template.entityName.isEmpty ? nil : template.entityName
            throw error.within(
                "the predicate of the fetch request\(entity.map { " for \($0)" } ?? "")", entity: entity)
        }
        sortDescriptors = template.sortDescriptors
        (limit, offset) = (template.limit, template.offset)
        (resultType, batchSize) = (template.resultType, template.batchSize)
        includesSubentities = template.includesSubentities
        returnsObjectsAsFaults = template.returnsObjectsAsFaults
        includesPropertyValues = template.includesPropertyValues
        returnsDistinctResults = template.returnsDistinctResults
        relationshipKeyPathsForPrefetching = template.relationshipKeyPathsForPrefetching
    }

    /// The request as a template for a model. A model rejects a template with an object in its predicate.
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
    /// Checks that the request fetches objects without groups.
    ///
    /// - Parameter hasOtherForms: Whether the caller can execute the request with another function. A cursor, for
    ///   example, supports objects only.
    /// - Throws: `.unsupported` if the result type is not objects.
    ///   `.invalidArgument` if the request has groups or a having predicate.
    func requireObjects(hasOtherForms: Bool = true) throws {
        let subject = "the fetch request" + (entityName.map { " for \($0)" } ?? "")
        guard resultType != .objects else {
            if propertiesToGroupBy.isEmpty, havingPredicate == nil { return }
            let cause = propertiesToGroupBy.isEmpty ? "has a having predicate" : "groups its results"
            // A having predicate without groups is not supported for rows either.
            let remedy =
                propertiesToGroupBy.isEmpty
                ? "remove the having predicate"
                : hasOtherForms
                    ? "call cst_context_fetch_rows (fetch_rows, fetchDictionaries)"
                    : "remove the properties to group by"
            throw CoreError(
                .invalidArgument, "\(subject) \(cause), so it cannot return objects; \(remedy)",
                entity: entityName, key: propertiesToGroupBy.isEmpty ? "having" : "group_by")
        }
        let (results, remedy) =
            switch resultType {
            case .objectIDs: ("object IDs", "cst_context_fetch_ids (fetch_ids, fetchIDs)")
            case .count: ("a count", "cst_context_count (count)")
            default: ("dictionaries", "cst_context_fetch_rows (fetch_rows, fetchDictionaries)")
            }
        throw CoreError(
            .unsupported, code: .persistentStoreUnsupportedRequestType,
            "\(subject) returns \(results), not objects; "
                + (hasOtherForms
                    ? "call \(remedy), or cst_context_execute (execute)"
                    : "set the result type to CST_RESULT_OBJECTS (objects)"),
            entity: entityName, key: "result_type")
    }
}

extension Model {
    /// Returns a new request from the named template, with its variables bound. The value null binds a variable to nil.
    ///
    /// - Throws: `.invalidArgument` if the model does not have the template.
    ///   `.predicate` if a variable does not have a value.
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
