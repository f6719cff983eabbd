import CCorestone
import CorestoneModel
import CorestoneValues

func attribute(_ pointer: OpaquePointer?) throws -> Attribute {
    let attribute: Attribute = try resolve(pointer, .attribute)
    if attribute.isRemoved { throw removed(.attribute, attribute.entity.name, attribute.path) }
    return attribute
}

/// Returns the type of a `CST_ATTRIBUTE_` constant.
///
/// - Parameter column: Whether `name` is the name of a column instead of a property, for errors.
func attributeType(
    _ type: cst_attribute_type, of entity: String?, _ name: String, column: Bool = false
) throws -> AttributeType {
    if let type = AttributeType(rawValue: type) { return type }
    let subject = entity.flatMap { column ? nil : "\($0).\(name)" } ?? "the column \"\(name)\""
    throw CoreError(
        .invalidArgument, "\(subject): \(type) is not an attribute type; use a CST_ATTRIBUTE_ constant",
        entity: entity, key: name, value: .int(Int64(type)))
}

@_cdecl("cst_attribute_set_type") @implementation
public func cst_attribute_set_type(
    _ pointer: OpaquePointer?, _ type: cst_attribute_type, _ error: ErrorOut
) -> cst_status {
    building(error, { try attribute(pointer).entity.model }) {
        let attribute = try attribute(pointer)
        try attribute.setType(try attributeType(type, of: attribute.entity.name, attribute.path))
    }
}

@_cdecl("cst_attribute_set_value_class") @implementation
public func cst_attribute_set_value_class(
    _ pointer: OpaquePointer?, _ name: cst_string, _ error: ErrorOut
) -> cst_status {
    building(error, { try attribute(pointer).entity.model }) {
        try attribute(pointer).setValueClassName(try name.optionalString("name"))
    }
}

@_cdecl("cst_attribute_set_default") @implementation
public func cst_attribute_set_default(
    _ pointer: OpaquePointer?, _ value: UnsafePointer<cst_value>?, _ error: ErrorOut
) -> cst_status {
    building(error, { try attribute(pointer).entity.model }) {
        let attribute = try attribute(pointer)
        guard let value else {
            let (entity, key) = (attribute.entity.name, attribute.path)
            throw CoreError(
                .invalidArgument,
                "value is NULL for the default of \(entity).\(key); pass a value of type CST_NULL to remove the "
                    + "default",
                entity: entity, key: key)
        }
        try attribute.setDefaultValue(try attribute.given(value.pointee))
    }
}

@_cdecl("cst_attribute_set_user_info") @implementation
public func cst_attribute_set_user_info(
    _ pointer: OpaquePointer?, _ key: cst_string, _ value: cst_string, _ error: ErrorOut
) -> cst_status {
    building(error, { try attribute(pointer).entity.model }) { try setUserInfo(try attribute(pointer), key, value) }
}

@_cdecl("cst_attribute_user_info") @implementation
public func cst_attribute_user_info(
    _ pointer: OpaquePointer?, _ key: cst_string, _ out: UnsafeMutablePointer<cst_string>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) { try userInfo(try attribute(pointer), key, out) }
}

@_cdecl("cst_attribute_set_bounds") @implementation
public func cst_attribute_set_bounds(
    _ pointer: OpaquePointer?, _ least: UnsafePointer<cst_value>?, _ greatest: UnsafePointer<cst_value>?,
    _ error: ErrorOut
) -> cst_status {
    building(error, { try attribute(pointer).entity.model }) {
        let attribute = try attribute(pointer)
        try attribute.setBounds(least: try bound(least, of: attribute), greatest: try bound(greatest, of: attribute))
    }
}

extension Attribute {
    /// Reads a value that the host passed for the attribute. An error names the attribute.
    fileprivate func given(_ value: cst_value) throws -> PropertyValue {
        try naming(entity.name, path) { try propertyValue(value) }
    }
}

/// Returns a bound; nil, which means no bound, for NULL and for a null value.
private func bound(_ value: UnsafePointer<cst_value>?, of attribute: Attribute) throws -> PropertyValue? {
    let bound = try value.map { try attribute.given($0.pointee) }
    return bound?.isNull == true ? nil : bound
}

