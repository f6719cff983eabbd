import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// The options of an Arrow export.
public struct ArrowOptions: Sendable {
    /// The maximum number of rows in a record batch.
    public var batchSize = 65_536
    /// Whether objects are exported as primary keys instead of URIs.
    ///
    /// A primary key is an integer that is unique in one entity tree of one store. The keys of objects that were never
    /// saved are negative.
    public var showsKeys = false
    /// Whether columns of decimals are exported as text.
    public var showsDecimalsAsText = false

    public init() {}

    public init(batchSize: Int = 65_536, showsKeys: Bool = false, showsDecimalsAsText: Bool = false) {
        self.batchSize = batchSize
        self.showsKeys = showsKeys
        self.showsDecimalsAsText = showsDecimalsAsText
    }
}

/// A factory of fields for key paths.
struct ArrowFields {
    /// The column name of the object itself.
    static let objectID = "objectID"

    private let entity: Entity
    private let includesSubentities: Bool
    private let options: ArrowOptions

    init(_ entity: Entity, includesSubentities: Bool, _ options: ArrowOptions) {
        (self.entity, self.includesSubentities, self.options) = (entity, includesSubentities, options)
    }

    /// Returns the fields of the key paths, or without key paths the fields of all stored attributes.
    func fields(_ keyPaths: [String]) throws -> [ArrowField] {
        let stored = entity.properties.filter {
            ($0 as? Attribute)?.composite == nil && $0 is Attribute && !$0.isTransient
        }
        var names: Set<String> = []
        return try (keyPaths.isEmpty ? stored.map(\.name) : keyPaths).map { path in
            guard names.insert(path).inserted else {
                throw invalid("the key path \"\(path)\" is listed twice; list it once", path)
            }
            if path.utf8.contains(UInt8(ascii: "@")) { return try computedField(path) }
            return try field(path, path[...], includesSubentities ? entity.withDescendants : [entity], [])
        }
    }

    /// Returns the field of the key path `rest`, which starts at the targets of the last of the `hops`.
    ///
    /// Without hops, the key path starts at the exported rows. `family` contains the possible entities at the start.
    private func field(_ name: String, _ rest: Substring, _ family: [Entity], _ hops: [ArrowSlots]) throws -> ArrowField
    {
        let found = family.compactMap { entity in
            entity.property(named: String(rest)).map { (entity: entity, property: $0) }
        }
        guard let property = found.first?.property else {
            if rest == ArrowFields.objectID { return ArrowField(name, reference, .identity, hops: hops) }
            return try fieldAlongRelationship(name, rest, family, hops)
        }
        if let attribute = property as? Attribute {
            let types = found.map { ($0.property as? Attribute)?.type }
            guard types.allSatisfy({ $0 == attribute.type }) else { throw ambiguous(name, found, hops) }
            return try field(name, attribute, found, hops)
        }
        guard let relationship = property as? Relationship else { throw notStored(property, name) }
        guard found.allSatisfy({ $0.property === property }) else { throw ambiguous(name, found, hops) }
        if relationship.isToMany {
            let item = ArrowField("item", reference, .identity)
            return ArrowField(
                name, .list, .toMany(relationship), hops: hops, children: [item], property: property)
        }
        return ArrowField(
            name, reference, .toOne(ArrowSlots(found, in: entity.model)), hops: hops, property: property)
    }

    private func field(
        _ name: String, _ attribute: Attribute, _ found: [(entity: Entity, property: Property)], _ hops: [ArrowSlots]
    ) throws -> ArrowField {
        guard !attribute.isTransient, let type = ArrowType(attribute) else { throw notStored(attribute, name) }
        guard type == .structure else {
            return ArrowField(
                name, options.showsDecimalsAsText && attribute.type == .decimal ? .text : type,
                .attribute(ArrowSlots(found, in: entity.model)), hops: hops, property: attribute)
        }
        // The elements are in the same row, so only the composite itself needs the hops.
        let elements = try attribute.elements.map { element in
            let places = found.compactMap { entity, _ in
                entity.property(named: element.path).map { (entity: entity, property: $0) }
            }
            return try field(element.name, element, places, [])
        }
        return ArrowField(name, .structure, .composite, hops: hops, children: elements, property: attribute)
    }

