import CorestonePredicate
import CorestoneValues

extension Property {
    /// Renames the property and all references to it.
    ///
    /// The references are in indexes, constraints, validators, the localisation, and the key paths of predicates,
    /// derivations and sort descriptors. Text that cannot be parsed here is not changed.
    public func rename(to newName: String) throws {
        try edit {
            if newName == name { return }
            if let composite = (self as? Attribute)?.composite { return try renameElement(of: composite, to: newName) }
            try entity.checkFreeName(newName)
            PropertyRenaming(self, newName).followEverywhere()
            let (model, former) = (entity.model, name)
            entity.ownByName[former] = nil
            entity.ownByName[newName] = self
            for owner in entity.withDescendants { owner.follow(former, newName) }
            let owners = Set(entity.withDescendants.map(\.name))
            model.mapLocalization { key in
                let parts = key.split(separator: "/", omittingEmptySubsequences: false)
                guard parts.count == 4, parts[0] == "Property", parts[1] == former, owners.contains(String(parts[3]))
                else { return nil }
                return "Property/\(newName)/Entity/\(parts[3])"
            }
            if let words = model.localizationTexts["Property/" + former] {
                if !model.isNameShared(self) { model.localizationTexts["Property/" + former] = nil }
                model.localizationTexts["Property/" + newName] = words
            }
            name = newName
        }
    }
}

extension Property {
    /// Renames an element, whose name must be unique within its composite attribute.
    ///
    /// Indexes, constraints and validators refer to the element by its path, and to its own elements by longer paths.
    private func renameElement(of composite: Attribute, to newName: String) throws {
        try checkName(newName, of: "an element", in: entity.name, composite: composite.path)
        guard !composite.elements.contains(where: { $0.name == newName }) else {
            throw modelError(
                "\(entity.name).\(composite.path) already has an element \"\(newName)\"; choose another name",
                entity: entity.name, key: "\(composite.path).\(newName)")
        }
        PropertyRenaming(self, newName).followEverywhere()
        let former = path
        name = newName
        let (newPath, begin) = (path, former + ".")
        func following(_ key: String) -> String {
            key == former ? newPath : key.hasPrefix(begin) ? newPath + key.dropFirst(former.count) : key
        }
        for owner in entity.withDescendants { owner.followElements(following) }
    }
}

extension Entity {
    fileprivate func followElements(_ following: (String) -> String) {
        validators.values = validators.values.map { (following($0.key), $0.check) }
        uniqueConstraints = uniqueConstraints.map { $0.map(following) }
        indexes = indexes.map { index in
            FetchIndex(
                name: index.name,
                elements: index.elements.map { element in
                    guard element.expression == nil else { return element }
                    return FetchIndex.Element(
                        property: following(element.property), collation: element.collation,
                        isAscending: element.isAscending)
                },
                partialPredicate: index.partialPredicate
            ).spelt(index.spelling)
        }
    }

    fileprivate func follow(_ former: String, _ name: String) {
        validators.values = validators.values.map { ($0.key == former ? name : $0.key, $0.check) }
        uniqueConstraints = uniqueConstraints.map { $0.map { $0 == former ? name : $0 } }
        indexes = indexes.map { index in
            // An index for a single attribute has the name of the attribute.
            let isOwn = index.isPlain && index.name == former && index.elements[0].property == former
            return FetchIndex(
                name: isOwn ? name : index.name,
                elements: index.elements.map { element in
                    element.expression == nil ? element.following(former, name) : element
                },
                partialPredicate: index.partialPredicate
            ).spelt(index.spelling)
        }
    }
}

extension FetchIndex.Element {
    /// Returns the index element after the renaming of a property, also as the first key of a path.
    fileprivate func following(_ former: String, _ name: String) -> FetchIndex.Element {
        var keys = KeyPath(property).keys
        guard keys[0].text == former else { return self }
        keys[0] = KeyName(name)
        return FetchIndex.Element(property: KeyPath(keys: keys).text, collation: collation, isAscending: isAscending)
    }
}

/// The renaming of a property in the key paths of a model. The property still has its former name.
private struct PropertyRenaming {
    private let property: Property
    private let newName: String

    init(_ property: Property, _ newName: String) {
        self.property = property
        self.newName = newName
    }