@_cdecl("cst_attribute_set_pattern") @implementation
public func cst_attribute_set_pattern(
    _ pointer: OpaquePointer?, _ pattern: cst_string, _ error: ErrorOut
) -> cst_status {
    building(error, { try attribute(pointer).entity.model }) {
        try attribute(pointer).setPattern(try pattern.optionalString("pattern"))
    }
}

@_cdecl("cst_attribute_add_validation") @implementation
public func cst_attribute_add_validation(
    _ pointer: OpaquePointer?, _ predicate: OpaquePointer?, _ warning: cst_string, _ error: ErrorOut
) -> cst_status {
    building(error, { try attribute(pointer).entity.model }) {
        try addValidation(try attribute(pointer), predicate, warning)
    }
}

func addValidation(_ property: Property, _ predicate: OpaquePointer?, _ warning: cst_string) throws {
    try property.addValidation(
        PredicateText(try predicateBox(predicate).predicate), warning: try warning.string("warning"))
}

@_cdecl("cst_attribute_set_transformer_name") @implementation
public func cst_attribute_set_transformer_name(
    _ pointer: OpaquePointer?, _ name: cst_string, _ error: ErrorOut
) -> cst_status {
    building(error, { try attribute(pointer).entity.model }) {
        try attribute(pointer).setValueTransformerName(try name.optionalString("name"))
    }
}

@_cdecl("cst_attribute_set_derivation") @implementation
public func cst_attribute_set_derivation(
    _ pointer: OpaquePointer?, _ expression: cst_string, _ filter: cst_string, _ error: ErrorOut
) -> cst_status {
    building(error, { try attribute(pointer).entity.model }) {
        let attribute = try attribute(pointer)
        let filter = try filter.optionalString("filter").map { PredicateText($0) }
        let expression = try expression.optionalString("expression").map { ExpressionText($0) }
        try attribute.readingDerivation {
            _ = try filter?.required()
            _ = try expression?.required()
        }
        try attribute.setDerivation(expression.map { Derivation($0, filter: filter) })
    }
}

@_cdecl("cst_attribute_add_element") @implementation
public func cst_attribute_add_element(
    _ pointer: OpaquePointer?, _ name: cst_string, _ type: cst_attribute_type, _ flags: UInt32,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    building(error, { try attribute(pointer).entity.model }) {
        out?.pointee = nil
        let composite = try attribute(pointer)
        let name = try name.string("name")
        let path = "\(composite.path).\(name)"
        let type = try attributeType(type, of: composite.entity.name, path)
        let flags = try PropertyFlags(checking: flags, allowed: .elements, composite.entity.name, path)
        let element = try composite.addElement(named: name, type: type)
        try flags.apply(to: element, .elements)
        out?.pointee = try borrowedHandle(element)
    }
}

@_cdecl("cst_attribute_convert") @implementation
public func cst_attribute_convert(
    _ pointer: OpaquePointer?, _ value: UnsafePointer<cst_value>?, _ out: UnsafeMutablePointer<cst_value>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_value")
        putNull(out)
        let attribute = try attribute(pointer)
        guard let value else {
            let (entity, key) = (attribute.entity.name, attribute.path)
            throw CoreError(
                .invalidArgument, "the value for \(entity).\(key) is NULL; pass the value to be converted",
                entity: entity, key: key)
        }
        try putOwned(try attribute.converted(try attribute.given(value.pointee)), out)
    }
}

func setUserInfo(_ property: Property, _ key: cst_string, _ value: cst_string) throws {
    try property.setUserInfo(try value.optionalString("value"), forKey: try key.string("key"))
}

func userInfo(_ property: Property, _ key: cst_string, _ out: UnsafeMutablePointer<cst_string>?) throws -> Status {
    let out = try required(out, "out_value")
    out.pointee = .null
    guard let text = property.userInfoText(try key.string("key")) else { return .notFound }
    out.pointee = cst_string(text)
    return .ok
}
