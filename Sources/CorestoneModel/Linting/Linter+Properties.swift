import CorestonePredicate
import CorestoneValues

extension Linter {
    mutating func lint(_ attribute: Attribute) {
        let (entity, shown) = (attribute.entity, "\(attribute.entity.name).\(attribute.path)")
        let isStored = !attribute.isTransient && attribute.derivation == nil
        if !attribute.isOptional, isStored, attribute.defaultValue.isNull, attribute.type != .composite {
            add(
                .requiredWithoutDefault, entity, attribute.name,
                "\(shown) is required but does not have a default value",
                "set a default value, or make it optional: a migration needs a value for existing rows")
        }
        for rule in attribute.validationRules where rule.predicate.predicate == nil {
            addUnreadable(rule.predicate, entity, attribute.name, shown)
        }
        guard let derivation = attribute.derivation else { return }
        guard let expression = derivation.expression.expression else {
            let reason = derivation.expression.foreign.map { ": \($0.reason)" } ?? ""
            return add(
                .unsupportedDerivation, entity, attribute.name,
                "\(shown) is derived by \"\(derivation.expression.text)\", which cannot be read\(reason)",
                "correct the expression")
        }
        if let obstacle = derivation.intermediateOperator {
            return add(
                .unsupportedDerivation, entity, attribute.name,
                "\(shown) is derived by \"\(derivation.expression.text)\", \(obstacle)",
                "move the operator to the end of the key path")
        }
        if derivation.filter != nil {
            add(
                .unsupportedDerivation, entity, attribute.name,
                "\(shown) is derived by \"\(derivation.expression.text)\" with a filter, which stores cannot compute",
                "remove the filter")
        } else if !attribute.canBeDerived(by: expression) {
            add(
                .unsupportedDerivation, entity, attribute.name,
                "\(shown) is derived by \"\(derivation.expression.text)\", which stores cannot compute for the type "
                    + attribute.type.displayName,
                "use a key path over at most one to-one relationship" + attribute.type.derivingFunctions)
        }
        for path in expression.keyPaths {
            lint(path, from: entity, entity, attribute.name, "the derivation of \(shown)")
        }
    }

    mutating func lint(_ relationship: Relationship) {
        let (entity, name) = (relationship.entity, relationship.name)
        let shown = "\(entity.name).\(name)"
        if relationship.deleteRule == .noAction {
            add(
                .noAction, entity, name, "\(shown) has the delete rule No Action, which leaves dangling references",
                "set the delete rule to Nullify, Cascade or Deny")
        }
        for rule in relationship.validationRules {
            guard rule.predicate.predicate != nil else {
                addUnreadable(rule.predicate, entity, name, shown)
                continue
            }
            lint(
                rule.predicate, of: relationship.destination, entity, name, "a validation predicate of \(shown)",
                isCollection: relationship.isToMany)
        }
        guard let inverse = relationship.inverse else {
            return add(
                .noInverse, entity, name,
                "\(shown) does not have an inverse: the other side is not updated, and a deletion searches the table",
                "add a relationship from \(relationship.destination.name) to \(entity.name), and set it as the inverse")
        }
        let shownInverse = "\(inverse.entity.name).\(inverse.name)"
        if inverse.inverse !== relationship {
            add(
                .inverseMismatch, entity, name,
                "\(shown) and its inverse, \(shownInverse), do not refer to each other",
                "set each as the inverse of the other, with the other's entity as its destination")
        } else if !inverse.canContain(entity) {
            add(
                .inverseMismatch, entity, name,
                "\(shown) has the inverse \(shownInverse), whose destination is \(inverse.destination.name) instead of "
                    + entity.name,
                "set the destination of \(shownInverse) to \(entity.name), or set another inverse")
        } else if !relationship.canContain(inverse.entity) {
            add(
                .inverseMismatch, entity, name,
                "\(shown) has the destination \(relationship.destination.name), but its inverse \(shownInverse) "
                    + "belongs to \(inverse.entity.name)",
                "set the destination to \(inverse.entity.name), or set another inverse")
        }
        let bothCascade = relationship.deleteRule == .cascade && inverse.deleteRule == .cascade
        if bothCascade, inverse === relationship || (entity.name, name) < (inverse.entity.name, inverse.name) {
            add(
                .cascadeBothWays, entity, name,
                "\(shown) and its inverse both cascade: deleting one object deletes every connected object",
                inverse === relationship
                    ? "set the delete rule to Nullify"
                    : "set the delete rule on the side of the owned objects to Nullify")
        }
    }

    mutating func lint(_ fetched: FetchedProperty) {
        let (entity, shown) = (fetched.entity, "\(fetched.entity.name).\(fetched.name)")
        lint(fetched.fetchRequest, of: entity, fetched.name, "the fetched property \(shown)", in: entity.model)
        let known: Set<String> = ["FETCH_SOURCE", "FETCHED_PROPERTY"]
        for variable in fetched.fetchRequest.predicate?.predicate?.freeVariables ?? [] where !known.contains(variable) {
            add(
                .unknownVariable, entity, fetched.name, "\(shown) uses $\(variable), which does not have a value",
                "use $FETCH_SOURCE or $FETCHED_PROPERTY")
        }
    }

