import CorestoneModel
import CorestoneValues

/// The rows of an upsert, and the existing objects with their keys.
final class ArrowMatch {
    private typealias Key = ArrowRelationship.Key

    private let plan: ArrowImportPlan
    private let columns: [ArrowColumn]
    /// The objects by key; nil if rows are matched by object ID.
    var index: ArrowObjectIndex? { columns.isEmpty ? nil : objects }
    private let objects: ArrowObjectIndex

    init(_ plan: ArrowImportPlan, _ keys: [String], in context: Context) throws {
        self.plan = plan
        columns = plan.identity == nil ? try plan.keyColumns(keys, allowsObjectID: true) : []
        objects = try ArrowObjectIndex(plan.entity, columns.map(\.attribute), in: context)
    }

    /// Finds the objects of the rows.
    func prepare(_ rows: Range<Int>) throws {
        var wanted: Set<Key> = []
        for row in rows { if let key = try locatedKey(row) { wanted.insert(key) } }
        try objects.prepare(wanted)
    }

    /// Returns the object that the row updates; nil if the row inserts one.
    func object(_ row: Int) throws -> ManagedObject? {
        guard let key = try key(row) else { return nil }
        let found = try objects.objects(key)
        guard found.count < 2 else {
            throw CoreError(
                .invalidArgument,
                "several \(plan.entity.name) objects have \(described(key)); use a key that is unique",
                entity: plan.entity.name, key: columns.first?.attribute.path, value: key.values[0])
        }
        if found.isEmpty, plan.identity != nil {
            throw CoreError(
                .invalidArgument,
                "\(key.values[0].excerpt) is not the URI of an object of \(plan.entity.name) in an open store; "
                    + "correct the URI, or pass null to insert an object", entity: plan.entity.name,
                key: ArrowFields.objectID, value: key.values[0])
        }
        return found.first
    }

    private func locatedKey(_ row: Int) throws -> Key? {
        do { return try key(row) } catch let error as CoreError { throw error.inArrowRow(plan.base + row + 1) }
    }

    /// Returns the key of a row. A key with a null does not match, as in SQL.
    private func key(_ row: Int) throws -> Key? {
        if let identity = plan.identity {
            let uri = try identity.uri(row, of: ArrowFields.objectID, plan.entity)
            return uri.isNull ? nil : Key(values: [uri])
        }
        var values: [PropertyValue] = []
        for column in columns {
            let value = try column.value(row)
            if value.isNull { return nil }
            values.append(value)
        }
        return Key(values: values)
    }

    private func described(_ key: Key) -> String {
        if plan.identity != nil { return "the URI \(key.values[0].excerpt)" }
        return zip(columns, key.values).map { "\($0.attribute.path) \($1.excerpt)" }.listed
    }
}

extension ArrowImportPlan {
    /// Returns the columns of the keys of an upsert; without keys, those of the first imported unique constraint.
    ///
    /// - Parameter allowsObjectID: Whether the key objectID is allowed, if the stream has a column for it.
    func keyColumns(_ keys: [String], allowsObjectID: Bool) throws -> [ArrowColumn] {
        func columns(_ keys: [String]) -> [ArrowColumn]? {
            let found = keys.compactMap { key in attributes.first { $0.attribute.path == key } }
            return found.count == keys.count ? found : nil
        }
        if keys.isEmpty {
            for (_, constraint) in entity.allUniqueConstraints { if let found = columns(constraint) { return found } }
            throw CoreError(
                .invalidArgument,
                "the columns do not contain a unique constraint of \(entity.name), by which existing objects are "
                    + "found; "
                    + (allowsObjectID
                        ? "name the attributes in keys (match)"
                        : "import the attributes of one, or call cst_context_upsert_arrow (upsert_arrow, upsertArrow) "
                            + "with keys (match)"),
                entity: entity.name, key: "keys")
        }
        func missing(_ key: String) -> CoreError {
            CoreError(
                .invalidArgument,
                "the imported columns do not contain the key \(entity.name).\(key); import the column \(quoted(key)), "
                    + "or map another column to the key",
                entity: entity.name, key: key)
        }
        if allowsObjectID, keys == [ArrowFields.objectID], entity.property(named: ArrowFields.objectID) == nil {
            throw missing(ArrowFields.objectID)
        }
        for (place, key) in keys.enumerated() {
            let isOnce = !keys[..<place].contains(key)
            guard isOnce, let attribute = entity.property(named: key) as? Attribute, !attribute.isTransient,
                attribute.type != .composite, attribute.type != .transformable
            else {
                if isOnce, key != ArrowFields.objectID { _ = try entity.requireProperty(named: key) }
                throw CoreError(
                    .invalidArgument,
                    isOnce
                        ? "\(entity.name).\(key) cannot be a key; use stored attributes that are neither composite nor "
                            + "transformable" + (allowsObjectID ? ", or objectID alone" : "")
                        : "the key \(quoted(key)) is listed twice; list it once",
                    entity: entity.name, key: key)
            }
            guard attributes.contains(where: { $0.attribute === attribute }) else { throw missing(key) }
        }
        return columns(keys) ?? []
    }
}
