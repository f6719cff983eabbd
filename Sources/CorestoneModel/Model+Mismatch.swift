import CorestoneValues

extension Model {
    /// Returns the details of the error for a store of this model that is opened with another model.
    ///
    /// They list all differences, and parts that were probably renamed.
    ///
    /// - Parameter file: the path of the store.
    package func mismatchDetails(with model: Model, file: String) -> [CoreError] {
        let differences = differences(from: model).map { ($0.entity, $0.key, $0.text) }
        return (differences + likelyRenames(to: model)).map { entity, key, text in
            CoreError(
                .modelMismatch, code: .persistentStoreIncompatibleVersionHash, text, entity: entity, key: key,
                file: file)
        }
    }

    private func likelyRenames(to model: Model) -> [(String, String?, String)] {
        var found: [(String, String?, String)] = []
        for wanted in model.entities {
            guard let stored = entity(named: wanted.name) else { continue }
            let gone = stored.ownStored.filter { former in !wanted.ownStored.contains { $0.name == former.name } }
            for property in wanted.ownStored where property.renamingIdentifier == nil {
                if stored.ownStored.contains(where: { $0.name == property.name }) { continue }
                let alike = gone.filter { $0.isLike(property) }
                guard alike.count == 1 else { continue }
                found.append(
                    (
                        wanted.name, property.name,
                        "\(wanted.name).\(property.name) may be \(wanted.name).\(alike[0].name) under a new name; set "
                            + "the renaming identifier of \(wanted.name).\(property.name) to "
                            + "\"\(alike[0].canonicalName)\" if it is"
                    ))
            }
        }
        let gone = entities.filter { model.entity(named: $0.name) == nil }
        for wanted in model.entities where entity(named: wanted.name) == nil && wanted.renamingIdentifier == nil {
            let names = Set(wanted.ownStored.map(\.name))
            let alike = gone.filter { !names.isEmpty && Set($0.ownStored.map(\.name)) == names }
            guard alike.count == 1 else { continue }
            found.append(
                (
                    wanted.name, nil,
                    "\(wanted.name) may be \(alike[0].name) under a new name; set the renaming identifier of "
                        + "\(wanted.name) to \"\(alike[0].canonicalName)\" if it is"
                ))
        }
        return found
    }
}

extension Entity {
    fileprivate var ownStored: [Property] {
        (ownAttributes as [Property] + ownRelationships).filter { !$0.isTransient }
    }
}

extension Property {
    /// Whether the properties have the same type, or the same kind of relationship and destination.
    fileprivate func isLike(_ other: Property) -> Bool {
        switch (self, other) {
        case (let from as Attribute, let to as Attribute): from.type == to.type
        case (let from as Relationship, let to as Relationship):
            from.isToMany == to.isToMany && from.destination.name == to.destination.name
        default: false
        }
    }
}
