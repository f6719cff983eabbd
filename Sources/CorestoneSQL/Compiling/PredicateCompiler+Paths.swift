import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// The result of resolving a key path.
enum ResolvedPath {
    case attribute(AttributeValue)
    /// The primary key of an object of the entity.
    case object(SQLFragment, ObjectEntity, isNullable: Bool)
    case toMany(MemberPath)
}

/// The column of an attribute, and the keys that are evaluated on its value.
struct AttributeValue {
    let sql: SQLFragment
    let attribute: Attribute
    let rest: ArraySlice<KeyName>
}

/// A to-many relationship on a path.
struct MemberPath {
    /// The primary key of the object that has the relationship.
    let owner: SQLFragment
    /// Whether that object may be nil.
    let ownerIsNullable: Bool
    let relationship: Relationship
    let mapping: ToManyMapping
    /// The keys after the relationship.
    let rest: ArraySlice<KeyName>
}

extension PredicateCompiler {
    /// Resolves keys from a scope, and joins the tables on the path.
    mutating func resolve(_ keys: ArraySlice<KeyName>, _ scope: Scope) throws -> ResolvedPath {
        var (alias, mapping) = (scope.alias, scope.mapping)
        var owner: SQLFragment = "\(alias, "Z_PK")"
        var number: SQLFragment? = mapping.hasEntityColumn ? "\(alias, "Z_ENT")" : nil
        var isNullable = false
        var path = ""
        var composite: Attribute?
        for index in keys.indices {
            let key = keys[index]
            let rest = keys[(index + 1)...]
            if key.text == "self" || key.text == "objectID" { continue }
            if key.isOperator { throw unsuitedOperator(key, behind: keys[..<index], scope.mapping.entity) }
            let property = try property(key, mapping.entity, of: composite)
            let reached = mapping.entity
            if !reached.isKind(of: property.entity) { mapping = try subentityMapping(of: mapping, with: property) }
            if let attribute = property as? Attribute, attribute.type == .composite {
                composite = attribute
                continue
            }
            path += path.isEmpty ? key.text : ".\(key.text)"
            switch mapping[property] {
            case .none: throw notStored(property)
            case .attribute(let column):
                guard let attribute = property as? Attribute else { throw notStored(property) }
                if let next = rest.first { try requireKnown(next, of: attribute) }
                return .attribute(
                    AttributeValue(
                        sql: try polymorphic(column, alias, of: attribute, reached), attribute: attribute, rest: rest))
            case .toMany(let members):
                guard let relationship = property as? Relationship else { throw notStored(property) }
                return .toMany(
                    MemberPath(
                        owner: owner, ownerIsNullable: isNullable, relationship: relationship, mapping: members,
                        rest: rest))
            case .toOne(let target):
                guard let relationship = property as? Relationship else { throw notStored(property) }
                owner = "\(alias, target.column)"
                number = target.entityColumn.map { "\(alias, $0)" }
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
        if let composite {
            throw NotExpressible("\(composite.entity.name).\(composite.path) is composite and is compared in memory")
        }
        return .object(owner, ObjectEntity(entity: mapping.entity, number: number), isNullable: isNullable)
    }

    /// Whether the next key reads a column of the row, not just its primary key.
    private func needsRow(_ key: KeyName, _ mapping: TableMapping) throws -> Bool {
        if key.text == "self" || key.text == "objectID" { return false }
        // `resolve` throws the error for an operator, with the whole path.
        if key.isOperator { return true }
        if case .toMany = mapping[try property(key, mapping.entity)] { return false }
        return true
    }

    /// Returns the property of a key, or the element of a composite attribute.
    private func property(_ key: KeyName, _ entity: Entity, of composite: Attribute? = nil) throws -> Property {
        let name = composite.map { "\($0.path).\(key.text)" } ?? key.text
        if let property = entity.property(named: name) { return property }
        // A predicate can read a property of a subentity. The property is nil for objects of other entities.
        if let subentity = entity.withDescendants.first(where: { $0.property(named: name) != nil }),
            let property = subentity.property(named: name)
        {
            return property
        }
        if name == "entity" { throw NotExpressible("the entity of \(entity.name) objects is evaluated in memory") }
        if entity.fetchedProperty(named: name) != nil {
            throw NotExpressible("\(entity.name).\(name) is a fetched property, which is evaluated in memory")
        }
        let near = nearestName(to: name, among: entity.properties.map(\.path))
        throw CoreError(
            .predicate,
            "\(entity.name) has no property \"\(name)\"" + (near.map { "; did you mean \"\($0)\"?" } ?? ""),
            entity: entity.name, key: name)
    }

    /// Creates the error for a key with `@` after a path to a single object.
    private func unsuitedOperator(_ key: KeyName, behind keys: ArraySlice<KeyName>, _ entity: Entity) -> CoreError {
        let path = keys.map(\.text).joined(separator: ".")
        let object = keys.isEmpty ? "\(entity.name) is a single object" : "\(entity.name).\(path) is a single value"
        let near = nearestName(to: key.text, among: CollectionOperator.allCases.map(\.rawValue))
        let text =
            key.collectionOperator == nil
            ? "\"\(key.text)\" is not a collection operator"
                + (near.map { "; did you mean \"\($0)\"?" } ?? "; use @count, @sum, @avg, @min or @max")
            : "\(key.text) applies to a to-many relationship, but \(object)"
        let isKnown = key.collectionOperator != nil
        return CoreError(
            .predicate, text, entity: entity.name,
            key: keys.isEmpty ? key.text : isKnown ? path : "\(path).\(key.text)")
    }

    /// Returns the SQL that reads the value of an attribute.
    ///
    /// If subentities store attributes of this name in different columns, the SQL reads the column that the row's
    /// entity uses.
    private func polymorphic(
        _ column: String, _ alias: Alias, of attribute: Attribute, _ entity: Entity
    ) throws -> SQLFragment {
        if entity.isKind(of: attribute.entity) { return "\(alias, column)" }
        var columns: [String] = []
        for subentity in entity.withDescendants {
            guard let other = subentity.property(named: attribute.path) else { continue }
            guard let same = other as? Attribute, same.type == attribute.type,
                case .attribute(let column) = try schema.mapping(of: subentity)[same]
            else {
                throw NotExpressible(
                    "\(attribute.entity.name).\(attribute.path) is defined differently in \(subentity.name)")
            }
            if !columns.contains(column) { columns.append(column) }
        }
        if columns.count == 1 { return "\(alias, column)" }
        return "COALESCE(\(columns.map { "\(alias, $0)" as SQLFragment }.joined(separator: ", ")))"
    }

    /// Returns the mapping of the first subentity that has a property.
    private func subentityMapping(of mapping: TableMapping, with property: Property) throws -> TableMapping {
        let subentities = mapping.entity.withDescendants.filter { $0.property(named: property.path) != nil }
        if property is Relationship, subentities.contains(where: { $0.property(named: property.path) !== property }) {
            throw NotExpressible(
                "several subentities of \(mapping.entity.name) have a relationship \"\(property.path)\", which is evaluated in memory"
            )
        }
        return try schema.mapping(of: subentities[0])
    }

    private func notStored(_ property: Property) -> NotExpressible {
        NotExpressible("\(property.entity.name).\(property.path) is transient and not in the store")
    }

    /// Throws an error for a key that no type of value has. The value of a transformable attribute may have any key.
    private func requireKnown(_ key: KeyName, of attribute: Attribute) throws {
        let known = [
            "self", "length", "description", "uppercaseString", "lowercaseString", "intValue", "integerValue",
            "longLongValue", "doubleValue", "floatValue", "boolValue", "stringValue", "timeIntervalSinceReferenceDate",
            "timeIntervalSince1970", "UUIDString", "absoluteString",
        ]
        if attribute.type == .transformable || known.contains(key.text) { return }
        let own = Operand.Kind(attribute.type).sample?.knownKeys ?? known
        throw CoreError(
            .predicate,
            "\(attribute.entity.name).\(attribute.path) is of type \(attribute.type.displayName) and has no key "
                + "\"\(key.text)\""
                + (nearestName(to: key.text, among: own).map { "; did you mean \"\($0)\"?" } ?? ""),
            entity: attribute.entity.name, key: "\(attribute.path).\(key.text)")
    }

    /// Returns the entity and key of an operand for an error: those of its attribute, or of its key path.
    func names(
        of operand: Operand, _ expression: Expression, _ environment: Environment
    ) -> (entity: String?, key: String?) {
        if let attribute = operand.attribute { return (attribute.entity.name, attribute.path) }
        guard let (scope, keys) = path(expression, environment), !keys.isEmpty else { return (nil, nil) }
        return (scope.mapping.entity.name, keys.map(\.text).joined(separator: "."))
    }

    /// Returns the scope and the keys of a path expression, or nil for other expressions.
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

extension Operand.Kind {
    /// A value of the kind, for its keys; nil for objects and lists.
    fileprivate var sample: PropertyValue? {
        switch self {
        case .integer, .real, .number, .decimal: .int(0)
        case .text: .string("")
        case .uri: .uri(Text(""))
        case .date: .date(0)
        case .bytes: .bytes(Bytes([]))
        case .uuid: .uuid(UUIDValue(high: 0, low: 0))
        case .null, .object, .list: nil
        }
    }
}
