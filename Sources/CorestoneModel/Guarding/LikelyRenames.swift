import CorestoneValues

/// A search for pairs of a removed and an added part that are probably one renamed part.
struct LikelyRenames {
    let mapping: ModelMapping
    /// All known versions, including those whose migration is not checked.
    let known: [Model]
    /// The versions between the source and the destination of the mapping.
    let between: [Model]

    /// Returns the removed property that `property` probably was, with the reason.
    ///
    /// Returns nil if no removed property is similar.
    func origin(of property: Property, _ pair: EntityPair) -> (property: Property, reason: String)? {
        guard let old = pair.source, let new = pair.destination else { return nil }
        let candidates = pair.removed.filter { $0.entity === old && hasShape(of: property, $0) }
        for candidate in candidates where !coexisted(property, candidate, of: new) {
            if let reason = reason(candidate, property, old, new) { return (candidate, reason) }
        }
        return nil
    }

    /// Whether the properties have compatible types.
    func hasShape(of property: Property, _ former: Property) -> Bool {
        switch (former, property) {
        case (let from as Attribute, let to as Attribute):
            from.type == to.type && from.derivation == nil && to.derivation == nil
                && from.composite?.path == to.composite?.path
        case (let from as Relationship, let to as Relationship):
            from.isToMany == to.isToMany && mapping.destination(of: from.destination) === to.destination
        default: false
        }
    }

    /// Whether a version contains both properties, or a version in between contains neither.
    private func coexisted(_ property: Property, _ former: Property, of entity: Entity) -> Bool {
        func names(_ model: Model) -> Set<String>? {
            model.entities.first { $0.canonicalName == entity.canonicalName }
                .map { Set($0.storedProperties.map(\.canonicalName)) }
        }
        return known.contains { model in
            names(model).map { $0.contains(property.canonicalName) && $0.contains(former.canonicalName) } ?? false
        }
            || between.contains { model in
                names(model).map { !$0.contains(property.canonicalName) && !$0.contains(former.canonicalName) } ?? true
            }
    }

    private func reason(_ former: Property, _ property: Property, _ old: Entity, _ new: Entity) -> String? {
        if areSimilarNames(former.name, property.name, within: [old.name, new.name]) {
            return "a similar name, the same \(property is Relationship ? "destination" : "type")"
        }
        if let from = former as? Relationship, let to = property as? Relationship, let inverse = from.inverse,
            let kept = to.inverse, inverse.entity !== old || inverse !== from,
            mapping.pair(from: inverse.entity).pair(from: inverse)?.destination === kept
        {
            return "the same inverse, \(kept.entity.name).\(kept.name)"
        }
        let replaced = { (name: String) in name == former.name ? property.name : name }
        let index = old.indexes.first { index in
            index.elements.contains { $0.property == former.name }
                && new.indexes.contains {
                    $0.name == index.name && $0.elements.map(\.property) == index.elements.map { replaced($0.property) }
                }
        }
        if let index { return "its place in the index \"\(index.name)\"" }
        let constraint = old.uniqueConstraints.first {
            $0.count > 1 && $0.contains(former.name) && new.uniqueConstraints.contains($0.map(replaced))
        }
        if constraint != nil { return "its place in a unique constraint" }
        if !former.userInfo.isEmpty, former.userInfo == property.userInfo { return "the same user info" }
        return nil
    }
}

extension LikelyRenames {
    /// Returns the removed entity that an added one probably was, with the reason; nil if no removed entity is similar.
    func origin(of entity: Entity) -> (entity: Entity, reason: String)? {
        let own = shape(of: entity)
        var best: (entity: Entity, shared: Int)?
        for pair in mapping.entities where pair.kind == .remove {
            guard let former = pair.source, !coexisted(entity, former) else { continue }
            let shape = shape(of: former)
            let shared = own.intersection(shape).count
            let all = own.union(shape).count
            let isSimilar = areSimilarNames(former.name, entity.name)
            // At least two thirds of the properties, and at least two, must be the same. If the names of the entities
            // are similar, half of the properties suffice.
            guard shared * 3 >= all * 2 && shared >= 2 || isSimilar && shared * 2 >= all else { continue }
            if best.map({ shared > $0.shared }) ?? true { best = (former, shared) }
        }
        return best.map { ($0.entity, "\($0.shared) of its properties") }
    }

    /// Returns the names and types of the properties that the entity declares.
    private func shape(of entity: Entity) -> Set<String> {
        let own = (entity.ownAttributes as [Property] + entity.ownRelationships).filter { !$0.isTransient }
        return Set(
            own.map { property in
                if let attribute = property as? Attribute { return "\(property.name): \(attribute.type)" }
                return "\(property.name): \((property as? Relationship)?.isToMany == true ? "to-many" : "to-one")"
            })
    }

    private func coexisted(_ entity: Entity, _ former: Entity) -> Bool {
        func names(_ model: Model) -> Set<String> { Set(model.entities.map(\.canonicalName)) }
        return known.contains {
            let names = names($0)
            return names.contains(entity.canonicalName) && names.contains(former.canonicalName)
        }
            || between.contains {
                let names = names($0)
                return !names.contains(entity.canonicalName) && !names.contains(former.canonicalName)
            }
    }
}
