import CorestonePredicate

/// The resolution of key paths in a model that does not have to be frozen.
extension Entity {
    /// Returns the property of each key, as far as the path can be resolved.
    ///
    /// The property is nil for operators and unknown keys. A key may be the name of a property of a subentity of the
    /// current entity, or of an element of the preceding composite attribute.
    func properties(along path: KeyPath) -> [Property?] {
        var found: [Property?] = []
        var current: Entity? = self
        var composite: Attribute?
        for key in path.keys {
            if key.isOperator {
                found.append(nil)
                continue
            }
            if let element = composite?.elements.first(where: { $0.name == key.text }) {
                found.append(element)
                composite = element
                continue
            }
            let property = current.flatMap { entity in
                entity.anyProperty(named: key.text)
                    ?? entity.withDescendants.lazy.compactMap { $0.ownByName[key.text] }.first
            }
            found.append(property)
            current = property?.target
            composite = property as? Attribute
        }
        return found
    }

    /// Returns the entity of the last relationship or fetched property on a path; nil without one.
    func destination(along path: KeyPath) -> Entity? {
        properties(along: path).compactMap { $0?.target }.last
    }

    /// Returns the entity of the objects that an expression returns for an object of this entity; nil if unknown.
    func reached(by expression: Expression, _ variables: [String: Entity]) -> Entity? {
        switch expression {
        case .selfObject: self
        case .variable(let name): variables[name]
        case .keyPath(let path): properties(along: path).last??.target
        case .path(let base, let path):
            reached(by: base, variables).flatMap { $0.properties(along: path).last??.target }
        case .subquery(let collection, _, _): reached(by: collection, variables)
        case .indexed(let base, _), .setOperation(_, let base, _): reached(by: base, variables)
        default: nil
        }
    }
}

extension Property {
    /// The entity of a relationship's members or of a fetched property's results; nil for an attribute.
    fileprivate var target: Entity? {
        switch self {
        case let relationship as Relationship: relationship.destination
        case let fetched as FetchedProperty: entity.model.entity(named: fetched.fetchRequest.entityName)
        default: nil
        }
    }
}
