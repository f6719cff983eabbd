import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// An inference of a model from the tables of a store without a usable cached model.
///
/// The tables determine the entities with their names and inheritance, the attributes with their storage type, and the
/// relationships that have a join table or a column with an entity number. Names of properties are
/// those of the cached model. Names that it does not contain are in lower case, because the tables have them in upper
/// case. An integer column is a to-one relationship if its name, its index and its values indicate one, otherwise an
/// integer attribute. To-many relationships with a to-one inverse cannot be inferred.
struct ModelInference {
    private let contents: StoreContents
    private let model = Model()
    private let hints: ColumnHints
    private let cached: Model?
    private var entities: [Int64: Entity] = [:]

    /// Creates an inference.
    ///
    /// - Parameter cached: The store's cached model, which does not match the tables but provides names and types.
    init(_ contents: StoreContents, _ connection: Connection, cached: Model?) throws {
        self.contents = contents
        self.cached = cached
        hints = try ColumnHints(contents, connection)
    }

    /// Infers the model.
    ///
    /// - Throws: `storeCorrupt` if no model matches the tables.
    mutating func run() throws -> Model {
        do {
            try addEntities()
            for stored in contents.entities where stored.parent == 0 { try addColumns(of: stored) }
            for (table, columns) in contents.tables.sorted(by: { byteOrder($0.key, $1.key) }) {
                try addJoin(table, columns)
            }
            try model.freeze()
            return model
        } catch let error as CoreError {
            throw CoreError(
                .storeCorrupt, code: .persistentStoreOpen,
                "cannot infer a model from \(contents.place.given): \(error.message.withoutRemedy); pass the "
                    + "model that the store was written with", entity: error.entity, key: error.key, value: error.value,
                sqliteCode: error.sqliteCode, file: contents.place.given)
        }
    }

    /// Adds the entities whose root entity has a table. The entities of the history do not have such a table.
    private mutating func addEntities() throws {
        for stored in contents.entities {
            if stored.parent == 0 && contents.tables["Z" + stored.name.uppercased()] == nil { continue }
            let entity = try model.addEntity(named: stored.name)
            if let other = entities.updateValue(entity, forKey: stored.number) {
                throw CoreError(
                    .storeCorrupt,
                    "the entities \"\(other.name)\" and \"\(stored.name)\" both have the number \(stored.number) in "
                        + "Z_PRIMARYKEY",
                    entity: stored.name, value: .int(stored.number))
            }
            // A superentity must have a lower number than its subentities. This rejects cycles.
            if stored.parent == 0 { continue }
            guard let parent = entities[stored.parent] else {
                let known = contents.entities.first { $0.number == stored.parent }
                throw CoreError(
                    .storeCorrupt,
                    "the entity \"\(stored.name)\" inherits from "
                        + (known.map {
                            "\"\($0.name)\", which does not have a table, or has a higher number in Z_PRIMARYKEY"
                        }
                            ?? "entity number \(stored.parent), for which Z_PRIMARYKEY does not contain a name"),
                    entity: stored.name, value: .int(stored.parent))
            }
            try entity.setParent(parent)
        }
    }

    private func addColumns(of stored: StoreContents.StoredEntity) throws {
        guard let root = entities[stored.number] else { return }
        let table = "Z" + stored.name.uppercased()
        let columns = contents.tables[table] ?? [:]
        for (column, type) in columns.sorted(by: { byteOrder($0.key, $1.key) }) {
            guard column.hasPrefix("Z"), !["Z_PK", "Z_ENT", "Z_OPT"].contains(column) else { continue }
            let rest = column.dropFirst()
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            if !digits.isEmpty {
                // Z5_NAME is the entity of ZNAME's target; Z5NAME is the owner of a to-many relationship without an
                // inverse.
                if rest.dropFirst(digits.count).first != "_" {
                    try addOwner(digits, String(rest.dropFirst(digits.count)), root, columns)
                }
            } else if rest.first != "_" || !rest.hasPrefix("_FOK_") {
                let known = knownProperty(rest, of: stored.name)
                let name = known?.name ?? rest.lowercased()
                guard isIdentifier(name), ownProperty(name, of: root) == nil else { continue }
                if let target = hints.target(of: column, in: table, entity: stored).flatMap({ entities[$0] }) {
                    try root.addRelationship(named: name, destination: target)
                } else {
                    let attribute = (known as? Attribute).flatMap {
                        ColumnGroup.declaredType($0.type) == type ? $0.type : nil
                    }
                    try root.addAttribute(named: name, type: attribute ?? ModelInference.type(declared: type))
                }
            }
        }
    }

