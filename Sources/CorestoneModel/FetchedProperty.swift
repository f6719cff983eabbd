import CorestoneValues

/// A property whose value is what a fetch finds: a weak, one-way relationship without a column.
///
/// The predicate may name `$FETCH_SOURCE`, the object that is asked, and `$FETCHED_PROPERTY`, this property. It has no
/// slot: `Entity.properties` lists what has.
public final class FetchedProperty: Property, @unchecked Sendable {
    public internal(set) var fetchRequest: FetchRequestTemplate

    init(name: String, fetchRequest: FetchRequestTemplate, entity: Entity) {
        self.fetchRequest = fetchRequest
        super.init(name: name, entity: entity)
    }

    public func setFetchRequest(_ value: FetchRequestTemplate) throws {
        try change {
            try FetchedProperty.require(value, named: name, of: entity)
            fetchRequest = value
        }
    }

    static func require(_ request: FetchRequestTemplate, named name: String, of entity: Entity) throws {
        try request.predicate?.requireNoObject(
            "the fetched property \(entity.name).\(name)", entity: entity.name, key: name)
    }
}
