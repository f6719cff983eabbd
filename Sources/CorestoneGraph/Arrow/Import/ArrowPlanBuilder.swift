import CPlatform
import CorestoneModel
import CorestoneValues

/// Assigns the columns of an Arrow stream to the properties of an entity.
struct ArrowPlanBuilder {
    private let entity: Entity
    private let options: ArrowImportOptions
    private let isUpsert: Bool
    private var attributes: [ArrowColumn] = []
    private var identity: ArrowInput?
    /// Relationships by URIs or lists.
    private var relationships: [ArrowRelationship] = []
    /// Keys of to-one relationships.
    private var keys: [(relationship: Relationship, columns: [ArrowColumn])] = []
    /// The column of each property that is set.
    private var owners: [String: String] = [:]

    init(_ entity: Entity, _ options: ArrowImportOptions, isUpsert: Bool) {
        (self.entity, self.options, self.isUpsert) = (entity, options, isUpsert)
    }

    /// Assigns a column. Returns its input, or nil if the column is ignored.
    mutating func add(_ column: String, _ field: UnsafePointer<platform_arrow_schema>) throws -> ArrowInput? {
        let path: String
        switch options.columns[column] {
        case .some(.none): return nil
        case .some(.some(let mapped)): path = mapped
        case .none:
            path = column
            if options.ignoresUnknownColumns, (try? target(path, column)) == nil { return nil }
        }
        let target = try target(path, column)
        let input = try read(field, column, path)
        switch target {
        case .identity: try setIdentity(input)
        case .attribute(let attribute): try add(input, attribute, [])
        case .relationship(let relationship): try add(references: input, relationship)
        case .key(let relationship, let key): try add(input, relationship, key)
        }
        return input
    }

    /// What a column sets.
    private enum Target {
        case identity
        case attribute(Attribute)
        case relationship(Relationship)
        case key(Relationship, Attribute)
    }

    private func target(_ path: String, _ column: String) throws -> Target {
        let property = entity.property(named: path)
        if let attribute = property as? Attribute { return .attribute(attribute) }
        if let relationship = property as? Relationship { return .relationship(relationship) }
        if path == ArrowFields.objectID { return .identity }
        guard let (relationship, key) = try relationshipKey(path) else { throw unknown(path, column) }
        return .key(relationship, key)
    }

    /// Reads the type of a column. Errors name the property that the column sets.
    private func read(_ field: UnsafePointer<platform_arrow_schema>, _ column: String, _ path: String) throws
        -> ArrowInput
    {
        do { return try ArrowInput(field, column: column) } catch let error as CoreError {
            throw error.within("\(entity.name).\(path)", entity: entity.name, key: path)
        }
    }

    func finish() throws -> ([ArrowColumn], [ArrowRelationship], ArrowInput?) {
        let byKey = keys.map { ArrowRelationship($0.relationship, of: entity, keys: $0.columns) }
        for each in byKey { try claimRelationship(each) }
        return (attributes, relationships + byKey, identity)
    }

    private mutating func setIdentity(_ input: ArrowInput) throws {
        guard isUpsert, options.keys == [ArrowFields.objectID] else {
            throw invalid(
                "the ID of \(entity.name) objects cannot be set; leave the column \(quoted(input.column)) out, or "
                    + "call cst_context_upsert_arrow (upsert_arrow, upsertArrow) with the key objectID",
                ArrowFields.objectID)
        }
        guard input.valueType.isText || input.valueType == .null else {
            throw CoreError(
                .typeMismatch,
                "objectID takes the URIs of \(entity.name) objects as utf8, not \(input.typeName) (column "
                    + "\(quoted(input.column))); export URIs", entity: entity.name, key: ArrowFields.objectID)
        }
        try claim(ArrowFields.objectID, input.column)
        identity = input
    }

    // MARK: Attributes

