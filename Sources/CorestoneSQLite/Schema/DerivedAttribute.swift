import CorestoneModel
import CorestonePredicate

/// A derived attribute with the triggers by which the store itself computes it (store-format.md 1.6).
///
/// The texts of `to-many.@count` and of `to-one.attribute` are those of Apple's stores, to the letter; that of `now()` is
/// one that its framework logs. The others are made after their example, of nothing but what Apple's framework registers.
/// Functions of text are computed by triggers of the connection alone, since the names of Apple's functions are not known.
struct DerivedAttribute {
    enum Form {
        case count(ToManyStorage)
        /// Of an attribute of the members, which lie in the given table.
        case sum(ToManyStorage, members: String, column: String)
        /// An attribute of the object that the relationship leads to.
        case copy(foreignKey: String, table: String, column: String)
        case now
        /// A function of an attribute of the object itself.
        case text(TextFunction, column: String)
    }

    let attribute: Attribute
    /// The table that has the attribute's column.
    let table: TableSchema
    let column: String
    let form: Form
    /// Numbers of the entities that have the attribute; nil when all rows of the table do.
    let numbers: [Int64]?

    /// nil for a derivation that no store can compute.
    init?(_ attribute: Attribute, schema: StoreSchema) {
        let table = schema.table(of: attribute.entity)
        guard let derivation = attribute.derivation, derivation.filter == nil,
            let expression = derivation.expression.expression, let column = table.column(of: attribute),
            let form = DerivedAttribute.form(of: expression, attribute.entity, schema)
        else { return nil }
        self.attribute = attribute
        self.table = table
        self.column = column.name
        self.form = form
        numbers =
            attribute.entity.parent == nil
            ? nil : attribute.entity.withDescendants.map { schema.number(of: $0) }.sorted()
    }

    private static func form(of expression: Expression, _ entity: Entity, _ schema: StoreSchema) -> Form? {
        switch expression {
        case .function(.now, _): return .now
        case .function(.count, let arguments):
            guard case .keyPath(let path)? = arguments.first, let key = path.single?.text,
                let relationship = entity.property(named: key) as? Relationship
            else { return nil }
            return schema.storage(of: relationship).map { .count($0) }
        case .function(.sum, let arguments):
            guard case .keyPath(let path)? = arguments.first, path.keys.count == 2,
                let relationship = entity.property(named: path.keys[0].text) as? Relationship, relationship.isToMany,
                let column = column(path.keys[1].text, of: relationship.destination, schema)
            else { return nil }
            let members = schema.table(of: relationship.destination).name
            return schema.storage(of: relationship).map { .sum($0, members: members, column: column) }
        case .function(let function, let arguments):
            guard let text = TextFunction(function), case .keyPath(let path)? = arguments.first,
                let key = path.single?.text, let column = column(key, of: entity, schema)
            else { return nil }
            return .text(text, column: column)
        case .keyPath(let path):
            guard path.keys.count == 2, let relationship = entity.property(named: path.keys[0].text) as? Relationship,
                !relationship.isToMany, let key = schema.table(of: entity).column(of: relationship)?.name,
                let column = column(path.keys[1].text, of: relationship.destination, schema)
            else { return nil }
            return .copy(foreignKey: key, table: schema.table(of: relationship.destination).name, column: column)
        default: return nil
        }
    }

    private static func column(_ key: String, of entity: Entity, _ schema: StoreSchema) -> String? {
        (entity.property(named: key) as? Attribute).flatMap { schema.table(of: entity).column(of: $0)?.name }
    }
}
