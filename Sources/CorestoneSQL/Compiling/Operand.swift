import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// One side of a comparison in SQL.
struct Operand {
    /// What can be compared with what.
    enum Kind: Equatable {
        /// A constant nil: fits everything.
        case null
        /// 64 bits; a double; either of them, as arithmetic turns out; what is exact in memory only.
        case integer, real, number, decimal
        case text, uri, date, bytes, uuid
        /// The primary key of an object of the tree with that root. A name, for an ID may come from another instance of the model.
        case object(root: String)
        /// A constant list.
        case list
    }

    var sql: SQLFragment
    var kind: Kind
    var isNullable = true
    /// The value, when it is known.
    var constant: PropertyValue?
    /// For counts: whether there is any, which is cheaper to ask.
    var existence: SQLFragment?
    /// What the kind does not tell about the values.
    var form = Form.plain
    /// For objects: how to tell their entity.
    var entity: ObjectEntity?
    /// The attribute whose value it is, for errors.
    var attribute: Attribute?

    enum Form {
        case plain
        /// Integers that are true or false; integers of which no sum needs more than 64 bits.
        case boolean, small
        /// Nothing that a column of rows could be made of.
        case opaque
    }
}

/// The entity of objects whose primary keys a column has.
struct ObjectEntity {
    let entity: Entity
    /// The number of the concrete entity, where several have that column; NULL where nothing is known.
    let number: SQLFragment?
}

extension Operand {
    /// The attribute as messages name it, `Entity.key`; nil for a computed value.
    var attributeName: String? { attribute.map { "\($0.entity.name).\($0.path)" } }

    /// The kind of an operand that is refused, behind "takes numbers".
    ///
    /// - Parameter expression: the operand in the predicate, for one that is neither an attribute nor a constant.
    func mismatch(_ expression: Expression? = nil) -> String {
        if let attributeName { return ", but \(attributeName) is \(kind.name)" }
        return ", not \(kind.name)" + ((constant?.excerpt ?? expression?.format).map { " (\($0))" } ?? "")
    }

    /// The form of what is either of two values.
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

    /// The kind of a constant that is no object; nil for dictionaries and objects.
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

    /// Whether values of the two kinds can be equal at all.
    func suits(_ other: Operand.Kind) -> Bool {
        self == other || isNumber && other.isNumber || isTextual && other.isTextual
    }

    /// With an article, for messages.
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
    /// Whether it is never NULL, so that NOT alone negates it.
    var isTwoValued = false
    /// Whether it needs no parentheses beside AND, OR and NOT.
    var isAtom = true
    /// The value, when it is the same for every row.
    var constant: Bool?
    /// Whether it is a chain of AND, which needs no parentheses within another.
    var isConjunct = false

    static func constant(_ value: Bool) -> Condition {
        Condition(sql: value ? "1" : "0", isTwoValued: true, constant: value)
    }

    /// In parentheses, where it needs them.
    var operand: SQLFragment { isAtom ? sql : "(\(sql))" }
    /// After NOT, which binds more loosely than a comparison, but reads better with parentheses.
    var negatable: SQLFragment { isExistence ? sql : "(\(sql))" }
    private var isExistence: Bool {
        if case .sql(let text)? = sql.segments.first { text.hasPrefix("EXISTS (") && isAtom } else { false }
    }
}

/// Thrown within the compiler for what has a meaning in memory but none in SQL; never leaves `FetchCompiler`.
struct NotExpressible: Error {
    let reason: String
    /// Whether it is a collection as a whole.
    let isCollection: Bool

    init(_ reason: String, isCollection: Bool = false) { (self.reason, self.isCollection) = (reason, isCollection) }
}
