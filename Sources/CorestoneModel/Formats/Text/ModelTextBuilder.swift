import CorestoneFormats
import CorestoneValues

/// A builder that adds the entities of a model text to a model.
///
/// All entities are added first, then their properties, because any entity can be a destination.
struct ModelTextBuilder {
    let model: Model
    let allowsMissing: Bool
    private var missing: [MissingEnd] = []
    /// The names of the indexes of the current entity.
    private var indexNames: Set<String> = []
    /// The relationships that name an inverse.
    private var inverses: [(relationship: Relationship, name: String)] = []

    init(_ model: Model, allowsMissing: Bool) { (self.model, self.allowsMissing) = (model, allowsMissing) }

    mutating func add(_ root: JSONNode) throws -> [MissingEnd] {
        var bodies: [(entity: Entity, members: [JSONMember])] = []
        for member in try root.members(
            TextPlace(), "an object of entities, such as {\"Person\": {\"name\": \"string\"}}",
            within: { TextPlace($0) })
        {
            let place = TextPlace(member.name)
            let members = try member.value.members(
                place, "an object of properties, such as {\"name\": \"string\"}",
                within: { $0.hasPrefix("@") ? TextPlace(member.name, option: $0) : TextPlace(member.name, $0) })
            bodies.append((try model.entity(named: member.name) ?? model.addEntity(named: member.name), members))
        }
        for (entity, members) in bodies { try setOptions(members, of: entity) }
        for (entity, members) in bodies {
            indexNames = Set(entity.indexes.map(\.name))
            for member in members where !member.name.hasPrefix("@") { try add(member, to: entity) }
            try addIndexes(members, to: entity)
        }
        try connect()
        return missing
    }

    // MARK: Entities

    private static let options = [
        "@abstract", "@class_name", "@indexes", "@parent", "@renaming_identifier", "@unique", "@user_info",
    ]

    private func setOptions(_ members: [JSONMember], of entity: Entity) throws {
        for member in members where member.name.hasPrefix("@") && !member.value.isNull {
            let place = TextPlace(entity.name, option: member.name)
            switch member.name {
            case "@abstract": try entity.setAbstract(try member.value.flag(place))
            case "@class_name": try entity.setClassName(try member.value.text(place, "the name of a class"))
            case "@renaming_identifier":
                try entity.setRenamingIdentifier(try member.value.text(place, "the former name of the entity"))
            case "@parent":
                let name = try member.value.text(place, "the name of an entity")
                try entity.setParent(
                    try model.entity(named: name) ?? unknownEntity(name, TextPlace(entity.name), " inherits from"))
            case "@user_info":
                for entry in try member.value.members(place, "an object of strings") {
                    try entity.setUserInfo(
                        try entry.value.text(place.option(entry.name), "a string"), forKey: entry.name)
                }
            default: break
            }
        }
        for member in members
        where member.name.hasPrefix("@") && !ModelTextBuilder.options.contains(member.name) {
            let place = TextPlace(entity.name)
            throw place.unknown(
                member.name, " has no option \"\(member.name)\"", among: ModelTextBuilder.options)
        }
    }

    private func unknownEntity(_ name: String, _ place: TextPlace, _ reference: String) throws -> Entity {
        // An entity can be the destination of its own relationships, but not its own superentity.
        let names = model.entities.map(\.name).filter { place.key != nil || $0 != place.entity }
        throw place.unknown(
            name, "\(reference) \"\(name)\", which is not an entity of the model", among: names,
            remedy: "add the entity, or correct the name")
    }

    private mutating func add(_ index: FetchIndex, to entity: Entity) throws {
        let isNew = indexNames.insert(index.name).inserted
        try isNew ? entity.addNewIndex(index) : entity.addIndex(index)
    }

    private mutating func addIndexes(_ members: [JSONMember], to entity: Entity) throws {
        for member in members where !member.value.isNull {
            let place = TextPlace(entity.name, option: member.name)
            switch member.name {
            case "@indexes":
                for index in try member.value.members(place, "an object of lists of properties") {
                    try add(try fetchIndex(index, place.option(index.name)), to: entity)
                }
            case "@unique":
                for constraint in try member.value.elements(place, "a list of lists of attributes") {
                    try entity.addUniqueConstraint(try attributeNames(constraint, place))
                }
            default: break
            }
        }
    }

    private func attributeNames(_ node: JSONNode, _ place: TextPlace) throws -> [String] {
        if case .plain(.text(let name)) = node.content { return [name.string] }
        return try node.elements(place, "the name of an attribute or a list of such names", isElement: true).map {
            try $0.text(place, "the name of an attribute", isElement: true)
        }
    }

