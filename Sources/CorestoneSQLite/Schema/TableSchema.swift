import CorestoneModel
import CorestoneValues

/// A column of an entity table other than `Z_PK`, `Z_ENT` and `Z_OPT`.
struct ColumnSchema {
    enum Role {
        case attribute, toOne
        /// The number of the concrete entity of a to-one relationship's target.
        case targetEntity
        /// The order key of the row in the ordered to-many relationship of which it is a member.
        case order
        /// The owner of a to-many relationship without an inverse.
        case owner
    }

    let name: String
    let declaredType: String
    let property: Property
    let role: Role
}

/// The table of one entity tree.
final class TableSchema: @unchecked Sendable {
    let root: Entity
    let name: String
    /// The index among the tables of the schema.
    let place: Int
    /// The root and its subentities, in the order of their numbers in a new store.
    let entities: [Entity]
    /// The columns in the order of the CREATE statement.
    private(set) var columns: [ColumnSchema] = []
    private let existing: [String: String]?
    private var byKey: [UInt32: Int] = [:]
    private var orderByKey: [UInt32: Int] = [:]
    private var targetEntityByKey: [UInt32: Int] = [:]

    var hasSubentities: Bool { entities.count > 1 }
    /// Whether the table has a column for the versions of its rows. Core Data and this library always create it.
    var hasVersions: Bool { existing.map { $0["Z_OPT"] != nil } ?? true }

    /// Creates the schema of a table.
    ///
    /// - Parameter existing: The columns of the table in a file; nil if the table does not exist.
    init(root: Entity, name: String, place: Int, schema: StoreSchema, existing: [String: String]?) {
        self.root = root
        self.name = name
        self.place = place
        entities = schema.entitiesByRoot[root.index] ?? [root]
        self.existing = existing
        var names = UniqueNames(taken: ["Z_PK", "Z_ENT", "Z_OPT"])
        for group in ColumnGroup.allCases {
            for entity in entities { add(properties: entity, group: group, numbers: schema.numbers, names: &names) }
            if group == .integer { addOwners(schema, names: &names) }
            if group == .order { addOrders(schema, names: &names) }
        }
    }

    /// Returns the column of an attribute or a to-one relationship.
    func column(of property: Property) -> ColumnSchema? { byKey[property.key].map { columns[$0] } }
    /// Returns the column with the concrete entity of a to-one target, or nil if only one entity is possible.
    func targetEntityColumn(of relationship: Relationship) -> ColumnSchema? {
        targetEntityByKey[relationship.key].map { columns[$0] }
    }
    /// Returns the column with the order keys of a relationship.
    ///
    /// The relationship is a to-one relationship whose inverse is ordered, or an ordered to-many relationship without
    /// an inverse whose destination is in this table.
    func orderColumn(of relationship: Relationship) -> ColumnSchema? {
        orderByKey[relationship.key].map { columns[$0] }
    }
    /// Returns the owner column of a to-many relationship without an inverse whose destination is in this table.
    func ownerColumn(of relationship: Relationship) -> ColumnSchema? { byKey[relationship.key].map { columns[$0] } }
}

/// The groups in which Core Data orders columns, by type of storage.
enum ColumnGroup: CaseIterable {
    case integer, order, real, decimal, text, uri, uuid, transformable, binary

    static func of(_ type: AttributeType) -> ColumnGroup? {
        switch type {
        case .undefined, .objectID, .composite: nil
        case .integer16, .integer32, .integer64, .boolean: .integer
        case .double, .float, .date: .real
        case .decimal: .decimal
        case .string: .text
        case .uri: .uri
        case .uuid: .uuid
        case .transformable: .transformable
        case .binary: .binary
        }
    }

    static func declaredType(_ type: AttributeType) -> String {
        switch type {
        case .integer16, .integer32, .integer64, .boolean: "INTEGER"
        case .decimal: "DECIMAL"
        case .double, .float: "FLOAT"
        case .string, .uri: "VARCHAR"
        case .date: "TIMESTAMP"
        case .binary, .uuid, .transformable, .undefined, .objectID, .composite: "BLOB"
        }
    }
}

