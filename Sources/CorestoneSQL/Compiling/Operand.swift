import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// A value in SQL, such as one side of a comparison.
struct Operand {
    /// The kind of a value. It determines with which kinds the value can be compared.
    enum Kind: Equatable {
        /// A constant nil, which can be compared with every kind.
        case null
        /// `number` is an integer or a double, depending on the arithmetic. `decimal` is exact only in memory.
        case integer, real, number, decimal
        case text, uri, date, bytes, uuid
        /// The primary key of an object in the entity tree of this root. The root is a name, because an ID may belong
        /// to another instance of the model.
        case object(root: String)
        /// A constant list.
        case list
    }

    var sql: SQLFragment
    var kind: Kind
    var isNullable = true
    /// The value of a constant; nil for other operands.
    var constant: PropertyValue?
    /// For counts: the condition that the count is not 0, which is cheaper to evaluate.
    var existence: SQLFragment?
    /// Details of the values that `kind` does not express.
    var form = Form.plain
    /// For objects: how their entity is determined.
    var entity: ObjectEntity?
    /// The attribute whose value the operand is, for errors.
    var attribute: Attribute?

    enum Form {
        case plain
        /// Booleans, stored as integers; integers of at most 32 bits, whose sums fit into 64 bits.
        case boolean, small
        /// Values that cannot be read as a column of fetched rows.
        case opaque
    }
}

/// The entity of the objects whose primary keys are in a column.
struct ObjectEntity {
    let entity: Entity
    /// The column with the number of the concrete entity; nil if only `entity` is possible.
    let number: SQLFragment?
}

extension Operand {
    /// The attribute as messages name it, `Entity.key`; nil for other operands.
    var attributeName: String? { attribute.map { "\($0.entity.name).\($0.path)" } }

    /// Returns the clause of an error message about an operand of the wrong kind, after "takes numbers".
    ///
    /// - Parameter expression: The operand's expression in the predicate, which is shown if the operand is neither an
    ///   attribute nor a constant.
    func mismatch(_ expression: Expression? = nil) -> String {
        if let attributeName { return ", but \(attributeName) is \(kind.name)" }
        if let constant { return ", not \(kind.name) (\(constant.excerpt))" }
        return expression.map { ", but \"\($0.format)\" is \(kind.name)" } ?? ", not \(kind.name)"
    }

    /// Returns the form of an expression whose result is one of two operands.
    func form(beside other: Operand) -> Form {
        if kind == .null { return other.form }
        return form == other.form || other.kind == .null ? form : .opaque
    }
}

extension Operand.Form {
    init(_ type: AttributeType) {
        switch type {
        case .boolean: self = .boolean
        case .integer16, .integer32: self = .small
        case .transformable, .undefined, .objectID, .composite: self = .opaque
        default: self = .plain
        }
    }
}

extension Operand.Kind {
    init(_ type: AttributeType) {
        switch type {
        case .integer16, .integer32, .integer64, .boolean: self = .integer
        case .decimal: self = .decimal
        case .double, .float: self = .real
        case .string: self = .text
        case .uri: self = .uri
        case .date: self = .date
        case .uuid: self = .uuid
        case .binary, .transformable, .undefined, .objectID, .composite: self = .bytes
        }
    }

    /// Creates the kind of a constant, or nil for dictionaries and objects.
    init?(_ value: PropertyValue) {
        switch value {
        case .null: self = .null
        case .bool, .int: self = .integer
        case .double: self = .real
        case .decimal: self = .decimal
        case .text: self = .text
        case .uri: self = .uri
        case .date: self = .date
        case .bytes: self = .bytes
        case .uuid: self = .uuid
        case .array, .set: self = .list
        case .object, .dictionary: return nil
        }
    }

    var isNumber: Bool { self == .integer || self == .real || self == .number || self == .decimal }
    var isTextual: Bool { self == .text || self == .uri }

    /// Whether values of the two kinds can be equal.
    func suits(_ other: Operand.Kind) -> Bool {
        self == other || isNumber && other.isNumber || isTextual && other.isTextual
    }

    /// The name for messages, such as "a number".
    var name: String {
        switch self {
        case .null: "nil"
        case .integer, .real, .number, .decimal: "a number"
        case .text: "a string"
        case .uri: "a URI"
        case .date: "a date"
        case .bytes: "binary data"
        case .uuid: "a UUID"
        case .object: "an object"
        case .list: "a list"
        }
    }
}

/// A condition in SQL. As in WHERE, NULL counts as false.
struct Condition {
    var sql: SQLFragment
    /// Whether the condition is never NULL, so that NOT alone negates it.
    var isTwoValued = false
    /// Whether the condition can be an operand of AND, OR and NOT without parentheses.
    var isAtom = true
    /// The value, if it is the same for every row.
    var constant: Bool?
    /// Whether the condition is a chain of AND, which can be part of another chain of AND without parentheses.
    var isConjunct = false

    static func constant(_ value: Bool) -> Condition {
        Condition(sql: value ? "1" : "0", isTwoValued: true, constant: value)
    }

    /// The SQL as an operand of AND or OR, in parentheses if it needs them.
    var operand: SQLFragment { isAtom ? sql : "(\(sql))" }
    /// The SQL as the operand of NOT. NOT has a lower precedence than a comparison, so most parentheses are only for
    /// readability.
    var negatable: SQLFragment { isExistence ? sql : "(\(sql))" }
    private var isExistence: Bool {
        if case .sql(let text)? = sql.segments.first { text.hasPrefix("EXISTS (") && isAtom } else { false }
    }
}

/// An error for an expression that SQL cannot express. The compilers catch it.
struct NotExpressible: Error {
    let reason: String
    /// Whether the expression is a whole collection.
    let isCollection: Bool

    init(_ reason: String, isCollection: Bool = false) { (self.reason, self.isCollection) = (reason, isCollection) }
}
