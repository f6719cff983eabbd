import CorestoneFormats
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The objects of one entity in a binary store, without those of its subentities.
struct BinaryTable {
    let entity: Entity
    private let keys: PackedNumbers
    private let versions: PackedNumbers
    /// The columns, by the path of the property.
    private let columns: [String: BinaryColumn]
    /// The highest primary key that was ever assigned in the entity tree.
    private let lastKey: Int64
    /// The path of the file; empty for a table that is to be written.
    private let path: String
    /// The identifier of the store, for errors; nil if it is unknown.
    private let store: String?
    private let areVersionsIgnored: Bool

    private typealias Key = BinaryFormat.Key

    init(of entity: Entity, in nodes: Nodes) {
        (self.entity, path, store, areVersionsIgnored) = (entity, "", nil, false)
        let rows = nodes.rows(of: entity)
        keys = PackedNumbers(rows.map(\.record.primaryKey))
        versions = PackedNumbers(rows.map { Int64($0.record.version) })
        var columns: [String: BinaryColumn] = [:]
        for property in entity.properties {
            let slot = Int(property.slot)
            guard let type = BinaryColumnType(entity.layout.slots[slot].kind) else { continue }
            columns[property.path] = BinaryColumn(type, of: rows, slot, entity.layout.slots[slot])
        }
        self.columns = columns
        lastKey = nodes.lastKey(of: entity.root)
    }

    var propertyList: PropertyListValue {
        .dictionary([
            Key.name: .string(entity.name), Key.lastKey: .integer(lastKey),
            Key.keys: .data(keys.bytes), Key.versions: .data(versions.bytes),
            Key.columns: .dictionary(columns.mapValues(\.propertyList)),
            Key.relationships: .dictionary(relationships),
        ])
    }

    /// The destination and cardinality of each relationship, for a comparison with the model.
    private var relationships: [String: PropertyListValue] {
        let stored = entity.relationships.filter { !$0.isTransient }
        return Dictionary(stored.map { ($0.name, $0.kindInFile) }) { first, _ in first }
    }
}

// MARK: - Reading

extension BinaryTable {
    /// Reads a table of a file without a copy of its values.
    ///
    /// Names are compared with the model before columns are decoded.
    ///
    /// - Parameters:
    ///   - store: The identifier of the store, for errors.
    ///   - skipped: Records content that the model does not have; nil to throw an error for it.
    ///   - budget: The remaining bytes of memory for the rows of the file, without their values.
    /// - Returns: nil for a table of an entity that is skipped.
    /// - Throws: `.storeCorrupt` for an incomplete table.
    ///   `.modelMismatch` for content that the model does not have, or has with another type.
    init?(
        _ table: PropertyListValue, _ model: Model, _ path: String, _ store: String?, _ skipped: SkippedContent?,
        budget: inout Int
    ) throws {
        let entries = table.dictionary ?? [:]
        let name = entries[Key.name]?.string ?? ""
        guard let entity = model.entity(named: name) else {
            guard let skipped else { throw BinaryTable.unknown(name, nil, path) }
            // An empty table does not contain data that a save could lose.
            if PackedNumbers(entries[Key.keys])?.count != 0 { skipped.add(name) }
            return nil
        }
        (self.entity, self.path, self.store, areVersionsIgnored) = (entity, path, store, skipped != nil)
        guard let keys = PackedNumbers(entries[Key.keys]), let versions = PackedNumbers(entries[Key.versions]),
            keys.count == versions.count, let lastKey = entries[Key.lastKey]?.integer,
            let columns = entries[Key.columns]?.dictionary
        else { throw BinaryFormat.damaged(path, "the table for \(name) is incomplete", entity: name) }
        (self.keys, self.versions, self.lastKey) = (keys, versions, lastKey)
        // A small file with keys but without columns could otherwise allocate much memory for its rows.
        budget -= keys.count * entity.layout.fixedSize
        guard budget >= 0 else {
            throw BinaryFormat.damaged(
                path,
                "it lists \(keys.count) \(keys.count == 1 ? "object" : "objects") of \(name), but is too small to contain "
                    + "\(keys.count == 1 ? "it" : "them")", entity: name, value: .int(Int64(keys.count)))
        }
        try BinaryTable.requireSameKinds(entries[Key.relationships]?.dictionary ?? [:], entity, path)
        let properties = Dictionary(entity.properties.map { ($0.path, $0) }) { first, _ in first }
        var known: [String: PropertyListValue] = [:]
        for (key, value) in columns {
            // The next save would lose a column that the model does not have.
            guard let property = properties[key] else {
                guard let skipped else { throw BinaryTable.unknown(name, key, path) }
                if BinaryColumn.hasValues(value) { skipped.add(name, key) }
                continue
            }
            known[key] = value
            let type = BinaryColumn.type(of: value)
            let own = BinaryColumnType(entity.layout.slots[Int(property.slot)].kind)
            guard type == nil || type == own || skipped != nil && type?.isInteger == true && own?.isInteger == true
            else {
                throw BinaryTable.mistyped(name, property, path, type)
            }
        }
        self.columns = try [String: BinaryColumn](
            uniqueKeysWithValues: known.map { key, value in
                guard let column = BinaryColumn(value, rows: keys.count) else {
                    throw BinaryFormat.damaged(path, "the column \(name).\(key) is incomplete", entity: name, key: key)
                }
                if let row = column.firstUnsound() {
                    throw BinaryFormat.damaged(
                        path, "\(name).\(key) of object \(keys[row]) is not valid UTF-8", entity: name, key: key,
                        object: store.map { ObjectID.uri(ofKey: keys[row], entity: name, store: $0) })
                }
                return (key, column)
            })
    }

