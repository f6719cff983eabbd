import CorestoneValues

/// A property whose value is the result of a fetch: a weak, one-way relationship without a column.
///
/// The predicate can refer to `$FETCH_SOURCE`, the object that has the property, and to `$FETCHED_PROPERTY`, this
/// property. A fetched property does not have a slot and is not in `Entity.properties`.
public final class FetchedProperty: Property, @unchecked Sendable {
    public internal(set) var fetchRequest: FetchRequestTemplate
    /// The user info, guarded by a lock.
    ///
    /// Unlike the user info of other properties, it may change while other threads read the model.
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
    /// The number of changes of the user info. Results that were fetched before the last change are fetched again.
    package var userInfoChanges: Int { info.withLock(\.changes) }

    /// Sets an entry of the user info, even in a frozen model, and on any thread.
    ///
    /// The predicate of the fetch request can refer to the entry.
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
