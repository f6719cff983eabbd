import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// What a key path leads to.
enum ResolvedPath {
    case attribute(SQLFragment, Attribute)
    /// The primary key of an object of the entity.
    case object(SQLFragment, Entity, isNullable: Bool)
    case toMany(MemberPath)
}

/// A to-many relationship on a path.
struct MemberPath {
    /// The primary key of the object that has the relationship.
    let owner: SQLFragment
    /// Whether there may be no such object.
    let ownerIsNullable: Bool
    let relationship: Relationship
    let mapping: ToManyMapping
    /// The keys behind the relationship.
    let rest: ArraySlice<KeyName>
}

extension PredicateCompiler {
    /// Follows keys from a scope, joining what lies on the way.
    mutating func resolve(_ keys: ArraySlice<KeyName>, _ scope: Scope) throws -> ResolvedPath {
        var (alias, mapping) = (scope.alias, scope.mapping)
        var owner: SQLFragment = "\(alias, "Z_PK")"
        var isNullable = false
        var path = ""
        var composite: Attribute?
        for index in keys.indices {
            let key = keys[index]
            let rest = keys[(index + 1)...]
            if key.text == "self" || key.text == "objectID" { continue }
            let property = try property(key, mapping.entity, of: composite)
            if let attribute = property as? Attribute, attribute.type == .composite {
                composite = attribute
                continue
            }
            path += path.isEmpty ? key.text : ".\(key.text)"
            switch mapping[property] {
            case .none: throw notStored(property)
            case .attribute(let column):
                guard let attribute = property as? Attribute else { throw notStored(property) }
                if let next = rest.first { throw try beyond(attribute, next) }
                return .attribute("\(alias, column)", attribute)
            case .toMany(let members):
                guard let relationship = property as? Relationship else { throw notStored(property) }
                return .toMany(
                    MemberPath(
                        owner: owner, ownerIsNullable: isNullable, relationship: relationship, mapping: members,
                        rest: rest))
            case .toOne(let target):
                guard let relationship = property as? Relationship else { throw notStored(property) }
                owner = "\(alias, target.column)"
                isNullable = true
                let destination = try schema.mapping(of: relationship.destination)
                guard let next = rest.first, try needsRow(next, destination) else {
                    mapping = destination
                    continue
                }
                let joined = scope.join(
                    path, from: alias, column: target.column, to: destination, alias: newAlias())
                (alias, mapping) = (joined.alias, joined.mapping)
            }
        }
        if let composite { throw NotExpressible("\(composite.path) is composite; as a whole it is compared in memory") }
        return .object(owner, mapping.entity, isNullable: isNullable)
    }

    /// Whether the next key reads a column of the row, not just its primary key.
    private func needsRow(_ key: KeyName, _ mapping: EntityMapping) throws -> Bool {
        if key.text == "self" || key.text == "objectID" { return false }
        if case .toMany = mapping[try property(key, mapping.entity)] { return false }
        return true
    }

    /// The property of a key, or the element of a composite attribute.
    private func property(_ key: KeyName, _ entity: Entity, of composite: Attribute? = nil) throws -> Property {
        let name = composite.map { "\($0.path).\(key.text)" } ?? key.text
        if let property = entity.property(named: name) { return property }
        if key.isOperator {
            throw CoreError(
                .predicate, "\(key.text) computes from a to-many relationship, and \(entity.name) is one object",
                entity: entity.name, key: key.text)
        }
        let near = nearestName(to: name, among: entity.properties.map(\.path))
        throw CoreError(
            .predicate,
            "\(entity.name) has no property \"\(name)\"" + (near.map { "; did you mean \"\($0)\"?" } ?? ""),
            entity: entity.name, key: name)
    }

    private func notStored(_ property: Property) -> CoreError {
        CoreError(
            .predicate,
            "\(property.entity.name).\(property.path) is transient: the store does not know it, so no fetch can ask for it",
            entity: property.entity.name, key: property.path)
    }

    /// A key behind an attribute: a property of the plain value, if it has such a one.
    private func beyond(_ attribute: Attribute, _ key: KeyName) throws -> any Error {
        let known = [
            "length", "description", "uppercaseString", "lowercaseString", "intValue", "integerValue", "longLongValue",
            "doubleValue", "floatValue", "boolValue", "stringValue", "timeIntervalSinceReferenceDate",
            "timeIntervalSince1970",
            "UUIDString", "absoluteString",
        ]
        if attribute.type == .transformable {
            return NotExpressible("what \(attribute.name) holds is looked at in memory")
        }
        if known.contains(key.text) {
            return NotExpressible("\(attribute.name).\(key.text) is computed from the value")
        }
        return CoreError(
            .predicate,
            "\(attribute.entity.name).\(attribute.name) is \(attribute.type.displayName) and has no key "
                + "\"\(key.text)\"", entity: attribute.entity.name, key: key.text)
    }

    /// The scope and the keys of a path expression; nil for other expressions.
    func path(_ expression: Expression, _ environment: Environment) -> (scope: Scope, keys: ArraySlice<KeyName>)? {
        switch expression {
        case .selfObject: return (environment.root, [])
        case .keyPath(let path): return (environment.root, path.keys[...])
        case .path(.selfObject, let path): return (environment.root, path.keys[...])
        case .variable(let name): return environment.variables[name].map { ($0, []) }
        case .path(.variable(let name), let path): return environment.variables[name].map { ($0, path.keys[...]) }
        default: return nil
        }
    }
}