    private func fetchIndex(_ member: JSONMember, _ place: TextPlace) throws -> FetchIndex {
        let nodes = try member.value.elements(place, "a list of properties, such as [\"name\", \"-age\"]")
        let elements = try nodes.enumerated().map { number, node -> FetchIndex.Element in
            if case .plain(.text(let text)) = node.content {
                let name = text.string.drop { $0 == "-" || $0 == "+" }
                return FetchIndex.Element(property: String(name), isAscending: !text.string.hasPrefix("-"))
            }
            let wanted = "the name of a property, or an expression with its type: [\"price * count\", \"decimal\"]"
            let parts = try node.elements(place, wanted, isElement: true)
            guard parts.count == 2 else {
                throw place.error(
                    " contains a list of \(parts.count) item\(parts.count == 1 ? "" : "s") in place of \(wanted)")
            }
            let expression = ExpressionText(try parts[0].text(place, "the text of an expression", isElement: true))
            _ = try place.naming { try expression.required() }
            return FetchIndex.Element(
                expression: expression, named: "expression\(number + 1)",
                type: try AttributeType(parts[1], place, option: member.name, isElement: true))
        }
        return FetchIndex(name: member.name, elements: elements)
    }

    // MARK: Properties

    private mutating func add(_ member: JSONMember, to entity: Entity) throws {
        let place = TextPlace(entity.name, member.name)
        let definition = try PropertyDefinition(member.value, place)
        guard case .attribute(let type) = definition.kind else {
            return try addRelationship(member.name, definition, to: entity, place)
        }
        let attribute = try entity.addAttribute(
            named: member.name, type: type, isOptional: definition.isOptional, isTransient: definition.isTransient)
        try attribute.setIgnoresChanges(definition.ignoresChanges)
        if definition.isIndexed {
            try add(FetchIndex(name: member.name, elements: [.init(property: member.name)]), to: entity)
        }
        try attribute.fill(definition, place)
    }

    private mutating func addRelationship(
        _ name: String, _ definition: PropertyDefinition, to entity: Entity, _ place: TextPlace
    ) throws {
        let destination = model.entity(named: definition.destination)
        if destination == nil, !allowsMissing {
            _ = try unknownEntity(definition.destination, place, " has the destination")
        }
        let relationship = try entity.addRelationship(
            named: name, destination: destination ?? entity, isToMany: definition.kind == .toMany,
            isOptional: definition.isOptional, isOrdered: definition.isOrdered)
        if destination == nil {
            relationship.missingDestination = definition.destination
            missing.append(
                MissingEnd(
                    relationship: relationship, destination: definition.destination, inverse: definition.inverse))
        } else if let inverse = definition.inverse {
            inverses.append((relationship, inverse))
        }
        try relationship.setTransient(definition.isTransient)
        try relationship.setDeleteRule(definition.deleteRule)
        let (least, most) = (definition.minimum?.count ?? 0, definition.maximum?.count ?? 0)
        if least > 0 || most > 0 { try relationship.setCounts(minimum: least, maximum: most) }
        try relationship.describe(definition, place)
    }

    /// Sets the inverses that relationships name. Throws for contradictory inverses.
    private mutating func connect() throws {
        var named: [ObjectIdentifier: Relationship] = [:]
        var found: [(relationship: Relationship, inverse: Relationship)] = []
        for (relationship, name) in inverses {
            let destination = relationship.destination
            if let inverse = destination.anyProperty(named: name) as? Relationship {
                named[ObjectIdentifier(relationship)] = inverse
                found.append((relationship, inverse))
                continue
            }
            guard allowsMissing else { throw unknownInverse(name, of: relationship) }
            missing.append(MissingEnd(relationship: relationship, destination: destination.name, inverse: name))
        }
        var owners: [ObjectIdentifier: Relationship] = [:]
        for (relationship, inverse) in found {
            if let other = named[ObjectIdentifier(inverse)], other !== relationship {
                // The inverse cannot name the relationship if its destination does not have the relationship.
                let canMatch = inverse.destination.anyProperty(named: relationship.name) === relationship
                let remedy =
                    canMatch
                    ? "set the inverse of \(inverse.fullName) to \"\(relationship.name)\", or name the inverse on one "
                        + "side only"
                    : "set a different inverse for \(relationship.fullName)"
                throw contradiction(
                    relationship,
                    " has the inverse \(inverse.fullName), but \(inverse.fullName) has the inverse \(other.fullName); "
                        + "\(remedy)", value: inverse.name)
            }
            if let other = owners[ObjectIdentifier(inverse)] {
                throw contradiction(
                    relationship,
                    " and \(other.fullName) have the same inverse, \(inverse.fullName); set a different inverse for one "
                        + "of them", value: inverse.name)
            }
            owners[ObjectIdentifier(inverse)] = relationship
            try relationship.setInverse(inverse)
        }
    }

    private func unknownInverse(_ name: String, of relationship: Relationship) -> CoreError {
        let destination = relationship.destination
        let names = sequence(first: destination, next: \.parent).flatMap { $0.ownRelationships.map(\.name) }
        return TextPlace(relationship.entity.name, relationship.name).unknown(
            name, " has the inverse \"\(name)\", but \(destination.name) does not have a relationship of that name",
            among: names, remedy: "add the relationship, or correct the name")
    }

    private func contradiction(_ relationship: Relationship, _ message: String, value: String) -> CoreError {
        TextPlace(relationship.entity.name, relationship.name).error(message, value: .string(value))
    }
}

extension Relationship {
    fileprivate var fullName: String { "\(entity.name).\(name)" }
}
