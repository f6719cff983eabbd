import CCorestone
import CorestoneModel
import CorestoneValues

private func relationship(_ pointer: OpaquePointer?) throws -> Relationship {
    let relationship: Relationship = try resolve(pointer, .relationship)
    if relationship.isRemoved { throw removed(.relationship, relationship.entity.name, relationship.name) }
    return relationship
}

@_cdecl("cst_relationship_set_destination") @implementation
public func cst_relationship_set_destination(
    _ pointer: OpaquePointer?, _ destination: OpaquePointer?, _ error: ErrorOut
) -> cst_status {
    building(error, { try relationship(pointer).entity.model }) {
        try relationship(pointer).setDestination(try entity(destination))
    }
}

@_cdecl("cst_relationship_set_inverse") @implementation
public func cst_relationship_set_inverse(
    _ pointer: OpaquePointer?, _ inverse: OpaquePointer?, _ error: ErrorOut
) -> cst_status {
    building(error, { try relationship(pointer).entity.model }) {
        try relationship(pointer).setInverse(try inverse.map { try relationship($0) })
    }
}

@_cdecl("cst_relationship_set_delete_rule") @implementation
public func cst_relationship_set_delete_rule(_ pointer: OpaquePointer?, _ rule: UInt32, _ error: ErrorOut) -> cst_status
{
    building(error, { try relationship(pointer).entity.model }) {
        let relationship = try relationship(pointer)
        guard let rule = DeleteRule(rawValue: rule) else {
            throw CoreError(
                .invalidArgument,
                "\(rule) is not a delete rule for \(relationship.entity.name).\(relationship.name); "
                    + "use CST_DELETE_NO_ACTION, CST_DELETE_NULLIFY, CST_DELETE_CASCADE or CST_DELETE_DENY",
                entity: relationship.entity.name, key: relationship.name, value: .int(Int64(rule)))
        }
        try relationship.setDeleteRule(rule)
    }
}

@_cdecl("cst_relationship_set_counts") @implementation
public func cst_relationship_set_counts(
    _ pointer: OpaquePointer?, _ minimum: UInt32, _ maximum: UInt32, _ error: ErrorOut
) -> cst_status {
    building(error, { try relationship(pointer).entity.model }) {
        try relationship(pointer).setCounts(minimum: minimum, maximum: maximum)
    }
}

@_cdecl("cst_relationship_add_validation") @implementation
public func cst_relationship_add_validation(
    _ pointer: OpaquePointer?, _ predicate: OpaquePointer?, _ warning: cst_string, _ error: ErrorOut
) -> cst_status {
    building(error, { try relationship(pointer).entity.model }) {
        try addValidation(try relationship(pointer), predicate, warning)
    }
}

@_cdecl("cst_relationship_set_user_info") @implementation
public func cst_relationship_set_user_info(
    _ pointer: OpaquePointer?, _ key: cst_string, _ value: cst_string, _ error: ErrorOut
) -> cst_status {
    building(error, { try relationship(pointer).entity.model }) {
        try setUserInfo(try relationship(pointer), key, value)
    }
}

@_cdecl("cst_relationship_user_info") @implementation
public func cst_relationship_user_info(
    _ pointer: OpaquePointer?, _ key: cst_string, _ out: UnsafeMutablePointer<cst_string>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) { try userInfo(try relationship(pointer), key, out) }
}