    /// A column and the slot to which its values are written.
    private struct Filling {
        let column: BinaryColumn
        let slot: Int
        let layout: SlotLayout
        /// The destination of a to-one relationship; nil for an attribute.
        let destination: Entity?

        /// Whether an integer from a column of another width fits into the slot.
        func accepts(_ view: ValueView) -> Bool {
            switch layout.kind {
            case .int16: Int16(exactly: view.integer) != nil
            case .int32: Int32(exactly: view.integer) != nil
            default: true
            }
        }
    }

    /// Throws if a relationship of the file has another cardinality or destination in the model.
    ///
    /// - Parameter kinds: The relationships in the file by name; empty in files of earlier versions of the library.
    private static func requireSameKinds(
        _ kinds: [String: PropertyListValue], _ entity: Entity, _ path: String
    ) throws {
        for relationship in entity.relationships where !relationship.isTransient {
            guard let kind = kinds[relationship.name]?.dictionary, let destination = kind[Key.destination]?.string
            else { continue }
            let isToMany = kind[Key.isToMany] == .bool(true)
            func mismatch(_ problem: String) -> CoreError {
                let declaring = relationship.entity.name
                return CoreError.ofAnotherModel(
                    path, "\(declaring).\(relationship.name) \(problem)", entity: declaring, key: relationship.name)
            }
            if isToMany != relationship.isToMany {
                throw mismatch("is \(isToMany ? "to-many" : "to-one") in the store, but not in the model")
            }
            let own = relationship.destination.name
            if destination != own {
                throw mismatch("has the destination \(destination) in the store, but \(own) in the model")
            }
        }
    }

    /// Reads the rows of the table into `nodes`.
    ///
    /// - Parameter entities: The entities in the order of the file; nil for an entity that is skipped. References to
    ///   its objects are omitted.
    func read(into nodes: Nodes, _ entities: [Entity?]) throws {
        let fillings = fillings()
        var writer = RecordWriter(expectedBytes: keys.count * entity.layout.fixedSize)
        for (row, key) in keys.enumerated() {
            if row & 0xFFF == 0 { try MemoryCheck.require(row * 128, to: "read \(path)", file: path) }
            guard key > 0, key <= lastKey else {
                let fault = key > 0 ? "because the last key is \(lastKey)" : "which must be 1 or more"
                throw BinaryFormat.damaged(
                    path, "object \(key) of \(entity.name) has an invalid key, \(fault)", entity: entity.name,
                    value: .int(key), object: key > 0 ? uri(key) : nil)
            }
            guard nodes.node(entity.root, key) == nil else {
                throw BinaryFormat.damaged(
                    path, "two objects of \(entity.root.name) have the key \(key)", entity: entity.name,
                    value: .int(key), object: uri(key))
            }
            guard let version = Int32(exactly: versions[row]) else {
                throw BinaryFormat.damaged(
                    path,
                    "object \(key) of \(entity.name) has the version \(versions[row]), which does not fit into 32 bits",
                    entity: entity.name, value: .int(versions[row]), object: uri(key))
            }
            writer.begin(primaryKey: key, version: version, entity: entity)
            for filling in fillings where filling.column.isPresent(row) {
                try filling.column.withView(row) { view in
                    var view = view
                    if let destination = filling.destination {
                        let listed = entities.at(view.high)
                        if case .some(nil) = listed { return }
                        guard let target = listed ?? nil, target.isKind(of: destination), view.integer > 0
                        else { throw invalidTargetError(filling, key, to: listed.flatMap { $0 }, view.integer) }
                        view.high = UInt64(target.index)
                    } else if !filling.accepts(view) {
                        throw tooLarge(view.integer, filling, key)
                    }
                    writer.set(view, filling.slot, filling.layout)
                }
            }
            try nodes.put(writer.finish()) { properties, values in
                let names = properties.map(\.path).listed
                return BinaryFormat.damaged(
                    path,
                    "object \(key) of \(entity.name) has the same \(names) as another object, but "
                        + "\(properties.count == 1 ? names : "their combination") must be unique",
                    entity: entity.name, key: properties.first?.path, value: values.first, object: uri(key))
            }
        }
        nodes.reserveKeys(of: entity.root, upTo: lastKey)
    }

