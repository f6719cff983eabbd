import CFFI
import CorestoneModel
import CorestoneValues

/// The kinds of accessors: the `CST_ACCESSOR_` constants.
enum AccessorKind: UInt32, CaseIterable {
    case get = 1, set, isNull, setNull, getPrimitive, setPrimitive
    case count, contains, add, remove, addMany, removeMany
    case memberAt, insertAt, removeAt, replaceAt, move

    static let ordered: [AccessorKind] = [.memberAt, .insertAt, .removeAt, .replaceAt, .move]
    static let toMany: [AccessorKind] = [.get, .set, .count, .contains, .add, .remove, .addMany, .removeMany]
    static let single: [AccessorKind] = [.get, .set, .isNull, .setNull, .getPrimitive, .setPrimitive]

    /// Returns the kinds of accessors that a property has.
    static func all(of property: Property) -> [AccessorKind] {
        guard let relationship = property as? Relationship, relationship.isToMany else { return single }
        return relationship.isOrdered ? toMany + ordered : toMany
    }
}

/// A C type of a parameter or a result.
enum AccessorType: Hashable {
    case bool, int16, int32, int64, float, double
    /// A double: seconds since 2001.
    case date
    /// `cst_string` and `cst_bytes`.
    case text, bytes
    /// 16 bytes in a struct, `cst_uuid`.
    case uuid
    /// `cst_value`, for types without a C type.
    case value
    /// A handle, an array of handles, or an error out parameter.
    case pointer
    /// `size_t`.
    case size
    /// `cst_status`.
    case status

    /// Creates the type of an attribute's value. Throws for a composite attribute.
    init(_ attribute: Attribute) throws {
        switch attribute.type {
        case .integer16: self = .int16
        case .integer32: self = .int32
        case .integer64: self = .int64
        case .double: self = .double
        case .date: self = .date
        case .float: self = .float
        case .boolean: self = .bool
        case .string, .uri: self = .text
        case .binary, .transformable: self = .bytes
        case .uuid: self = .uuid
        case .decimal, .undefined, .objectID: self = .value
        case .composite:
            throw CoreError(
                .typeMismatch,
                "\(attribute.entity.name).\(attribute.path) is composite and does not have accessors; "
                    + "read and set its elements with cst_object_get_path and cst_object_set_path",
                entity: attribute.entity.name, key: attribute.path)
        }
    }

    /// The type as libffi describes it.
    var foreign: UnsafeMutablePointer<ffi_type> {
        switch self {
        case .bool: corestone_ffi_int8()
        case .int16: corestone_ffi_int16()
        case .int32, .status: corestone_ffi_int32()
        case .int64, .size: corestone_ffi_int64()
        case .float: corestone_ffi_float()
        case .double, .date: corestone_ffi_double()
        case .pointer: corestone_ffi_pointer()
        case .text, .bytes, .uuid: AccessorType.twoWords.type
        case .value: AccessorType.threeWords.type
        }
    }

    private static let twoWords = ForeignStruct(words: 2)
    private static let threeWords = ForeignStruct(words: 3)
}

/// The libffi description of a struct of 64-bit words. It is never freed.
///
/// Each struct of the library that is passed by value consists of such words.
private struct ForeignStruct: @unchecked Sendable {
    let type: UnsafeMutablePointer<ffi_type>

    init(words: Int) {
        let elements = UnsafeMutablePointer<UnsafeMutablePointer<ffi_type>?>.allocate(capacity: words + 1)
        elements.initialize(repeating: corestone_ffi_int64(), count: words)
        (elements + words).initialize(to: nil)
        type = .allocate(capacity: 1)
        type.initialize(to: ffi_type(size: 0, alignment: 0, type: UInt16(FFI_TYPE_STRUCT), elements: elements))
    }
}

/// The types of an accessor's result, and of its parameters between the object and the error out parameter.
struct AccessorSignature: Hashable {
    let result: AccessorType
    let arguments: [AccessorType]

    /// Creates the signature of an accessor.
    ///
    /// - Throws: `.invalidArgument` if the property does not have an accessor of that kind.
    ///   `.typeMismatch` for a composite attribute.
    init(_ kind: AccessorKind, _ property: Property) throws {
        guard AccessorKind.all(of: property).contains(kind) else { throw AccessorSignature.unsuited(kind, property) }
        let isToMany = (property as? Relationship)?.isToMany == true
        let type = try (property as? Attribute).map { try AccessorType($0) } ?? .pointer
        (result, arguments) =
            switch kind {
            case .get, .getPrimitive: (type, [])
            case .set: (.status, isToMany ? [.size, .pointer] : [type])
            case .setPrimitive: (.status, [type])
            case .isNull: (.bool, [])
            case .setNull: (.status, [])
            case .count: (.size, [])
            case .contains: (.bool, [.pointer])
            case .add, .remove: (.status, [.pointer])
            case .addMany, .removeMany: (.status, [.size, .pointer])
            case .memberAt: (.pointer, [.size])
            case .insertAt, .replaceAt: (.status, [.size, .pointer])
            case .removeAt: (.status, [.size])
            case .move: (.status, [.size, .size])
            }
    }

    private static func unsuited(_ kind: AccessorKind, _ property: Property) -> CoreError {
        let last = (property as? Relationship)?.isOrdered == true ? "CST_ACCESSOR_MOVE" : "CST_ACCESSOR_REMOVE_MANY"
        let members = "use CST_ACCESSOR_GET, CST_ACCESSOR_SET, or a kind from CST_ACCESSOR_COUNT to \(last)"
        let problem: String
        switch property {
        case let attribute as Attribute where attribute.type == .composite:
            problem = "composite; read and set its elements with cst_object_get_path and cst_object_set_path"
        case is Attribute: problem = "an attribute; use a kind from CST_ACCESSOR_GET to CST_ACCESSOR_SET_PRIMITIVE"
        case let relationship as Relationship where !relationship.isToMany:
            problem = "to-one; use a kind from CST_ACCESSOR_GET to CST_ACCESSOR_SET_PRIMITIVE"
        case let relationship as Relationship where !relationship.isOrdered && AccessorKind.ordered.contains(kind):
            problem = "not ordered; \(members)"
        default: problem = "to-many; \(members)"
        }
        return CoreError(
            .invalidArgument,
            "\(property.entity.name).\(property.name) does not have the accessor "
                + "\(constantName("CST_ACCESSOR", kind)): the property is \(problem)",
            entity: property.entity.name, key: property.name, value: .int(Int64(kind.rawValue)))
    }
}
