import CorestoneModel
import CorestoneValues

/// A generator of the statements of views.
///
/// SQL compares names case-insensitively, so no two names differ only in case.
struct ViewMaker {
    private let schema: StoreSchema
    private let dates: StoreViews.Dates
    private let isTemporary: Bool
    private var names: Names

    init(schema: StoreSchema, dates: StoreViews.Dates, isTemporary: Bool) {
        (self.schema, self.dates, self.isTemporary) = (schema, dates, isTemporary)
        names = Names(taken: StoreSchema.systemTables + schema.tables.map(\.name) + schema.joins.map(\.name))
    }

    mutating func makeAll() -> [StoreViews.View] {
        var views: [StoreViews.View] = []
        for entity in schema.model.preorder {
            let name = names.makeUnique(entity.name)
            views.append(StoreViews.View(name: name, entity: entity.name, statement: statement(name, select(entity))))
        }
        for entity in schema.model.preorder {
            for relationship in entity.ownRelationships where relationship.isStoredToMany {
                guard let select = select(relationship) else { continue }
                let name = names.makeUnique("\(entity.name)_\(relationship.name)")
                views.append(StoreViews.View(name: name, entity: nil, statement: statement(name, select)))
            }
        }
        return views
    }

    private func statement(_ name: String, _ select: String) -> String {
        "CREATE \(isTemporary ? "TEMP " : "")VIEW \(ViewMaker.quoted(name)) AS\n\(select)"
    }

    static func quoted(_ name: String) -> String { name.asIdentifier }

    /// Returns the name of a table in a view.
    ///
    /// A temporary view names the main database, because other tables in the session may have the same name. A
    /// permanent view can read only its own database.
    private func place(_ table: String) -> String { isTemporary ? "main.\(table)" : table }

    // MARK: Entities

    private func select(_ entity: Entity) -> String {
        let table = schema.table(of: entity)
        let family = entity.withDescendants
        // The properties of the entity, and those that its subentities add.
        let properties =
            entity.properties
            + family.dropFirst().flatMap { subentity in subentity.properties.filter { $0.entity === subentity } }
        let attributes = properties.compactMap { $0 as? Attribute }.filter {
            !$0.isTransient && $0.type != .composite && table.column(of: $0) != nil
        }
        // Attributes are named before the other columns, so that `_` is not appended to their names.
        var columnNames = Names(taken: [])
        let titles = attributes.map { columnNames.makeUnique(ViewMaker.name(of: $0)) }
        var columns = ["t.Z_PK AS \(ViewMaker.quoted(columnNames.makeUnique("id")))"]
        if table.hasSubentities {
            columns.append(
                "\(nameOfEntity("t.Z_ENT", family)) AS \(ViewMaker.quoted(columnNames.makeUnique("entity")))")
        }
        for (attribute, title) in zip(attributes, titles) {
            columns += shown(attribute, "t.\(table.column(of: attribute)?.name ?? "NULL")", title, &columnNames)
        }
        for relationship in properties.compactMap({ $0 as? Relationship })
        where !relationship.isToMany && !relationship.isTransient {
            columns += shown(relationship, in: table, &columnNames)
        }
        var text = "  SELECT " + columns.joined(separator: ",\n    ") + "\n  FROM \(place(table.name)) t"
        if family.count < table.entities.count {
            text += "\n  WHERE t.Z_ENT IN (\(family.map { "\(schema.number(of: $0))" }.joined(separator: ", ")))"
        }
        return text
    }

    /// Returns the column name of an attribute. The parts of an element's path are joined with `_`.
    private static func name(of attribute: Attribute) -> String {
        String(
            decoding: attribute.path.utf8.map { $0 == UInt8(ascii: ".") ? UInt8(ascii: "_") : $0 }, as: UTF8.self)
    }

    private func nameOfEntity(_ number: String, _ family: [Entity]) -> String {
        let cases = family.map { "WHEN \(schema.number(of: $0)) THEN '\($0.name)'" }.joined(separator: " ")
        return "CASE \(number) \(cases) ELSE \(number) END"
    }

    private func shown(_ attribute: Attribute, _ column: String, _ title: String, _ names: inout Names) -> [String] {
        let name = ViewMaker.quoted(title)
        switch attribute.type {
        case .date: return ["\(date(column)) AS \(name)"]
        case .uuid:
            let parts = [(1, 8), (9, 4), (13, 4), (17, 4), (21, 12)].map { "substr(hex(\(column)), \($0), \($1))" }
            return [
                "CASE WHEN typeof(\(column)) = 'blob' AND length(\(column)) = 16 THEN "
                    + "\(parts.joined(separator: " || '-' || ")) ELSE \(column) END AS \(name)"
            ]
        case .binary where attribute.allowsExternalStorage:
            // The first byte is 1 before data, and 2 before the name of a backing file.
            return [
                "CASE WHEN hex(substr(\(column), 1, 1)) = '01' THEN substr(\(column), 2) END AS \(name)",
                "CASE WHEN hex(substr(\(column), 1, 1)) = '02' THEN CAST(substr(\(column), 2, 36) AS TEXT) END AS "
                    + ViewMaker.quoted(names.makeUnique(title + "_file")),
            ]
        default: return ["\(column) AS \(name)"]
        }
    }