    func followEverywhere() {
        let model = property.entity.model
        model.fetchRequestTemplates = model.fetchRequestTemplates.mapValues { renamed($0) }
        for entity in model.entities {
            entity.indexes = entity.indexes.map { renamed($0, of: entity) }
            for attribute in entity.ownAttributes {
                guard let derivation = attribute.derivation else { continue }
                attribute.derivation = renamed(derivation, of: entity)
            }
            for relationship in entity.ownRelationships {
                relationship.validationRules = relationship.validationRules.map { rule in
                    ValidationRule(renamed(rule.predicate, from: relationship.destination), warning: rule.warning)
                }
            }
            for fetched in entity.ownFetchedProperties {
                fetched.fetchRequest = renamed(fetched.fetchRequest, source: entity)
            }
        }
    }

    private func renamed(_ request: FetchRequestTemplate, source: Entity? = nil) -> FetchRequestTemplate {
        guard let entity = property.entity.model.entity(named: request.entityName) else { return request }
        var request = request
        let variables = source.map { ["FETCH_SOURCE": $0] } ?? [:]
        request.predicate = request.predicate.map { renamed($0, from: entity, variables) }
        request.sortDescriptors = request.sortDescriptors.map { descriptor in
            SortDescriptor(
                path: renamed(descriptor.path, from: entity), ascending: descriptor.ascending,
                selector: descriptor.selector)
        }
        request.relationshipKeyPathsForPrefetching = request.relationshipKeyPathsForPrefetching.map {
            renamed(KeyPath($0), from: entity).text
        }
        return request
    }

    private func renamed(_ index: FetchIndex, of entity: Entity) -> FetchIndex {
        FetchIndex(
            name: index.name,
            elements: index.elements.map { element in
                guard let expression = element.expression else { return element }
                return FetchIndex.Element(
                    expression: expression.mapping { self.expression($0, from: entity, [:]) }, named: element.property,
                    type: element.expressionType, collation: element.collation, isAscending: element.isAscending)
            }, partialPredicate: index.partialPredicate.map { renamed($0, from: entity) }
        ).spelt(index.spelling)
    }

    private func renamed(_ derivation: Derivation, of entity: Entity) -> Derivation {
        // The filter applies to the members of the relationship in the expression.
        var members: Entity?
        if case .function(_, let arguments)? = derivation.expression.expression,
            case .keyPath(let path)? = arguments.first
        {
            members = entity.destination(along: path)
        }
        return Derivation(
            derivation.expression.mapping { expression($0, from: entity, [:]) },
            filter: members.flatMap { members in derivation.filter.map { renamed($0, from: members) } }
                ?? derivation.filter)
    }

    private func renamed(
        _ text: PredicateText, from entity: Entity, _ variables: [String: Entity] = [:]
    ) -> PredicateText {
        text.mapping { predicate in
            predicate.mapExpressions { replacement($0, from: entity, variables) }
        }
    }

    private func expression(_ expression: Expression, from entity: Entity, _ variables: [String: Entity]) -> Expression
    {
        expression.mapped { replacement($0, from: entity, variables) }
    }

    /// Returns the replacement of an expression with key paths.
    ///
    /// Returns nil for other expressions, whose parts are visited next.
    private func replacement(
        _ expression: Expression, from entity: Entity, _ variables: [String: Entity]
    ) -> Expression? {
        switch expression {
        case .keyPath(let path): return .keyPath(renamed(path, from: entity))
        case .path(let base, let path):
            let start = entity.reached(by: base, variables)
            return .path(
                self.expression(base, from: entity, variables), start.map { renamed(path, from: $0) } ?? path)
        case .subquery(let collection, let name, let condition):
            var inner = variables
            inner[name] = entity.reached(by: collection, variables)
            return .subquery(
                self.expression(collection, from: entity, variables), variable: name,
                condition.mapExpressions { replacement($0, from: entity, inner) })
        default: return nil
        }
    }

    private func renamed(_ path: KeyPath, from entity: Entity) -> KeyPath {
        var keys = path.keys
        for (place, found) in entity.properties(along: path).enumerated() where found === property {
            keys[place] = KeyName(newName)
        }
        return KeyPath(keys: keys)
    }
}