extension TableSchema {
    /// Adds an entity's own attributes of a group, sorted by name.
    ///
    /// In the integer group, the entity's to-one relationships follow the attributes.
    private func add(properties entity: Entity, group: ColumnGroup, numbers: [Int64], names: inout UniqueNames) {
        let attributes = entity.ownAttributes.flatMap(\.leaves).filter {
            !$0.isTransient && ColumnGroup.of($0.type) == group
        }
        for attribute in attributes.sorted(by: { byteOrder($0.path, $1.path) }) {
            byKey[attribute.key] = append(
                names.makeUnique(columnName(of: attribute)), ColumnGroup.declaredType(attribute.type), attribute,
                .attribute)
        }
        guard group == .integer else { return }
        let toOnes = entity.ownRelationships.filter { !$0.isToMany && !$0.isTransient }
        for relationship in toOnes.sorted(by: { byteOrder($0.name, $1.name) }) {
            let upper = relationship.name.uppercased()
            byKey[relationship.key] = append(names.makeUnique("Z" + upper), "INTEGER", relationship, .toOne)
            guard !relationship.destination.children.isEmpty else { continue }
            let number = numbers[Int(relationship.destination.index)]
            targetEntityByKey[relationship.key] = append(
                choose("Z", number, "_" + upper, &names), "INTEGER", relationship, .targetEntity)
        }
    }

    /// Returns the column of an attribute, such as `ZNAME`.
    ///
    /// Apple's name for the column of an element of a composite attribute is unknown (docs/DEVIATIONS.md). It is
    /// `ZLOCATION_LATITUDE` here, unless the file has only `ZLATITUDE`.
    private func columnName(of attribute: Attribute) -> String {
        let whole = String(attribute.path.uppercased().map { $0 == "." ? "_" : $0 })
        guard attribute.composite != nil, let existing, existing["Z" + whole] == nil else { return "Z" + whole }
        let short = "Z" + attribute.name.uppercased()
        return existing[short] == nil ? "Z" + whole : short
    }

    /// Adds the owner columns of to-many relationships without an inverse whose destination is in this table.
    private func addOwners(_ schema: StoreSchema, names: inout UniqueNames) {
        for relationship in schema.withoutInverse[root.index] ?? [] {
            let number = schema.number(of: relationship.entity)
            byKey[relationship.key] = append(
                choose("Z", number, relationship.name.uppercased(), &names), "INTEGER", relationship, .owner)
        }
    }

    private func addOrders(_ schema: StoreSchema, names: inout UniqueNames) {
        for entity in entities {
            let ordered = entity.ownRelationships.filter {
                !$0.isToMany && !$0.isTransient && $0.inverse?.isToMany == true && $0.inverse?.isOrdered == true
            }
            for relationship in ordered.sorted(by: { byteOrder($0.name, $1.name) }) {
                orderByKey[relationship.key] = append(
                    names.makeUnique("Z_FOK_" + relationship.name.uppercased()), "INTEGER", relationship, .order)
            }
        }
        for relationship in schema.withoutInverse[root.index] ?? [] where relationship.isOrdered {
            let number = schema.number(of: relationship.entity)
            orderByKey[relationship.key] = append(
                choose("Z_FOK_", number, relationship.name.uppercased(), &names), "INTEGER", relationship, .order)
        }
    }

    private func choose(_ prefix: String, _ number: Int64, _ tail: String, _ names: inout UniqueNames) -> String {
        let name = NumberedName(prefix: prefix, number: number, tail: tail)
        return name.choose(names.makeUnique(name.text), existing: existing) { taken in
            columns.contains { $0.name == taken }
        }
    }

    private func append(_ name: String, _ type: String, _ property: Property, _ role: ColumnSchema.Role) -> Int {
        columns.append(ColumnSchema(name: name, declaredType: type, property: property, role: role))
        return columns.count - 1
    }
}

// MARK: - Statements

extension TableSchema {
    var creationStatement: String {
        let own = columns.map { ", \($0.name) \($0.declaredType)" }.joined()
        return "CREATE TABLE \(name) ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER\(own) )"
    }
}