    private func date(_ column: String) -> String {
        let unix = "\(column) + \(ReferenceDate.unixOffset)"
        switch dates {
        case .reference: return column
        case .unix: return unix
        // A date outside the range of SQLite's calendar is shown as a number.
        case .text: return "ifnull(strftime('%Y-%m-%dT%H:%M:%fZ', \(unix), 'unixepoch'), \(column))"
        }
    }

    // MARK: Relationships

    /// Returns the columns of a to-one relationship.
    ///
    /// They are the primary key of the target, its entity if several are possible, its title if its entity has one, and
    /// the order key if the inverse is ordered.
    private func shown(_ relationship: Relationship, in table: TableSchema, _ names: inout Names) -> [String] {
        guard let column = table.column(of: relationship) else { return [] }
        let (name, destination) = (relationship.name, relationship.destination)
        let key = "t.\(column.name)"
        var columns = ["\(key) AS \(ViewMaker.quoted(names.makeUnique(name + "_id")))"]
        if let target = table.targetEntityColumn(of: relationship) {
            columns.append(
                "\(nameOfEntity("t.\(target.name)", destination.withDescendants)) AS "
                    + ViewMaker.quoted(names.makeUnique(name + "_entity")))
        }
        let other = schema.table(of: destination)
        if let title = ViewMaker.title(of: destination), let shown = other.column(of: title) {
            columns.append(
                "(SELECT o.\(shown.name) FROM \(place(other.name)) o WHERE o.Z_PK = \(key)) AS "
                    + ViewMaker.quoted(names.makeUnique("\(name)_\(title.name)")))
        }
        if let order = table.orderColumn(of: relationship) {
            columns.append("t.\(order.name) AS \(ViewMaker.quoted(names.makeUnique(name + "_order")))")
        }
        return columns
    }

    /// Returns the attribute that serves as the title of an object, or nil if there is no suitable attribute.
    ///
    /// It is a string attribute with a common name such as `title`, or with a unique constraint of its own.
    private static func title(of entity: Entity) -> Attribute? {
        let texts = entity.properties.compactMap { $0 as? Attribute }.filter { $0.type == .string && !$0.isTransient }
        for name in ["name", "title", "displayname", "fullname", "label", "filename", "identifier"] {
            if let found = texts.first(where: { $0.name.lowercased() == name }) { return found }
        }
        return entity.uniqueConstraints.lazy.filter { $0.count == 1 }.compactMap { constraint in
            texts.first { $0.name == constraint[0] }
        }.first
    }

    /// Returns the pairs of a relationship that the views of entities do not show, or nil for other relationships.
    private func select(_ relationship: Relationship) -> String? {
        var columns = Names(taken: [])
        let owner = ViewMaker.quoted(columns.makeUnique("\(ViewMaker.lowered(relationship.entity.name))_id"))
        let member = ViewMaker.quoted(columns.makeUnique("\(relationship.name)_id"))
        switch schema.storage(of: relationship) {
        case .joinTable(let join, let first, let second, nil, true):
            // A pair may be stored in one or both directions.
            return "  SELECT \(first) AS \(owner), \(second) AS \(member) FROM \(place(join))\n"
                + "  UNION SELECT \(second), \(first) FROM \(place(join))"
        case .joinTable(let join, let first, let second, let order, _):
            return "  SELECT \(first) AS \(owner), \(second) AS \(member)"
                + (order.map { ", \($0) AS \"order\"" } ?? "") + "\n  FROM \(place(join))"
        case .foreignKey(let table, let column, let order, false):
            return "  SELECT \(column) AS \(owner), Z_PK AS \(member)" + (order.map { ", \($0) AS \"order\"" } ?? "")
                + "\n  FROM \(place(table.name)) WHERE \(column) IS NOT NULL"
        default: return nil
        }
    }

    private static func lowered(_ name: String) -> String { name.prefix(1).lowercased() + name.dropFirst() }

    /// A source of unique names, ignoring the case of letters. `_` is appended to a name that is already used.
    private struct Names {
        private var taken: Set<Text>

        init(taken: [String]) { self.taken = Set(taken.map { Text($0.lowercased()) }) }

        mutating func makeUnique(_ name: String) -> String {
            var name = name
            while !taken.insert(Text(name.lowercased())).inserted { name += "_" }
            return name
        }
    }
}
