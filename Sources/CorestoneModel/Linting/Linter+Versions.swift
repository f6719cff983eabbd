// Renaming identifiers across the versions of a model.

extension Linter {
    /// Reports chained identifiers.
    ///
    /// An identifier that is the name in the previous version, instead of the name in the first version, does not match
    /// in the next migration. The migration then deletes the entity or property with its values, and adds a new
    /// one.
    ///
    /// - Parameter former: earlier versions of the model, oldest first.
    mutating func checkChains(in model: Model, after former: [Model]) {
        // Newest versions first, so that a finding about a newer version is not repeated for older ones.
        let versions = former.reversed().map { version in
            (
                version,
                Dictionary(version.entities.map { ($0.canonicalName, $0) }, uniquingKeysWith: { first, _ in first })
            )
        }
        var reported: Set<ObjectIdentifier> = []
        for entity in model.entities {
            for (version, byIdentifier) in versions {
                guard let own = byIdentifier[entity.canonicalName] else {
                    guard let named = version.entity(named: entity.canonicalName) ?? version.entity(named: entity.name)
                    else { continue }
                    add(chainOf: entity.name, entity.canonicalName, after: named.name, named.canonicalName, entity, nil)
                    break
                }
                checkChains(in: entity, after: own, &reported)
            }
        }
    }

    private mutating func checkChains(
        in entity: Entity, after former: Entity, _ reported: inout Set<ObjectIdentifier>
    ) {
        let properties = former.storedTopProperties
        let identifiers = Set(properties.map(\.canonicalName))
        let byName = Dictionary(properties.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        for property in entity.ownProperties
        where !property.isTransient && !identifiers.contains(property.canonicalName) {
            guard let named = byName[property.canonicalName] ?? byName[property.name],
                reported.insert(ObjectIdentifier(property)).inserted
            else { continue }
            add(
                chainOf: "\(entity.name).\(property.name)", property.canonicalName, after: named.name,
                named.canonicalName, entity, property.name)
        }
    }

    /// Adds a finding about a renaming identifier.
    ///
    /// - Parameters:
    ///   - identifier: the renaming identifier of the element, or else its name.
    ///   - formerName: the name of the element in the earlier version, where its identifier is `formerIdentifier`.
    private mutating func add(
        chainOf element: String, _ identifier: String, after formerName: String, _ formerIdentifier: String,
        _ entity: Entity, _ key: String?
    ) {
        add(
            .chainedRenaming, entity, key,
            "\(element) has the identifier \"\(identifier)\", but \"\(formerName)\" of an earlier version has the identifier "
                + "\"\(formerIdentifier)\", so a migration loses the data of \"\(formerName)\"",
            "set the renaming identifier of \(element) to \"\(formerIdentifier)\"")
    }
}
