import CorestoneValues

extension ModelOutline {
    /// One way in which a model departs from the compiled one.
    public struct Difference: Sendable, Equatable {
        public let entity: String
        /// The property; nil when the entity itself differs.
        public let key: String?
        /// A clause for a message: `Package.size is Integer 32 in the store and Integer 64 in the model`.
        public let text: String
    }

    /// What makes the entities of `model` hash otherwise than those of this one: entities by name, properties by name
    /// within them. An inherited property is named once, with the entity that declares it.
    public func differences(from model: Model) -> [Difference] {
        let outline = ModelOutline(model)
        var found: [Difference] = []
        for name in sortedByBytes(Set(entities.keys).union(outline.entities.keys)) {
            switch (entities[name], outline.entities[name]) {
            case (let stored?, let wanted?): found += stored.differences(from: wanted, name: name)
            case (nil, _): found.append(Difference(entity: name, key: nil, text: "\(name) is in the model only"))
            case (_, nil): found.append(Difference(entity: name, key: nil, text: "\(name) is in the store only"))
            }
        }
        return found.filter { difference in
            guard let key = difference.key, let parent = entities[difference.entity]?.parent else { return true }
            return !found.contains { $0.entity == parent && $0.key == key }
        }
    }

    /// The outline of a model in memory.
    public init(_ model: Model) {
        versionIdentifiers = model.versionIdentifiers
        for entity in model.entities {
            entities[entity.name] = Entity(
                isAbstract: entity.isAbstract, parent: entity.parent?.name,
                versionHashModifier: entity.versionHashModifier, uniqueConstraints: entity.uniqueConstraints,
                properties: Dictionary(
                    entity.allProperties.map { ($0.name, Property($0)) }, uniquingKeysWith: { first, _ in first }))
        }
    }
}

extension ModelOutline.Property {
    init(_ property: CorestoneModel.Property) {
        let isDerived = (property as? Attribute)?.derivation != nil
        kind = property is Relationship ? .relationship : isDerived ? .derivedAttribute : .attribute
        isOptional = property.isOptional
        isTransient = property.isTransient
        versionHashModifier = property.versionHashModifier
        if let attribute = property as? Attribute {
            typeCode = Int64(attribute.type.rawValue)
            allowsExternalStorage = attribute.allowsExternalStorage
            preservesValueInHistory = attribute.preservesValueInHistory
        } else if let relationship = property as? Relationship {
            destination = relationship.destination.name
            inverse = relationship.inverse?.name
            (minimumCount, maximumCount) = (Int64(relationship.minimumCount), Int64(relationship.maximumCount))
            isOrdered = relationship.isOrdered
        }
    }

    /// Whether the entity's version hash and the store have a place for it.
    var isPersistent: Bool { !isTransient && kind != .fetchedProperty }

    /// The first difference that counts, as both sides have it.
    func difference(from other: ModelOutline.Property) -> (stored: String, wanted: String)? {
        for (stored, wanted) in zip(clauses, other.clauses) where stored != wanted { return (stored, wanted) }
        return nil
    }

    /// What the version hash takes in, each as a predicate of the property, always in this order.
    private var clauses: [String] {
        let bound = maximumCount > 0 ? "at most \(maximumCount) members" : "any number of members"
        return [
            kind.text, "is \(ModelOutline.typeName(typeCode))", "leads to \(destination ?? "nothing")",
            "has \(inverse.map { "the inverse \($0)" } ?? "no inverse")",
            maximumCount == 1 ? "is to-one" : "is to-many with \(bound)", "has at least \(minimumCount) members",
            isOptional ? "is optional" : "is required", isOrdered ? "is ordered" : "is not ordered",
            allowsExternalStorage ? "may be stored in files" : "is not stored in files",
            preservesValueInHistory ? "is preserved in the history" : "is not preserved in the history",
            "has \(versionHashModifier.map { "the version hash modifier \"\($0)\"" } ?? "no version hash modifier")",
        ]
    }
}

extension ModelOutline {
    static func typeName(_ code: Int64) -> String {
        Int32(exactly: code).flatMap { AttributeType(rawValue: $0)?.displayName } ?? "of the type \(code)"
    }
}

extension ModelOutline.Property.Kind {
    fileprivate var text: String {
        switch self {
        case .attribute: "is an attribute"
        case .derivedAttribute: "is a derived attribute"
        case .relationship: "is a relationship"
        case .fetchedProperty: "is a fetched property"
        }
    }
}

extension ModelOutline.Entity {
    fileprivate func differences(from other: ModelOutline.Entity, name: String) -> [ModelOutline.Difference] {
        var found: [ModelOutline.Difference] = []
        func add(_ key: String?, _ text: String) {
            let subject = key.map { "\(name).\($0)" } ?? name
            found.append(ModelOutline.Difference(entity: name, key: key, text: "\(subject) \(text)"))
        }
        func abstract(_ flag: Bool) -> String { flag ? "abstract" : "not abstract" }
        if isAbstract != other.isAbstract {
            add(nil, "is \(abstract(isAbstract)) in the store and \(abstract(other.isAbstract)) in the model")
        }
        if parent != other.parent {
            add(
                nil,
                "inherits from \(parent ?? "nothing") in the store and from \(other.parent ?? "nothing") in the model")
        }
        let (mine, theirs) = (properties.filter(\.value.isPersistent), other.properties.filter(\.value.isPersistent))
        for key in sortedByBytes(Set(mine.keys).union(theirs.keys)) {
            switch (mine[key], theirs[key]) {
            case (let stored?, let wanted?):
                guard let difference = stored.difference(from: wanted) else { continue }
                add(key, "\(difference.stored) in the store and \(difference.wanted) in the model")
            case (nil, _): add(key, "is in the model only")
            case (_, nil): add(key, "is in the store only")
            }
        }
        func constraints(_ list: [[String]]) -> [String] { sortedByBytes(list.map { $0.joined(separator: ", ") }) }
        func text(_ list: [String]) -> String {
            list.isEmpty ? "no unique constraint" : "unique (\(list.joined(separator: "), ("))" + ")"
        }
        let (stored, wanted) = (constraints(uniqueConstraints), constraints(other.uniqueConstraints))
        if stored != wanted { add(nil, "has \(text(stored)) in the store and \(text(wanted)) in the model") }
        if versionHashModifier != other.versionHashModifier {
            add(nil, "has another version hash modifier in the store than in the model")
        }
        return found
    }
}
