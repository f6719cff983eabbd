import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The name of an attribute type in an XML store.
enum XMLValueType: String {
    case string, bool, int16, int32, int64, decimal, float, double, date, binary, uuid, uri, transformable

    /// Creates the name of an attribute type; nil for a type that does not have values in an XML store.
    init?(_ type: AttributeType) {
        switch type {
        case .string: self = .string
        case .boolean: self = .bool
        case .integer16: self = .int16
        case .integer32: self = .int32
        case .integer64: self = .int64
        case .decimal: self = .decimal
        case .float: self = .float
        case .double: self = .double
        case .date: self = .date
        case .binary: self = .binary
        case .uuid: self = .uuid
        case .uri: self = .uri
        case .transformable: self = .transformable
        case .undefined, .objectID, .composite: return nil
        }
    }

    /// Whether a value with the other type name can be read as this type.
    ///
    /// For instance, a transformable value can be read as bytes.
    ///
    /// - Parameter areVersionsIgnored: If true, numbers of other widths are accepted too.
    func accepts(_ other: XMLValueType, areVersionsIgnored: Bool) -> Bool {
        if self == other { return true }
        return (areVersionsIgnored || attributeType.isBytes) && attributeType.isRead(as: other.attributeType)
    }

    var isInteger: Bool { self == .int16 || self == .int32 || self == .int64 }

    /// The name of the attribute type, for messages.
    var displayName: String { attributeType.displayName }

    /// The name for messages; an integer type includes its range.
    var described: String {
        guard let range = attributeType.integerRange else { return displayName }
        return "\(displayName) (\(range.lowerBound) to \(range.upperBound))"
    }

    private var attributeType: AttributeType {
        AttributeType.allCases.first { XMLValueType($0) == self } ?? .undefined
    }
}

/// A property that has elements in an XML store.
final class XMLMember {
    let property: Property
    let slot: Int
    let layout: SlotLayout
    /// The name in lower case; for an element of a composite attribute, the element's path.
    let name: [UInt8]
    /// The type of the attribute; nil for a relationship.
    let type: XMLValueType?
    /// The type in the file: the name of an attribute type, or the counts of a relationship.
    let typeName: [UInt8]
    /// The text before the value or the references.
    let opening: [UInt8]
    let relationship: Relationship?
    /// The destination of the relationship in upper case.
    let destination: [UInt8]

    init(_ property: Property, _ layout: SlotLayout, _ type: XMLValueType?) {
        (self.property, slot, self.layout, self.type) = (property, Int(property.slot), layout, type)
        relationship = property as? Relationship
        let counts = relationship.map { "\($0.minimumCount)/\($0.maximumCount)" } ?? ""
        let typeName = type?.rawValue ?? counts
        self.typeName = Array(typeName.utf8)
        destination = Array((relationship?.destination.name.uppercased() ?? "").utf8)
        let name = property.path.lowercased()
        self.name = Array(name.utf8)
        let opening = XMLBytes(capacity: 128)
        opening.append(type == nil ? "\n        <relationship name=\"" : "\n        <attribute name=\"")
        // Names in a model contain only characters that XML can represent.
        try? opening.append(xml: name, isAttribute: true)
        opening.append("\" type=\"\(typeName)\"")
        if let relationship {
            opening.append(" destination=\"")
            try? opening.append(xml: relationship.destination.name.uppercased(), isAttribute: true)
            opening.append("\"")
        } else {
            opening.append(">")
        }
        self.opening = opening.array
    }
}

/// An entity, and the elements of its objects.
final class XMLKind {
    let entity: Entity
    /// The name in upper case.
    let name: String
    let nameBytes: [UInt8]
    /// The text before the number of an object.
    let opening: [UInt8]
    /// The stored properties in the order in which they are written.
    let members: [XMLMember]
    /// The indexes of `members` by name in lower case.
    let places: [String: Int]

    init(_ entity: Entity) throws {
        self.entity = entity
        name = entity.name.uppercased()
        nameBytes = Array(name.utf8)
        members = entity.properties.compactMap { XMLKind.member($0, entity.layout.slots[Int($0.slot)]) }
            .sorted(by: XMLKind.precedes)
        var places: [String: Int] = [:]
        for (place, member) in members.enumerated() {
            if let other = places.updateValue(place, forKey: member.property.path.lowercased()) {
                throw XMLNames.ambiguous(
                    "\(entity.name).\(members[other].property.path) and \(entity.name).\(member.property.path)", entity,
                    key: member.property.path)
            }
        }
        self.places = places
        let opening = XMLBytes(capacity: 128)
        opening.append("    <object type=\"")
        try? opening.append(xml: name, isAttribute: true)
        opening.append("\" id=\"z")
        self.opening = opening.array
    }

    /// Returns the member for a property, or nil for a property that is not stored.
    private static func member(_ property: Property, _ layout: SlotLayout) -> XMLMember? {
        if property.isTransient { return nil }
        if property is Relationship { return XMLMember(property, layout, nil) }
        guard let type = (property as? Attribute).flatMap({ XMLValueType($0.type) }) else { return nil }
        return XMLMember(property, layout, type)
    }

    /// Whether a member is written before another one.
    ///
    /// This is the order in known files of Core Data: own attributes before inherited ones, from Z to A, then to-one
    /// and then to-many relationships, each by name.
    private static func precedes(_ a: XMLMember, _ b: XMLMember) -> Bool {
        func group(_ member: XMLMember) -> Int { member.relationship.map { $0.isToMany ? 2 : 1 } ?? 0 }
        func depth(_ member: XMLMember) -> Int {
            sequence(first: member.property.entity, next: \.parent).reduce(0) { count, _ in count + 1 }
        }
        if group(a) != group(b) { return group(a) < group(b) }
        if group(a) > 0 { return a.name.lexicographicallyPrecedes(b.name) }
        return depth(a) == depth(b) ? b.name.lexicographicallyPrecedes(a.name) : depth(a) > depth(b)
    }
}

/// The names of a model in an XML store, which ignores case: entities in upper case, properties in lower case.
struct XMLNames {
    /// The kinds, by the index of the entity.
    let kinds: [XMLKind]
    private let entities: [String: Int]

    /// Creates the names of a model.
    ///
    /// - Throws: `.unsupported` (134020) with both names if two names differ only in case.
    init(_ model: Model) throws {
        kinds = try model.entities.map { try XMLKind($0) }
        var entities: [String: Int] = [:]
        for (place, kind) in kinds.enumerated() {
            if let other = entities.updateValue(place, forKey: kind.name) {
                throw XMLNames.ambiguous(
                    "the entities \(kinds[other].entity.name) and \(kind.entity.name)", kind.entity, key: nil)
            }
        }
        self.entities = entities
    }

    /// Returns the index in `kinds` of an entity's name in a file.
    func place(named name: String) -> Int? { entities[name] ?? entities[name.uppercased()] }

    fileprivate static func ambiguous(_ elements: String, _ entity: Entity, key: String?) -> CoreError {
        CoreError(
            .unsupported, code: .persistentStoreIncompatibleSchema,
            "\(elements) have the same name in an XML store, which ignores case; rename one of them or use "
                + "another store type",
            entity: entity.name, key: key)
    }
}
