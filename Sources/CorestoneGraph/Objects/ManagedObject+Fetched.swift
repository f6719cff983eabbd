import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// What a fetched property found.
struct FetchedList {
    let objects: [ManagedObject]
    /// The property's `userInfoChanges` before that.
    let userInfoChanges: Int
}

// Fetched properties: what a fetch finds when the value is first asked for, kept until the object is refreshed, becomes a
// fault, or ends, or until the user info of the property changes. The context has the lists, since few objects have any.
extension ManagedObject {
    /// The objects of a fetched property. Unsaved changes count, as in every fetch, but a list that was fetched stays as it is.
    /// - Throws: `.invalidArgument` when the entity has no such fetched property; what the fetch throws.
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
        if state.contains(.gone) { throw gone() }
        guard let context else {
            throw CoreError(
                .invalidArgument,
                "\(entity.name).\(property.name) is a fetched property and needs a context; insert the object first",
                entity: entity.name, key: property.name, objectURI: objectID.uri)
        }
        let former =
            state.contains(.keepsFetched)
            ? context.faultLoader.fetchedValues[ObjectIdentifier(self)]?[property.name] : nil
        let changes = property.userInfoChanges
        if let former, former.userInfoChanges == changes { return former.objects }
        let found = try context.fetching(property, of: self) {
            let variables: [String: PropertyValue] = [
                "FETCH_SOURCE": .object(self), "FETCHED_PROPERTY": property.description,
            ]
            let request = try FetchRequest(property.fetchRequest, in: entity.model, variables: variables)
            // Whatever the request says, the value of the property is objects.
            request.resultType = .objects
            return try context.fetch(request)
        }
        let list = FetchedList(objects: found, userInfoChanges: changes)
        // What nothing else holds of the former list ends when the new one has its place.
        withExtendedLifetime(former) {
            context.faultLoader.fetchedValues[ObjectIdentifier(self), default: [:]][property.name] = list
        }
        state.insert(.keepsFetched)
        return found
    }

    /// Lets go of what was fetched; it is fetched anew when next asked for.
    func forgetFetched() {
        guard state.remove(.keepsFetched) != nil,
            let lists = context?.faultLoader.fetchedValues.removeValue(forKey: ObjectIdentifier(self))
        else { return }
        PutOffEnds.run { list in for object in lists.values.flatMap(\.objects) { list.take(object) } }
    }
}

extension Context {
    /// Fetched properties whose predicates ask for fetched properties.
    static let maximumFetchedNesting = 8

    /// Runs the fetch of a fetched property, whose predicate may ask for others, but not without end.
    fileprivate func fetching<Result>(
        _ property: FetchedProperty, of object: ManagedObject, _ body: () throws -> Result
    ) throws -> Result {
        guard faultLoader.fetchedNesting < Context.maximumFetchedNesting else {
            throw CoreError(
                .predicate,
                "the predicate of \(object.entity.name).\(property.name) nests fetched properties more than "
                    + "\(Context.maximumFetchedNesting) levels deep; remove the cycle between them, or use fewer levels",
                entity: object.entity.name, key: property.name, objectURI: object.objectID.uri)
        }
        faultLoader.fetchedNesting += 1
        defer { faultLoader.fetchedNesting -= 1 }
        return try body()
    }
}

extension FetchedProperty {
    /// What `$FETCHED_PROPERTY` stands for: its name and its user info.
    fileprivate var description: PropertyValue {
        .dictionary([
            "name": .string(name), "userInfo": .dictionary(userInfo.mapValues { .string($0) }),
        ])
    }
}
