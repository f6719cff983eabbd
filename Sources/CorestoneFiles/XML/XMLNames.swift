import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// How an XML store names the type of an attribute.
enum XMLValueType: String {
    case string, bool, int16, int32, int64, decimal, float, double, date, binary, uuid, uri, transformable

    /// nil for what no store keeps in one value.
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

    /// Whether a value that is said to be of the other type can be read as one of this: a transformable value is bytes, too.
    ///
    /// - Parameter areVersionsIgnored: numbers of other widths are as good, then.
    func takes(_ other: XMLValueType, areVersionsIgnored: Bool) -> Bool {
        if self == other { return true }
        return (areVersionsIgnored || attributeType.isBytes) && attributeType.isRead(as: other.attributeType)
    }

    var isInteger: Bool { self == .int16 || self == .int32 || self == .int64 }

    /// For messages: an integer type with its range.
    var described: String {
        switch self {
        case .int16: "int16 (\(Int16.min) to \(Int16.max))"
        case .int32: "int32 (\(Int32.min) to \(Int32.max))"
        case .int64: "int64 (\(Int64.min) to \(Int64.max))"
        default: rawValue
        }
    }

    private var attributeType: AttributeType {
        AttributeType.allCases.first { XMLValueType($0) == self } ?? .undefined
    }
}

/// A property that an XML store has elements for. The model lives as long as the store that is read or written.
final class XMLMember {
    let property: Property
    let slot: Int
    let layout: SlotLayout
    /// In small letters; an element of a composite attribute is named by its path.
    let name: [UInt8]
    /// nil for a relationship.
    let type: XMLValueType?
    /// What the file says of its type: that of a value, or the counts of a relationship.
    let typeName: [UInt8]
    /// What stands before the value, or before the references.
    let opening: [UInt8]
    let relationship: Relationship?
    /// Where the relationship leads, in capital letters.
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
        // Names of a model have none of the characters that XML lacks.
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

/// The objects of one entity.
final class XMLKind {
    let entity: Entity
    /// In capital letters.
    let name: String
    let nameBytes: [UInt8]
    /// What stands before the number of an object.
    let opening: [UInt8]
    /// In the order of writing.
    let members: [XMLMember]
    /// By the name in small letters.
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

    /// nil for what no store keeps.
    private static func member(_ property: Property, _ layout: SlotLayout) -> XMLMember? {
        if property.isTransient { return nil }
        if property is Relationship { return XMLMember(property, layout, nil) }
        guard let type = (property as? Attribute).flatMap({ XMLValueType($0.type) }) else { return nil }
        return XMLMember(property, layout, type)
    }

    /// As Core Data does it in the files that are known: own attributes before inherited ones, from Z to A; then to-one
    /// relationships, then the others, each by name.
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

/// The names that a model has in an XML store, which knows no case: entities in capital letters, properties in small ones.
struct XMLNames {
    /// By the index of the entity.
    let kinds: [XMLKind]
    private let entities: [String: Int]

    /// - Throws: `.unsupported` (134020) for names that cannot be told apart, with both.
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

    /// The kind of a name as a file has it.
    func place(named name: String) -> Int? { entities[name] ?? entities[name.uppercased()] }

    fileprivate static func ambiguous(_ what: String, _ entity: Entity, key: String?) -> CoreError {
        CoreError(
            .unsupported, code: .persistentStoreIncompatibleSchema,
            "\(what) have the same name in an XML store, which ignores case; rename one of them or use another store type",
            entity: entity.name, key: key)
    }
}
