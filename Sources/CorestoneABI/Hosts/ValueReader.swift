import CCorestone
import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// Reads a value of the host for an evaluation, including collections and objects of the host.
///
/// Must be called on the queue of its managed objects.
///
/// - Parameter key: The name of the parameter, for errors.
func hostValue(_ value: cst_value, key: String? = nil) throws -> PropertyValue {
    var reader = ValueReader()
    do { return try reader.read(value) } catch let error as CoreError { throw error.with(entity: nil, key: key) }
}

/// Reads the variables of an evaluation, by name without `$`; nil for NULL.
func hostVariables(_ variables: UnsafePointer<cst_value>?) throws -> [String: PropertyValue]? {
    var reader = ValueReader(of: "variables")
    return try reader.variables(variables)
}

/// A reader of the values that hosts pass to predicates and expressions.
struct ValueReader {
    /// The maximum number of elements that one reader reads. There is a limit because a list of the host can contain
    /// itself.
    static let maximumValues = 1 << 24
    private static let maximumNesting = 64

    /// Whether managed objects are replaced by their IDs: any thread may use a kept value, but not an object.
    private let isKept: Bool
    /// The models of the IDs and expressions that were read, on which their entities depend.
    private(set) var models: [Model] = []
    private var left = ValueReader.maximumValues

    /// The name of the parameter, for errors; nil if the caller adds it.
    private let parameter: String?

    init(isKept: Bool = false, of parameter: String? = nil) { (self.isKept, self.parameter) = (isKept, parameter) }

    mutating func read(_ value: cst_value, nesting: Int = 0) throws -> PropertyValue {
        guard nesting <= ValueReader.maximumNesting else {
            throw CoreError(
                .invalidArgument,
                "\(parameter.map { "a value in \($0)" } ?? "the value") is nested more than "
                    + "\(ValueReader.maximumNesting) levels deep, or contains itself; flatten it, or remove the cycle",
                key: parameter)
        }
        switch Int(value.type) {
        case CST_ARRAY: return .array(try elements(value.as.values, nesting))
        case CST_SET: return .set(Set(try elements(value.as.values, nesting)))
        case CST_DICTIONARY: return .dictionary(try dictionary(value.as.values, nesting))
        case CST_HOST:
            let object = try HostObject(value.as.host)
            return try object.elements { try element($0, nesting) }.map { .array($0) } ?? .object(object)
        case CST_EXPRESSION:
            let box = try expressionBox(value.as.expression)
            keep(box.models)
            return .object(ExpressionValue(box.expression))
        case CST_OBJECT: return .object(isKept ? try identified(value) : try object(value.as.object))
        case CST_OBJECT_ID where isKept: return .object(try identified(value))
        default:
            do { return try propertyValue(value) } catch let error as CoreError {
                throw error.with(entity: nil, key: parameter)
            }
        }
    }

    mutating func variables(_ variables: UnsafePointer<cst_value>?) throws -> [String: PropertyValue]? {
        guard let variables else { return nil }
        switch Int(variables.pointee.type) {
        case CST_NULL: return nil
        case CST_DICTIONARY: return try dictionary(variables.pointee.as.values, 0)
        case let type:
            throw CoreError(
                .invalidArgument,
                "variables is of type \(typeName(variables.pointee.type)), not CST_DICTIONARY; pass names and "
                    + "their values", key: "variables", value: .int(Int64(type)))
        }
    }

    private mutating func elements(_ values: cst_values, _ nesting: Int) throws -> [PropertyValue] {
        try array(values.data, values.size, "values").map { try element($0, nesting) }
    }

    private mutating func element(_ value: cst_value, _ nesting: Int) throws -> PropertyValue {
        left -= 1
        guard left >= 0 else {
            throw CoreError(
                .invalidArgument,
                "\(parameter.map { "the values in \($0) have" } ?? "the value has") more than "
                    + "\(ValueReader.maximumValues) elements in total, or a collection contains itself; use fewer "
                    + "elements, or remove the cycle", key: parameter)
        }
        return try read(value, nesting: nesting + 1)
    }

    private mutating func dictionary(_ values: cst_values, _ nesting: Int) throws -> [String: PropertyValue] {
        let cells = try array(values.data, values.size, "values")
        guard cells.count % 2 == 0 else {
            throw CoreError(
                .invalidArgument,
                "a CST_DICTIONARY of \(cells.count) \(cells.count == 1 ? "element" : "elements")"
                    + "\(parameter.map { " in \($0)" } ?? "") does not have a value for its last key; pass keys and "
                    + "values in turn", key: parameter, value: .int(Int64(cells.count)))
        }
        var members: [String: PropertyValue] = [:]
        members.reserveCapacity(cells.count / 2)
        for place in stride(from: 0, to: cells.count, by: 2) {
            guard cells[place].type == CST_STRING else {
                throw CoreError(
                    .invalidArgument,
                    "key \(place / 2 + 1) of a CST_DICTIONARY\(parameter.map { " in \($0)" } ?? "") is of type "
                        + "\(typeName(cells[place].type)), not CST_STRING", key: parameter,
                    value: .int(Int64(cells[place].type)))
            }
            let name: String
            do { name = try cells[place].as.string.string("a key of a CST_DICTIONARY") } catch let error as CoreError {
                throw error.with(entity: nil, key: parameter)
            }
            members[name] = try element(cells[place + 1], nesting)
        }
        return members
    }

    /// Returns the ID of an object. An unsaved object keeps its temporary ID, by which its context finds it.
    private mutating func identified(_ value: cst_value) throws -> ObjectIDReference {
        let scalar = try propertyValue(value)
        guard case .object(let object) = scalar else {
            throw CoreError(
                .invalidHandle,
                "a value of type CST_OBJECT or CST_OBJECT_ID is NULL; pass a handle, or a value of type CST_NULL",
                key: parameter)
        }
        if let object = object as? ManagedObject { try object.checkQueue() }
        guard let id = (object as? ManagedObject)?.objectID ?? (object as? ObjectIDReference)?.id else {
            throw CoreError(
                .invalidHandle,
                "\(object.valueDescription) does not have an object ID; pass a managed object or an object ID",
                key: parameter, value: scalar)
        }
        keep([id.entity.model])
        return ObjectIDReference(id)
    }

    mutating func keep(_ more: [Model]) {
        for model in more where !models.contains(where: { $0 === model }) { models.append(model) }
    }
}