    private mutating func add(_ input: ArrowInput, _ attribute: Attribute, _ parents: [ArrowInput]) throws {
        guard attribute.derivation == nil else {
            throw invalid(
                "\(entity.name).\(attribute.path) is derived and computed by the store; leave the column "
                    + "\(quoted(input.column)) out", attribute.path)
        }
        if attribute.type == .composite, input.type == .structure {
            for (place, child) in input.children.enumerated() {
                let name = input.names[place]
                guard let element = attribute.elements.first(where: { $0.name == name }) else {
                    if options.ignoresUnknownColumns { continue }
                    let hint = nearestName(to: name, among: attribute.elements.map(\.name))
                    throw invalid(
                        "\(entity.name).\(attribute.path) has no element \"\(name)\""
                            + (hint.map { "; did you mean \"\($0)\"?" } ?? "; leave the field out"),
                        "\(attribute.path).\(name)")
                }
                try add(child, element, parents + [input])
            }
            return
        }
        if attribute.type == .composite, input.type == .null {
            for leaf in attribute.leaves { try add(input, leaf, parents) }
            return
        }
        try claim(attribute.path, input.column)
        try checkZone(input, attribute, entity)
        guard let column = ArrowColumn(input, attribute, of: entity, in: parents) else {
            throw mismatch(input, entity, attribute)
        }
        attributes.append(column)
    }

    private mutating func claim(_ path: String, _ column: String) throws {
        if let other = owners.updateValue(column, forKey: path) {
            throw invalid(
                "the columns \(quoted(other)) and \(quoted(column)) both set \(entity.name).\(path); leave one out",
                path)
        }
    }

    // MARK: Relationships

    /// Parses a path such as `department.name`.
    private func relationshipKey(_ path: String) throws -> (Relationship, Attribute)? {
        let head = path.prefix { $0 != "." }
        guard head.utf8.count < path.utf8.count,
            let relationship = entity.property(named: String(head)) as? Relationship
        else { return nil }
        let (destination, rest) = (relationship.destination, String(path.dropFirst(head.count + 1)))
        let property = try destination.requireProperty(named: rest)
        guard let attribute = property as? Attribute, attribute.type != .composite, attribute.type != .transformable,
            !attribute.isTransient
        else {
            throw invalid(
                "\(destination.name).\(property.path) cannot be a key of \(entity.name).\(relationship.name), because "
                    + "it is \(property is Attribute ? "composite, transformable or transient" : "a relationship"); "
                    + "use a stored attribute of \(destination.name)", path)
        }
        return (relationship, attribute)
    }

    private mutating func add(_ input: ArrowInput, _ relationship: Relationship, _ key: Attribute) throws {
        let (destination, path) = (relationship.destination, "\(relationship.name).\(key.path)")
        try claim(path, input.column)
        guard relationship.isToMany else {
            let column = try keyColumn(input, key, destination)
            if let place = keys.firstIndex(where: { $0.relationship === relationship }) {
                keys[place].columns.append(column)
            } else {
                keys.append((relationship, [column]))
            }
            return
        }
        guard input.type.isList else { throw notList(input, relationship, of: "the \(key.path) of each member") }
        let items = try keyColumn(input.children[0], key, destination)
        try addRelationship(ArrowRelationship(relationship, of: entity, keys: [items], lists: input))
    }

    private func keyColumn(_ input: ArrowInput, _ key: Attribute, _ destination: Entity) throws -> ArrowColumn {
        try checkZone(input, key, destination)
        guard let column = ArrowColumn(input, key, of: destination) else { throw mismatch(input, destination, key) }
        return column
    }

    private mutating func add(references input: ArrowInput, _ relationship: Relationship) throws {
        var (references, lists) = (input, ArrowInput?.none)
        if relationship.isToMany, input.valueType != .null {
            guard input.type.isList else { throw notList(input, relationship, of: "the URI of each member") }
            (references, lists) = (input.children[0], input)
        }
        guard references.valueType.isText || references.valueType == .null else {
            let example = relationship.destination.suggestedKey.map { " such as \"\(relationship.name).\($0)\"" } ?? ""
            throw CoreError(
                .typeMismatch,
                "\(entity.name).\(relationship.name) takes the URIs of objects as utf8, not "
                    + "\(references.typeName) \(references.place); export URIs, or map the column to a key\(example)",
                entity: entity.name, key: relationship.name)
        }
        try addRelationship(ArrowRelationship(relationship, of: entity, references: references, lists: lists))
    }

