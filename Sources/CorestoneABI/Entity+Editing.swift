import CCorestone
import CorestoneModel
import CorestoneValues

@_cdecl("cst_entity_remove") @implementation
public func cst_entity_remove(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    boundary(error) {
        let entity = try entity(pointer)
        try entity.model.remove(entity)
    }
}

@_cdecl("cst_entity_rename") @implementation
public func cst_entity_rename(_ pointer: OpaquePointer?, _ name: cst_string, _ error: ErrorOut) -> cst_status {
    boundary(error) { try entity(pointer).rename(to: try name.string("name")) }
}

@_cdecl("cst_entity_set_renaming_identifier") @implementation
public func cst_entity_set_renaming_identifier(
    _ pointer: OpaquePointer?, _ identifier: cst_string, _ error: ErrorOut
) -> cst_status {
    building(error, { try entity(pointer).model }) {
        try entity(pointer).setRenamingIdentifier(try identifier.optionalString("identifier"))
    }
}

@_cdecl("cst_entity_remove_index") @implementation
public func cst_entity_remove_index(_ pointer: OpaquePointer?, _ name: cst_string, _ error: ErrorOut) -> cst_status {
    outcome(error) { try entity(pointer).removeIndex(named: try name.string("name")) ? .ok : .notFound }
}

@_cdecl("cst_entity_remove_unique_constraint") @implementation
public func cst_entity_remove_unique_constraint(
    _ pointer: OpaquePointer?, _ count: Int, _ attributes: UnsafePointer<cst_string>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        try entity(pointer).removeUniqueConstraint(try strings(attributes, count, "attributes")) ? .ok : .notFound
    }
}

@_cdecl("cst_entity_copy_json") @implementation
public func cst_entity_copy_json(
    _ pointer: OpaquePointer?, _ property: cst_string, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try required(out, "out_json")
        let entity = try entity(pointer)
        guard let name = try property.optionalString("property") else {
            try out.fill(JSONText(entity.summary).text)
            return .ok
        }
        guard let property = entity.anyProperty(named: name) else { return .notFound }
        try out.fill(JSONText(property.summary).text)
        return .ok
    }
}

@_cdecl("cst_entity_copy_user_info") @implementation
public func cst_entity_copy_user_info(
    _ pointer: OpaquePointer?, _ property: cst_string, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try required(out, "out_json")
        let entity = try entity(pointer)
        var entries = entity.userInfo
        if let name = try property.optionalString("property") {
            guard let property = entity.anyProperty(named: name) else { return .notFound }
            entries = property.userInfo
        }
        try out.fill(JSONText(.dictionary(entries.mapValues { .string($0) })).text)
        return .ok
    }
}

// MARK: - Properties by name

@_cdecl("cst_entity_attribute") @implementation
public func cst_entity_attribute(
    _ pointer: OpaquePointer?, _ name: cst_string, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_attribute")
        guard let attribute = try entity(pointer).anyProperty(named: try name.string("name")) as? Attribute else {
            return .notFound
        }
        out.pointee = try borrowedHandle(attribute)
        return .ok
    }
}

@_cdecl("cst_entity_relationship") @implementation
public func cst_entity_relationship(
    _ pointer: OpaquePointer?, _ name: cst_string, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_relationship")
        guard let found = try entity(pointer).anyProperty(named: try name.string("name")) as? Relationship else {
            return .notFound
        }
        out.pointee = try borrowedHandle(found)
        return .ok
    }
}

@_cdecl("cst_entity_copy_relationships_to") @implementation
public func cst_entity_copy_relationships_to(
    _ pointer: OpaquePointer?, _ destination: OpaquePointer?, _ out: UnsafeMutablePointer<cst_buffer>?,
    _ count: UnsafeMutablePointer<Int>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        try list(try entity(pointer).relationships(to: try entity(destination)).map(\.name), out, count)
    }
}

/// Edits a property that the entity itself declares. Throws for an inherited property.
private func editing(
    _ pointer: OpaquePointer?, _ property: cst_string, _ error: ErrorOut, _ body: (Property) throws -> Void
) -> cst_status {
    boundary(error) { try body(try entity(pointer).requireOwnProperty(named: try property.string("property"))) }
}

@_cdecl("cst_entity_remove_property") @implementation
public func cst_entity_remove_property(
    _ pointer: OpaquePointer?, _ property: cst_string, _ error: ErrorOut
) -> cst_status {
    editing(pointer, property, error) { try $0.entity.remove($0) }
}

@_cdecl("cst_entity_rename_property") @implementation
public func cst_entity_rename_property(
    _ pointer: OpaquePointer?, _ property: cst_string, _ name: cst_string, _ error: ErrorOut
) -> cst_status {
    editing(pointer, property, error) { try $0.rename(to: try name.string("name")) }
}

@_cdecl("cst_entity_set_property_flags") @implementation
public func cst_entity_set_property_flags(
    _ pointer: OpaquePointer?, _ property: cst_string, _ mask: UInt32, _ flags: UInt32, _ error: ErrorOut
) -> cst_status {
    editing(pointer, property, error) { property in
        let shown = "\(property.entity.name).\(property.name)"
        let mask = try PropertyFlags(
            checking: mask, allowed: .allowed(for: property), property.entity.name, property.name)
        guard PropertyFlags(rawValue: flags).isSubset(of: mask) else {
            throw CoreError(
                .invalidArgument,
                "\(shown): flags is 0x\(String(flags, radix: 16)), but mask is 0x\(String(mask.rawValue, radix: 16)); "
                    + "add 0x\(String(flags & ~mask.rawValue, radix: 16)) to mask, or remove it from flags",
                entity: property.entity.name, key: property.name, value: .int(Int64(flags)))
        }
        try PropertyFlags(rawValue: flags).apply(to: property, mask)
    }
}

@_cdecl("cst_entity_set_property_renaming_identifier") @implementation
public func cst_entity_set_property_renaming_identifier(
    _ pointer: OpaquePointer?, _ property: cst_string, _ identifier: cst_string, _ error: ErrorOut
) -> cst_status {
    editing(pointer, property, error) { try $0.setRenamingIdentifier(try identifier.optionalString("identifier")) }
}

@_cdecl("cst_entity_set_property_version_hash_modifier") @implementation
public func cst_entity_set_property_version_hash_modifier(
    _ pointer: OpaquePointer?, _ property: cst_string, _ modifier: cst_string, _ error: ErrorOut
) -> cst_status {
    editing(pointer, property, error) { try $0.setVersionHashModifier(try modifier.optionalString("modifier")) }
}

@_cdecl("cst_entity_set_property_user_info") @implementation
public func cst_entity_set_property_user_info(
    _ pointer: OpaquePointer?, _ property: cst_string, _ key: cst_string, _ value: cst_string, _ error: ErrorOut
) -> cst_status {
    editing(pointer, property, error) { try setUserInfo($0, key, value) }
}

@_cdecl("cst_entity_remove_validation") @implementation
public func cst_entity_remove_validation(
    _ pointer: OpaquePointer?, _ property: cst_string, _ error: ErrorOut
) -> cst_status {
    editing(pointer, property, error) { try $0.setValidationRules([]) }
}