    mutating func lint(_ request: FetchRequestTemplate, name: String, in model: Model) {
        lint(request, of: nil, nil, "the fetch request template \"\(name)\"", in: model)
    }

    private mutating func lint(
        _ request: FetchRequestTemplate, of owner: Entity?, _ key: String?, _ subject: String, in model: Model
    ) {
        guard let entity = model.entity(named: request.entityName) else {
            return add(
                .unknownEntity, owner, key,
                "\(subject) fetches \"\(request.entityName)\", which is not an entity of the model",
                "set an entity of the model, or add the entity")
        }
        if let predicate = request.predicate { lint(predicate, of: entity, owner ?? entity, key, subject) }
        for descriptor in request.sortDescriptors {
            lint(descriptor.path, from: entity, owner ?? entity, key, subject)
        }
        for path in request.relationshipKeyPathsForPrefetching {
            lint(KeyPath(path), from: entity, owner ?? entity, key, subject)
        }
    }
}

// MARK: - Predicates and expressions

extension Linter {
    /// Checks the key paths of a predicate.
    ///
    /// - Parameter isCollection: whether the predicate applies to the members as a collection, which has additional
    ///   keys.
    mutating func lint(
        _ text: PredicateText, of entity: Entity, _ owner: Entity, _ key: String?, _ subject: String,
        isCollection: Bool = false
    ) {
        guard let predicate = text.predicate else { return addUnreadable(text, owner, key, subject) }
        for path in predicate.keyPaths {
            if isCollection && path.keys[0].isOperator { continue }
            lint(path, from: entity, owner, key, subject)
        }
    }

    private mutating func addUnreadable(_ text: PredicateText, _ owner: Entity, _ key: String?, _ subject: String) {
        let reason = text.foreign.map { ": \($0.reason)" } ?? ""
        add(
            .unreadablePredicate, owner, key,
            "\(subject) has the predicate \"\(text.text)\", which cannot be read\(reason)", "correct the predicate")
    }

    mutating func lint(expression text: ExpressionText, of entity: Entity, _ key: String?, _ subject: String) {
        guard let expression = text.expression else {
            let reason = text.foreign.map { ": \($0.reason)" } ?? ""
            return add(
                .unreadablePredicate, entity, key,
                "\(subject) has the expression \"\(text.text)\", which cannot be read\(reason)",
                "correct the expression")
        }
        for path in expression.keyPaths { lint(path, from: entity, entity, key, subject) }
    }

    mutating func lint(_ path: KeyPath, from entity: Entity, _ owner: Entity, _ key: String?, _ subject: String) {
        let found = entity.properties(along: path)
        for (name, property) in zip(path.keys, found) {
            if name.isOperator { continue }
            guard let property else {
                if ["self", "SELF", "objectID", "entity"].contains(name.text) { return }
                return add(
                    .unknownKey, owner, key,
                    "\(subject) uses the key path \"\(path.text)\" with the unknown property \"\(name.text)\"",
                    "correct the key path, or add the property")
            }
            if property.isTransient {
                add(
                    .transientInPredicate, owner, key,
                    "\(subject) uses \(property.entity.name).\(property.name), which is transient and not stored",
                    "make it persistent, or use another property")
            }
            // Keys within a value cannot be checked.
            if property is Attribute { return }
        }
    }
}

extension Attribute {
    /// Whether stores can compute this attribute with an expression of this form.
    ///
    /// Unknown keys are reported separately.
    fileprivate func canBeDerived(by expression: Expression) -> Bool {
        switch expression {
        case .keyPath(let path):
            let relationships = relationships(along: path)
            return relationships.count <= 1 && !relationships.contains(where: \.isToMany)
        case .function(.now, _): return type == .date
        case .function(.count, let arguments):
            guard case .keyPath(let path)? = arguments.first else { return false }
            return type.isNumeric && path.keys.count == 1
        case .function(.sum, let arguments):
            guard case .keyPath(let path)? = arguments.first else { return false }
            let relationships = relationships(along: path)
            return type.isNumeric && relationships.count == 1 && relationships[0].isToMany
        case .function(let function, let arguments):
            guard [.canonical, .uppercase, .lowercase].contains(function), case .keyPath(let path)? = arguments.first
            else { return false }
            return type == .string && relationships(along: path).isEmpty
        default: return false
        }
    }

    private func relationships(along path: KeyPath) -> [Relationship] {
        entity.properties(along: path).compactMap { $0 as? Relationship }
    }
}

extension AttributeType {
    /// The functions that can compute an attribute of the type, as the end of a remedy.
    fileprivate var derivingFunctions: String {
        if isNumeric { return ", count:() of a to-many relationship, or sum:() of an attribute of its destination" }
        switch self {
        case .string: return ", or canonical:(), uppercase:() or lowercase:() of an attribute"
        case .date: return ", or now()"
        default: return ""
        }
    }

    fileprivate var isNumeric: Bool {
        switch self {
        case .integer16, .integer32, .integer64, .decimal, .double, .float: true
        default: false
        }
    }
}