    /// Returns the field of a key path with several keys. Throws if the first key is not a to-one relationship.
    private func fieldAlongRelationship(
        _ name: String, _ rest: Substring, _ family: [Entity], _ hops: [ArrowSlots]
    ) throws -> ArrowField {
        let head = String(rest.prefix { $0 != "." })
        let found = family.compactMap { entity in entity.property(named: head).map { (entity: entity, property: $0) } }
        guard head.utf8.count < rest.utf8.count, let property = found.first?.property else {
            // Throws an error that suggests the nearest name.
            _ = try family[0].requireProperty(named: found.isEmpty ? head : String(rest))
            throw invalid("\(family[0].name) has no property \"\(rest)\"", name)
        }
        guard let relationship = property as? Relationship else {
            _ = try family[0].requireProperty(named: String(rest))
            throw invalid(
                "\(property.entity.name).\(head) is \(property.kindPhrase), not a relationship; end the key path there",
                name)
        }
        guard !relationship.isToMany else {
            throw invalid(
                "\(property.entity.name).\(head) is to-many, but a column has one value per row; end the key path there to "
                    + "export a list of the members", name)
        }
        guard found.allSatisfy({ $0.property === property }) else { throw ambiguous(name, found, hops) }
        return try field(
            name, rest.dropFirst(head.count + 1), relationship.destination.withDescendants,
            hops + [ArrowSlots(found, in: entity.model)])
    }

    /// Returns the field of a key path with a collection operator, such as `episodes.@sum.duration`.
    ///
    /// Its type does not depend on the values.
    private func computedField(_ name: String) throws -> ArrowField {
        let path = KeyPath(name)
        let properties = try entity.properties(along: path)
        if let transient = properties.first(where: \.isTransient) { throw notStored(transient, name) }
        let place = path.keys.firstIndex(where: \.isOperator) ?? 0
        let key = path.keys[place]
        let relationships = properties.prefix(place).compactMap { $0 as? Relationship }
        guard relationships.count == place, relationships.contains(where: \.isToMany) else {
            throw invalid("\(key.text) in \"\(name)\" must follow a to-many relationship", name)
        }
        let rest = properties.dropFirst(place)
        let attribute = rest.last as? Attribute
        let type: AttributeType? =
            switch key.collectionOperator {
            case .count: path.keys.count == place + 1 ? .integer64 : nil
            case .sum: attribute?.type.sum
            case .average: attribute?.type.sum == .decimal ? .decimal : attribute?.type.sum.map { _ in .double }
            case .minimum, .maximum: attribute?.type.isOrdered == true ? attribute?.type : nil
            default: nil
            }
        guard let type, attribute == nil || rest.count == path.keys.count - place - 1,
            let arrow = ArrowType(attribute: type)
        else {
            throw invalid(
                "\"\(name)\" does not have one value of a known type; use @count, @sum or @avg of a number, or @min or @max",
                name)
        }
        let reached = properties.compactMap { ($0 as? Relationship)?.destination.root }
        return ArrowField(
            name, options.showsDecimalsAsText && type == .decimal ? .text : arrow,
            .computed(
                ExpressionDescription(name: name, expression: .keyPath(path), resultType: type), reached: reached))
    }

    private var reference: ArrowType { options.showsKeys ? .int64 : .text }

    // MARK: Errors

    private func notStored(_ property: Property, _ name: String) -> CoreError {
        invalid("\(property.entity.name).\(property.path) is not stored and cannot be exported; leave it out", name)
    }

    private func ambiguous(
        _ name: String, _ found: [(entity: Entity, property: Property)], _ hops: [ArrowSlots]
    ) -> CoreError {
        let owners = Set(found.map(\.property.entity.name)).sorted().listed
        // The entity of a target cannot be chosen.
        let remedy = hops.isEmpty ? "leave it out, or export one entity at a time" : "leave it out"
        return invalid("\"\(name)\" is a different property in \(owners); \(remedy)", name)
    }

    private func invalid(_ problem: String, _ key: String) -> CoreError {
        CoreError(
            .invalidArgument, "cannot export \(entity.name) to Arrow: \(problem)", entity: entity.name, key: key)
    }
}

extension AttributeType {
    /// The type of a sum; nil if values cannot be added.
    fileprivate var sum: AttributeType? {
        switch self {
        case .integer16, .integer32, .integer64, .boolean: .integer64
        case .float, .double: .double
        case .decimal: .decimal
        default: nil
        }
    }

    /// Whether values have a minimum.
    fileprivate var isOrdered: Bool { sum != nil || [.string, .date].contains(self) }
}