    /// Returns the property of the cached model that has this column.
    private func knownProperty(_ tail: Substring, of root: String) -> Property? {
        let family = cached?.entity(named: root)?.withDescendants ?? []
        return family.lazy.flatMap { $0.ownAttributes as [Property] + $0.ownRelationships }.first {
            $0.name.uppercased() == tail
        }
    }

    private func addOwner(_ digits: Substring, _ tail: String, _ root: Entity, _ columns: [String: String]) throws {
        guard let owner = Int64(digits).flatMap({ entities[$0] }), isIdentifier(tail.lowercased()),
            ownProperty(tail.lowercased(), of: owner) == nil
        else { return }
        try owner.addRelationship(
            named: tail.lowercased(), destination: root, isToMany: true,
            isOrdered: columns["Z_FOK_\(digits)\(tail)"] != nil)
    }

    /// Adds the relationships of a join table.
    ///
    /// Z_3TAGS (Z_3NOTES, Z_5TAGS): entity 3 has the relationship `tags` to entity 5, whose inverse is `notes`.
    private func addJoin(_ table: String, _ columns: [String: String]) throws {
        guard table.hasPrefix("Z_"), let (number, name) = ModelInference.numbered(table.dropFirst(2)),
            let naming = entities[number], !columns.isEmpty, columns["Z_PK"] == nil
        else { return }
        var keys = columns.keys.filter { !$0.hasPrefix("Z_FOK_") }.sorted(by: byteOrder)
        if keys.contains("REFLEXIVE") {
            guard let member = keys.first(where: { $0 != "REFLEXIVE" }), isFree(name, naming) else { return }
            let relationship = try naming.addRelationship(
                named: name.lowercased(), destination: naming, isToMany: true,
                isOrdered: columns["Z_FOK_" + member.dropFirst(2)] != nil)
            return try relationship.setInverse(relationship)
        }
        guard keys.count == 2, keys.allSatisfy({ $0.hasPrefix("Z_") }) else { return }
        // The column of the members has the table's name, the other column the name of the inverse.
        let isMember = keys.map { ModelInference.numbered($0.dropFirst(2))?.name.hasPrefix(name) == true }
        if isMember[0] && !isMember[1] { keys.reverse() }
        guard let (ownerNumber, inverseName) = ModelInference.numbered(keys[0].dropFirst(2)), ownerNumber == number,
            let (memberNumber, _) = ModelInference.numbered(keys[1].dropFirst(2)),
            let member = entities[memberNumber], isFree(name, naming), isFree(inverseName, member),
            naming !== member || name != inverseName
        else { return }
        let relationship = try naming.addRelationship(
            named: name.lowercased(), destination: member, isToMany: true,
            isOrdered: columns["Z_FOK_" + keys[1].dropFirst(2)] != nil)
        let inverse = try member.addRelationship(
            named: inverseName.lowercased(), destination: naming, isToMany: true,
            isOrdered: columns["Z_FOK_" + keys[0].dropFirst(2)] != nil)
        try relationship.setInverse(inverse)
    }

    private func isFree(_ name: String, _ entity: Entity) -> Bool {
        isIdentifier(name.lowercased()) && ownProperty(name.lowercased(), of: entity) == nil
    }

    /// Returns the property of that name in the whole entity tree.
    ///
    /// A subentity cannot repeat the name of an inherited property.
    private func ownProperty(_ name: String, of entity: Entity) -> Property? {
        entity.root.withDescendants.lazy.flatMap(\.allProperties).first { $0.name == name }
    }

    private static func numbered(_ text: Substring) -> (number: Int64, name: String)? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int64(digits), digits.count < text.count else { return nil }
        return (number, String(text.dropFirst(digits.count)))
    }

    /// Returns the attribute type of a declared column type.
    ///
    /// The result follows Core Data's type names, or else SQLite's rules of affinity.
    private static func type(declared: String) -> AttributeType {
        let type = declared.uppercased()
        func has(_ words: String...) -> Bool { words.contains { position(of: $0, in: type) != nil } }
        if has("TIMESTAMP") { return .date }
        if has("INT") { return .integer64 }
        if has("CHAR", "CLOB", "TEXT") { return .string }
        if has("BLOB") || type.isEmpty { return .binary }
        return has("REAL", "FLOA", "DOUB") ? .double : .decimal
    }
}
