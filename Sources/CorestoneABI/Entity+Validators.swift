import CCorestone
import CorestoneGraph
import CorestoneModel
import CorestoneValues

@_cdecl("cst_entity_add_validator") @implementation
public func cst_entity_add_validator(
    _ pointer: OpaquePointer?, _ property: cst_string, _ validate: cst_validate_fn?,
    _ userdata: UnsafeMutableRawPointer?, _ destroy: cst_destroy_fn?, _ error: ErrorOut
) -> cst_status {
    // The userdata is freed with its last reference: immediately on failure, otherwise with the model and its copies.
    let payload = Userdata(userdata, destroy)
    return building(error, { try entity(pointer).model }) {
        let entity = try entity(pointer)
        let key = try property.optionalString("property")
        guard let validate else {
            let subject = key.map { "\(entity.name).\($0)" } ?? entity.name
            throw CoreError(
                .invalidArgument, "the validator of \(subject) is NULL; pass the function to be called",
                entity: entity.name, key: key)
        }
        let validator = HostValidator(validate, payload)
        if let key {
            try entity.addValidator(forKey: key) { try validator.check($1, of: managed($0), key, $2) }
        } else {
            try entity.addObjectValidator { try validator.check(managed($0), $1) }
        }
    }
}

@_cdecl("cst_entity_add_validator_function") @implementation
public func cst_entity_add_validator_function(
    _ pointer: OpaquePointer?, _ property: cst_string, _ function: cst_string, _ error: ErrorOut
) -> cst_status {
    building(error, { try entity(pointer).model }) {
        let (entity, key, name) = (
            try entity(pointer), try property.string("property"), try function.string("function")
        )
        try entity.addValidator(forKey: key) { (object: ManagedObject, value) in
            if value.isNull { return value }
            let answer = try naming(object.entity.name, key) { try callFunction(name, value) }
            guard answer.number ?? 0 == 0 else { return value }
            throw CoreError(
                .callback,
                answer.textual?.string
                    ?? "\(object.entity.name).\(key) is \(value.excerpt), which the function \"\(name)\" rejected",
                entity: object.entity.name, key: key, value: value, objectURI: object.objectID.uri)
        }
    }
}

/// A validator of the host, and its userdata. The validator is called on the queue of the validated object's context.
final class HostValidator: @unchecked Sendable {
    typealias Check = (
        UnsafeMutableRawPointer?, OpaquePointer?, UInt32, UnsafeMutablePointer<cst_value>?, ErrorOut
    ) -> cst_status

    private let validate: Check
    private let userdata: Userdata

    init(_ validate: @escaping Check, _ userdata: Userdata) {
        self.validate = validate
        self.userdata = userdata
    }

    func check(_ object: ManagedObject, _ purpose: ValidationPurpose) throws {
        try call(object, nil, purpose.rawValue, nil)
    }

    /// Validates a value, and returns it, or the value by which the host replaced it.
    func check(
        _ value: PropertyValue, of object: ManagedObject, _ key: String, _ purpose: ValidationPurpose?
    ) throws -> PropertyValue {
        // Members of a relationship and elements of a composite attribute are not passed as a cst_value: the host reads
        // them from the object.
        if value.isCollection || object.hasSeveralValues(forKey: key) {
            try call(object, key, purpose?.rawValue ?? 0, nil)
            return value
        }
        var cell = cst_value()
        let kept = ComputedValueCache()
        try kept.put(
            value, key,
            of: ComputedValueCache.Source(entity: object.entity.name, key: key, objectURI: object.objectID.uri), &cell)
        let given = cell
        try withUnsafeMutablePointer(to: &cell) { try call(object, key, purpose?.rawValue ?? 0, $0) }
        let isUntouched = withUnsafeBytes(of: given) { old in
            withUnsafeBytes(of: cell) { old.elementsEqual($0) }
        }
        return try withExtendedLifetime(kept) {
            isUntouched
                ? value
                : try readingResult(
                    "the host's validator of \(object.entity.name).\(key)", entity: object.entity.name, key: key,
                    objectURI: object.objectID.uri
                ) { try propertyValue(cell) }
        }
    }

    private func call(
        _ object: ManagedObject, _ key: String?, _ purpose: UInt32, _ value: UnsafeMutablePointer<cst_value>?
    ) throws {
        try callHostWithObject(object, "validator", key: key) { validate(userdata.pointer, $0, purpose, value, $1) }
    }
}

extension PropertyValue {
    fileprivate var isCollection: Bool {
        switch self {
        case .array, .set, .dictionary: true
        default: false
        }
    }
}

extension ManagedObject {
    /// Whether a property is a to-many relationship or a composite attribute.
    fileprivate func hasSeveralValues(forKey key: String) -> Bool {
        switch entity.property(named: key) {
        case let relationship as Relationship: relationship.isToMany
        case let attribute as Attribute: attribute.type == .composite
        default: false
        }
    }
}

/// Calls a function of the host with a borrowed object and an error out parameter.
///
/// - Throws: The error that the host set, if the function returned a negative status.
///   `.callback` if the host did not set an error.
func callHostWithObject(
    _ object: ManagedObject, _ callback: StaticString, key: String? = nil,
    _ call: (OpaquePointer?, ErrorOut) -> cst_status
) throws {
    var failure: OpaquePointer?
    let status = try withBorrowedHandle(object) { call($0, &failure) }
    defer { HandleTable.releaseForHost(token(failure)) }
    guard status < 0 else { return }
    if let detail = try? resolve(failure, .error, as: ErrorBox.self).error { throw detail }
    let subject = key.map { "\(object.entity.name).\($0)" } ?? "an object of \(object.entity.name)"
    throw CoreError(
        .callback,
        "the host's \(callback) failed with status \(status) for \(subject), but \(missingError(failure))",
        entity: object.entity.name, key: key, objectURI: object.objectID.uri)
}
