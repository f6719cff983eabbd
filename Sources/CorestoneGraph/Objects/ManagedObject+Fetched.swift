import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// The cached result of a fetched property.
struct FetchedList {
    let objects: [ManagedObject]
    /// The property's `userInfoChanges` at the time of the fetch.
    let userInfoChanges: Int
}

// Fetched properties. The fetch runs at the first access. Its result is cached until the object is refreshed, becomes a
// fault or is deallocated, or until the user info of the property changes. The context stores the results, because only
// few objects have results.
extension ManagedObject {
    /// Returns the objects of a fetched property.
    ///
    /// The fetch includes unsaved changes; later changes do not affect a cached result.
    ///
    /// - Throws: `.invalidArgument` if the entity does not have the fetched property.
    ///   Errors of the fetch.
    public func fetched(_ name: String) throws -> [ManagedObject] {
        try context?.checkQueue()
        guard let property = entity.fetchedProperty(named: name) else {
            let nearest = nearestName(to: name, among: entity.fetchedProperties.map(\.name))
            let hint = nearest.map { "; did you mean \"\($0)\"?" } ?? ""
            throw CoreError(
                .invalidArgument, "\(entity.name) has no fetched property \"\(name)\"\(hint)", entity: entity.name,
                key: name, objectURI: objectID.uri)
        }
        return try fetched(property)
    }

    func fetched(_ property: FetchedProperty) throws -> [ManagedObject] {
        if state.contains(.detached) { throw detachedError() }
        guard let context else {
            throw CoreError(
                .invalidArgument,
                "\(entity.name).\(property.name) is a fetched property and needs a context; insert the object "
                    + "with cst_context_insert_object (insert_object, insert) first",
                entity: entity.name, key: property.name, objectURI: objectID.uri)
        }
        let former =
            state.contains(.keepsFetched)
            ? context.faultState.fetchedValues[ObjectIdentifier(self)]?[property.name] : nil
        let changes = property.userInfoChanges
        if let former, former.userInfoChanges == changes { return former.objects }
        let found = try context.fetching(property, of: self) {
            let variables: [String: PropertyValue] = [
                "FETCH_SOURCE": .object(self), "FETCHED_PROPERTY": property.description,
            ]
            let request = try FetchRequest(property.fetchRequest, in: entity.model, variables: variables)
            // The value of the property is a list of objects, regardless of the request's result type.
            request.resultType = .objects
            return try context.fetch(request)
        }
        let list = FetchedList(objects: found, userInfoChanges: changes)
        // Objects of the former list are deallocated only after the new list is stored.
        withExtendedLifetime(former) {
            context.faultState.fetchedValues[ObjectIdentifier(self), default: [:]][property.name] = list
        }
        state.insert(.keepsFetched)
        return found
    }

    /// Discards the cached results. The next access fetches again.
    func forgetFetched() {
        guard state.remove(.keepsFetched) != nil,
            let lists = context?.faultState.fetchedValues.removeValue(forKey: ObjectIdentifier(self))
        else { return }
        DeferredReleases.run { list in for object in lists.values.flatMap(\.objects) { list.add(object) } }
    }
}

extension Context {
    /// The maximum nesting of fetched properties whose predicates use fetched properties.
    static let maximumFetchedNesting = 8

    /// Runs the fetch of a fetched property, and limits the nesting of fetched properties in predicates.
    fileprivate func fetching<Result>(
        _ property: FetchedProperty, of object: ManagedObject, _ body: () throws -> Result
    ) throws -> Result {
        guard faultState.fetchedNesting < Context.maximumFetchedNesting else {
            throw CoreError(
                .predicate,
                "cannot fetch \(object.entity.name).\(property.name): fetched properties are nested more than "
                    + "\(Context.maximumFetchedNesting) levels deep; remove the cycle, or use fewer levels",
                entity: object.entity.name, key: property.name, objectURI: object.objectID.uri)
        }
        faultState.fetchedNesting += 1
        defer { faultState.fetchedNesting -= 1 }
        return try body()
    }
}

extension FetchedProperty {
    /// The value of `$FETCHED_PROPERTY`: the property's name and user info.
    fileprivate var description: PropertyValue {
        .dictionary([
            "name": .string(name), "userInfo": .dictionary(userInfo.mapValues { .string($0) }),
        ])
    }
}