    private func uri(_ key: Int64) -> String? {
        store.map { ObjectID.uri(ofKey: key, entity: entity.name, store: $0) }
    }

    /// Creates the error for an invalid reference of a to-one relationship.
    ///
    /// - Parameter target: The entity of the target; nil if the file does not list it.
    private func invalidTargetError(_ filling: Filling, _ key: Int64, to target: Entity?, _ targetKey: Int64)
        -> CoreError
    {
        let name = entity.properties[filling.slot].name
        let subject = "\(entity.name).\(name) of object \(key)"
        guard let target else {
            return BinaryFormat.damaged(
                path, "\(subject) has a target of an entity that the file does not list", entity: entity.name,
                key: name, value: .int(targetKey), object: uri(key))
        }
        guard let destination = filling.destination, !target.isKind(of: destination) else {
            return BinaryFormat.damaged(
                path, "\(subject) has the invalid target \(targetKey), which must be 1 or more", entity: entity.name,
                key: name, value: .int(targetKey), object: uri(key))
        }
        let difference = "\(subject) refers to an object of \(target.name), not of \(destination.name)"
        return areVersionsIgnored
            ? CoreError.ofAnotherModel(
                path, difference, entity: entity.name, key: name, value: .int(targetKey), object: uri(key))
            : BinaryFormat.damaged(
                path, difference, entity: entity.name, key: name, value: .int(targetKey), object: uri(key))
    }

    /// Creates the error for an integer that does not fit into its slot.
    ///
    /// Only a column of another model has integers of another width.
    private func tooLarge(_ value: Int64, _ filling: Filling, _ key: Int64) -> CoreError {
        let property = entity.properties[filling.slot]
        let type = (property as? Attribute)?.type.displayName ?? ""
        let range = filling.layout.kind == .int16 ? "-32768 to 32767" : "-2147483648 to 2147483647"
        return CoreError.ofAnotherModel(
            path, "\(entity.name).\(property.path) of object \(key) is \(value), but must be \(range) (\(type))",
            entity: entity.name, key: property.path, value: .int(value), object: uri(key))
    }

    private func fillings() -> [Filling] {
        entity.properties.compactMap { property in
            columns[property.path].map {
                Filling(
                    column: $0, slot: Int(property.slot), layout: entity.layout.slots[Int(property.slot)],
                    destination: (property as? Relationship)?.destination)
            }
        }
    }

    private static func unknown(_ entity: String, _ key: String?, _ path: String) -> CoreError {
        let name = key.map { "the property \(entity).\($0)" } ?? "the entity \"\(entity)\""
        let fault =
            entity.isEmpty
            ? "an entity without a name; restore the file from a backup"
            : "\(name), which the model does not have; open the store with the model it was written with"
        return CoreError(
            .modelMismatch, code: .persistentStoreIncompatibleVersionHash,
            "\(path) has \(fault)", entity: entity.isEmpty ? nil : entity, key: key, file: path)
    }

    /// Creates the error for a column whose type differs from the type in the model.
    ///
    /// - Parameter type: The type of the column.
    private static func mistyped(
        _ entity: String, _ property: Property, _ path: String, _ type: BinaryColumnType?
    ) -> CoreError {
        let key = property.path
        let found = type == .object ? "a to-one relationship" : "of type \(type?.displayName ?? "")"
        let expected =
            if property.isTransient {
                "transient"
            } else if let relationship = property as? Relationship {
                "a \(relationship.isToMany ? "to-many" : "to-one") relationship"
            } else {
                "of type \((property as? Attribute)?.type.displayName ?? "")"
            }
        return CoreError.ofAnotherModel(
            path, "\(entity).\(key) is \(found) in the store, but \(expected) in the model", entity: entity, key: key)
    }
}

extension Relationship {
    /// The cardinality and destination, as written to the file.
    fileprivate var kindInFile: PropertyListValue {
        .dictionary([
            BinaryFormat.Key.destination: .string(destination.name), BinaryFormat.Key.isToMany: .bool(isToMany),
        ])
    }
}

extension [Entity?] {
    /// Returns an element: `.none` for an index beyond the list, `.some(nil)` for an entity that is skipped.
    fileprivate func at(_ place: UInt64) -> Entity?? {
        // The conditional operator would convert `.none` into `.some(nil)`.
        guard let place = Int(exactly: place), place < count else { return .none }
        return .some(self[place])
    }
}
