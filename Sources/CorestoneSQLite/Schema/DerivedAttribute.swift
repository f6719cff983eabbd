import CorestoneModel
import CorestonePredicate

/// A derived attribute and the triggers by which the store computes it.
///
/// See docs/reference/model.md, "Derived attributes".
///
/// The triggers of `to-many.@count` and `to-one.attribute` are identical to those in Apple's stores. The triggers of
/// `now()` are identical to those that Apple's framework logs. All other triggers follow the same pattern, and use only
/// functions that Apple's framework registers. String functions are called by temporary triggers, because the names of
/// Apple's functions are unknown.
struct DerivedAttribute {
    enum Form {
        case count(ToManyStorage)
        /// The sum of an attribute of the members, which are in the given table.
        case sum(ToManyStorage, members: String, column: String)
        /// An attribute of the target of a to-one relationship.
        case copy(foreignKey: String, table: String, column: String)
        /// Another attribute of the object itself.
        case own(column: String)
        case now
        /// A string function of another attribute of the object itself.
        case text(TextFunction, column: String)
    }

    let attribute: Attribute
    /// The table that has the attribute's column.
    let table: TableSchema
    let column: String
    let form: Form
    /// The numbers of the entities that have the attribute; nil if all rows of the table have it.
    let numbers: [Int64]?

    /// Creates the derivation of an attribute; nil for a derivation that stores cannot compute.
    init?(_ attribute: Attribute, schema: StoreSchema) {
        let table = schema.table(of: attribute.entity)
        guard let derivation = attribute.derivation, derivation.filter == nil,
            let expression = derivation.expression.expression, let column = table.column(of: attribute),
            let form = DerivedAttribute.form(of: expression, attribute, schema)
        else { return nil }
        self.attribute = attribute
        self.table = table
        self.column = column.name
        self.form = form
        numbers =
            attribute.entity.parent == nil
            ? nil : attribute.entity.withDescendants.map { schema.number(of: $0) }.sorted()
    }

    /// Returns the form of a derivation; nil if it is not supported.
    ///
    /// Also returns nil if the type of the derivation's result differs from the attribute's.
    private static func form(of expression: Expression, _ attribute: Attribute, _ schema: StoreSchema) -> Form? {
        let entity = attribute.entity
        switch expression {
        case .function(.now, _): return attribute.type == .date ? .now : nil
        case .function(.count, let arguments):
            guard attribute.type.isNumber, case .keyPath(let path)? = arguments.first, let key = path.single?.text,
                let relationship = entity.property(named: key) as? Relationship
            else { return nil }
            return schema.storage(of: relationship).map { .count($0) }
        case .function(.sum, let arguments):
            guard attribute.type.isNumber, case .keyPath(let path)? = arguments.first, path.keys.count >= 2,
                let relationship = entity.property(named: path.keys[0].text) as? Relationship, relationship.isToMany,
                let addend = source(path.keys[1...], of: relationship.destination, schema), addend.type.isNumber
            else { return nil }
            let members = schema.table(of: relationship.destination).name
            return schema.storage(of: relationship).map { .sum($0, members: members, column: addend.column) }
        case .function(let function, let arguments):
            guard attribute.type == .string, let text = TextFunction(function),
                case .keyPath(let path)? = arguments.first,
                let source = source(path.keys[...], of: entity, schema), source.type == .string
            else { return nil }
            return .text(text, column: source.column)
        case .keyPath(let path): return copy(path.keys[...], attribute, schema)
        default: return nil
        }
    }

    /// Returns the form of `attribute` or `to-one.attribute`.
    private static func copy(_ keys: ArraySlice<KeyName>, _ attribute: Attribute, _ schema: StoreSchema) -> Form? {
        let entity = attribute.entity
        guard let relationship = keys.first.flatMap({ entity.property(named: $0.text) }) as? Relationship else {
            guard let source = source(keys, of: entity, schema), source.type == attribute.type else { return nil }
            return .own(column: source.column)
        }
        guard !relationship.isToMany, let key = schema.table(of: entity).column(of: relationship)?.name,
            let source = source(keys.dropFirst(), of: relationship.destination, schema),
            source.type == attribute.type
        else { return nil }
        return .copy(foreignKey: key, table: schema.table(of: relationship.destination).name, column: source.column)
    }

    /// Returns the attribute at a key path of an entity.
    private static func source(
        _ keys: ArraySlice<KeyName>, of entity: Entity, _ schema: StoreSchema
    ) -> (column: String, type: AttributeType)? {
        let name = keys.map(\.text).joined(separator: ".")
        guard let attribute = entity.property(named: name) as? Attribute,
            let column = schema.table(of: entity).column(of: attribute)?.name
        else { return nil }
        return (column, attribute.type)
    }
}

extension AttributeType {
    fileprivate var isNumber: Bool {
        switch self {
        case .integer16, .integer32, .integer64, .decimal, .double, .float: true
        default: false
        }
    }
}