    private mutating func addRelationship(_ new: ArrowRelationship) throws {
        try claimRelationship(new)
        relationships.append(new)
    }

    private func claimRelationship(_ new: ArrowRelationship) throws {
        guard let other = relationships.first(where: { $0.relationship === new.relationship }) else { return }
        throw invalid(
            "\(entity.name).\(new.relationship.name) is set both by \(other.columns) and by \(new.columns); leave out "
                + "\(other.columns), or leave out \(new.columns)",
            new.relationship.name)
    }

    // MARK: Errors

    private func unknown(_ path: String, _ column: String) -> CoreError {
        // A fetched property has an error of its own.
        if let error = (try? entity.requireProperty(named: path)) == nil ? fetchedProperty(path) : nil { return error }
        let names = entity.properties.map(\.path) + (isUpsert ? [ArrowFields.objectID] : [])
        let hint =
            nearestName(to: path, among: names).map { "; did you mean \"\($0)\"?" }
            ?? "; ignore the column, or map it to a property"
        let source = path == column ? "" : " (column \(quoted(column)))"
        return invalid("\(entity.name) has no property \"\(path)\"\(source)\(hint)", path)
    }

    private func fetchedProperty(_ path: String) -> CoreError? {
        guard entity.fetchedProperty(named: path) != nil else { return nil }
        return invalid("\(entity.name).\(path) is a fetched property and cannot be set; leave the column out", path)
    }

    private func checkZone(_ input: ArrowInput, _ attribute: Attribute, _ owner: Entity) throws {
        guard case .timestamp(_, hasZone: false) = input.valueType, attribute.type == .date,
            !options.treatsNaiveTimestampsAsUTC
        else { return }
        throw CoreError(
            .typeMismatch,
            "\(owner.name).\(attribute.path) takes timestamps with a time zone, not \(input.typeName) "
                + "\(input.place); cast the column, or set CST_ARROW_IMPORT_NAIVE_UTC (naive_utc, "
                + "treatsNaiveTimestampsAsUTC)",
            entity: owner.name, key: attribute.path)
    }

    private func mismatch(_ input: ArrowInput, _ owner: Entity, _ attribute: Attribute) -> CoreError {
        CoreError(
            .typeMismatch,
            "\(owner.name).\(attribute.path) (\(attribute.type.displayName)) takes \(attribute.arrowTypes), not "
                + "\(input.typeName) \(input.place); cast the column, or leave it out",
            entity: owner.name, key: attribute.path)
    }

    private func notList(_ input: ArrowInput, _ relationship: Relationship, of items: String) -> CoreError {
        CoreError(
            .typeMismatch,
            "\(entity.name).\(relationship.name) is a to-many relationship and takes a list with \(items), not "
                + "\(input.typeName) \(input.place); pass a list in each row",
            entity: entity.name, key: relationship.name)
    }

    private func invalid(_ problem: String, _ key: String) -> CoreError {
        CoreError(.invalidArgument, problem, entity: entity.name, key: key)
    }
}

extension ArrowInputType {
    var isList: Bool {
        switch self {
        case .list, .fixedList: true
        default: false
        }
    }

    var isText: Bool { if case .text = self { true } else { false } }
}

extension Entity {
    /// An attribute that can probably be used as a key, for messages.
    fileprivate var suggestedKey: String? {
        allUniqueConstraints.first { $0.attributes.count == 1 }?.attributes[0]
            ?? attributes.first { $0.type == .string && !$0.isTransient }?.path
    }
}
