import CorestoneValues

/// A property whose value is what a fetch finds: a weak, one-way relationship without a column.
///
/// The predicate may name `$FETCH_SOURCE`, the object that is asked, and `$FETCHED_PROPERTY`, this property. It has no
/// slot: `Entity.properties` lists what has.
public final class FetchedProperty: Property, @unchecked Sendable {
    public internal(set) var fetchRequest: FetchRequestTemplate
    /// It changes while other threads read the model, so it lies here and not with those of other properties.
    private let info = Locked(UserInfo())

    private struct UserInfo {
        var texts: [String: Text] = [:]
        var changes = 0
    }

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

    public override var userInfo: [String: String] { info.withLock { $0.texts.mapValues(\.string) } }
    package override func userInfoText(_ key: String) -> Text? { info.withLock { $0.texts[key] } }
    /// How often the user info was changed: a list that was fetched before the last change is fetched again.
    package var userInfoChanges: Int { info.withLock(\.changes) }

    /// Also in a model that is in use, and then on any thread: the predicate may ask for it, and nothing else depends on it.
    public override func setUserInfo(_ value: String?, forKey key: String) throws {
        let text = value.map { Text($0) }
        func write() {
            info.withLock {
                $0.texts[key] = text
                $0.changes += 1
            }
        }
        if entity.model.isFrozen, !isRemoved { write() } else { try change(write) }
    }

    static func require(_ request: FetchRequestTemplate, named name: String, of entity: Entity) throws {
        try request.predicate?.requireNoObject(
            "the fetched property \(entity.name).\(name)", entity: entity.name, key: name, variable: "$FETCH_SOURCE")
    }
}
