import Corestone

/// A field of an object that `fetch` prints.
enum Field {
    case id
    case entity
    /// An attribute. It is identified by name, because subentities of the fetched entity can have different properties
    /// with the same name.
    case attribute(String, isNumber: Bool)
    case toOne(String)
    case toMany(String)

    var name: String {
        switch self {
        case .id: "@id"
        case .entity: "@entity"
        case .attribute(let name, _), .toOne(let name), .toMany(let name): name
        }
    }

    var isToMany: Bool { if case .toMany = self { true } else { false } }
    var isNumber: Bool {
        switch self {
        case .attribute(_, let isNumber): isNumber
        case .toMany: true
        default: false
        }
    }
}

extension Field {
    init(_ property: Property) {
        if let relationship = property as? Relationship {
            self = relationship.isToMany ? .toMany(property.name) : .toOne(property.name)
        } else {
            self = .attribute(property.path, isNumber: (property as? Attribute)?.type.isNumber ?? false)
        }
    }

    /// The order of fields: attributes, then to-one relationships, then to-many relationships.
    private var rank: Int {
        switch self {
        case .id, .entity: 0
        case .attribute: 1
        case .toOne: 2
        case .toMany: 3
        }
    }

    /// Returns all fields of an entity and its subentities, in the order of output.
    static func all(of entity: Entity) -> [Field] {
        var all: [Field] = [.id, .entity]
        var taken = Set(all.map(\.name))
        for each in entity.withDescendants {
            // A composite attribute is listed by its elements. The properties of the fetched entity include inherited
            // ones; those of a subentity are listed only if it declares them.
            for property in each === entity ? each.properties : each.properties.filter({ $0.entity === each })
            where !property.isTransient && !property.isComposite {
                if taken.insert(property.path).inserted { all.append(Field(property)) }
            }
        }
        return (0...3).flatMap { rank in all.filter { $0.rank == rank } }
    }

    /// Returns the field of a name. The error for another name contains a similar one.
    static func of(_ entity: Entity, named name: String) throws -> Field {
        let all = all(of: entity)
        if let field = all.first(where: { $0.name == name }) { return field }
        let composite = entity.withDescendants.lazy.compactMap { $0.property(named: name) as? Attribute }
            .first { $0.isComposite && !$0.isTransient }
        if let composite {
            throw UsageError(
                "\(composite.entity.name).\(name) is a composite attribute; use its elements: "
                    + composite.leaves.map(\.path).abridged)
        }
        let known = all.map(\.name) + [FetchColumn.count.name]
        let hint = nearestName(to: name, among: known).map { "did you mean \"\($0)\"?" }
        let remedy =
            known.count > 10 ? "list its properties with \(Tool.name) show" : "use one of \(known.abridged)"
        throw UsageError("\(entity.name) does not have a stored property \"\(name)\"; \(hint ?? remedy)")
    }

    /// Reads the members of each to-many relationship of a batch with one query.
    static func loadMembers(of names: Set<String>, _ batch: [ManagedObject], in context: Context) throws {
        if names.isEmpty { return }
        var byDeclarer: [(relationship: Relationship, objects: [ManagedObject])] = []
        var places: [ObjectIdentifier: Int] = [:]
        for object in batch {
            for relationship in object.objectID.entity.relationships where names.contains(relationship.name) {
                if let place = places[ObjectIdentifier(relationship)] {
                    byDeclarer[place].objects.append(object)
                } else {
                    places[ObjectIdentifier(relationship)] = byDeclarer.count
                    byDeclarer.append((relationship, [object]))
                }
            }
        }
        for (relationship, objects) in byDeclarer {
            try context.loadMembers(of: relationship.name, of: objects, entity: relationship.entity)
        }
    }
}

/// The value of a field.
enum FieldValue {
    /// The value is null, or the object's entity does not have the property.
    case nothing
    case text(String)
    case value(PropertyValue)
    case target(ObjectID)
    case members([ObjectID])
}

extension ManagedObject {
    func hasProperty(_ name: String) -> Bool { objectID.entity.property(named: name) != nil }
}

extension Property {
    fileprivate var isComposite: Bool { (self as? Attribute)?.type == .composite }
}

extension AttributeType {
    fileprivate var isNumber: Bool {
        switch self {
        case .integer16, .integer32, .integer64, .decimal, .double, .float: true
        default: false
        }
    }
}
