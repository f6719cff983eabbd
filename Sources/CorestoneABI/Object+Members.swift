import CCorestone
import CPlatform
import CorestoneGraph
import CorestoneModel
import CorestoneValues

@_cdecl("cst_object_member_count") @implementation
public func cst_object_member_count(
    _ pointer: OpaquePointer?, _ key: cst_key, _ out: UnsafeMutablePointer<Int>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_count")
        out.pointee = 0
        out.pointee = try object(pointer).memberCount(key: key)
    }
}

/// Copies the members of a relationship.
///
/// To save time, neither the object nor its context is retained.
@_cdecl("cst_object_copy_members") @implementation
public func cst_object_copy_members(
    _ pointer: OpaquePointer?, _ key: cst_key, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_members")
        guard let found = platform_handle_find(token(pointer), HandleType.object.rawValue) else {
            throw invalidHandle(pointer, .object)
        }
        out.pointee = try Unmanaged<ManagedObject>.fromOpaque(found.pointee.object)._withUnsafeGuaranteedRef { object in
            try object.checkQueue()
            let (members, entity) = try object.membersAndEntity(key: key)
            return try ResultList(members, entity: entity, nearBox: nearBox(of: object)).makeHandle()
        }
    }
}

@_cdecl("cst_object_copy_fetched") @implementation
public func cst_object_copy_fetched(
    _ pointer: OpaquePointer?, _ property: cst_string, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_objects")
        let object = try object(pointer)
        let name = try property.string("property")
        let found = try object.fetched(name)
        let entity = object.entity.fetchedProperty(named: name)?.fetchRequest.entityName
        let box = try object.context.map { try contextBox($0) }
        out.pointee = try ResultList(
            found, entity: entity.flatMap { object.entity.model.entity(named: $0) }, box: box
        ).makeHandle()
    }
}

@_cdecl("cst_object_has_member") @implementation
public func cst_object_has_member(
    _ pointer: OpaquePointer?, _ key: cst_key, _ member: OpaquePointer?, _ out: UnsafeMutablePointer<Bool>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_contained")
        out.pointee = false
        out.pointee = try object(pointer).hasMember(try argument(member), key: key)
    }
}

@_cdecl("cst_object_add_member") @implementation
public func cst_object_add_member(
    _ pointer: OpaquePointer?, _ key: cst_key, _ member: OpaquePointer?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        try object(pointer).addMember(try argument(member), key: key) ? .ok : .unchanged
    }
}

@_cdecl("cst_object_add_members") @implementation
public func cst_object_add_members(
    _ pointer: OpaquePointer?, _ key: cst_key, _ count: Int, _ members: UnsafePointer<OpaquePointer?>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let object = try object(pointer)
        try object.addMembers(try managedObjects(members, count, "members"), key: key)
    }
}

@_cdecl("cst_object_remove_member") @implementation
public func cst_object_remove_member(
    _ pointer: OpaquePointer?, _ key: cst_key, _ member: OpaquePointer?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        try object(pointer).removeMember(try argument(member), key: key) ? .ok : .unchanged
    }
}

@_cdecl("cst_object_set_members") @implementation
public func cst_object_set_members(
    _ pointer: OpaquePointer?, _ key: cst_key, _ count: Int, _ members: UnsafePointer<OpaquePointer?>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let object = try object(pointer)
        try object.setMembers(try managedObjects(members, count, "members"), key: key)
    }
}

@_cdecl("cst_object_insert_member") @implementation
public func cst_object_insert_member(
    _ pointer: OpaquePointer?, _ key: cst_key, _ index: Int, _ member: OpaquePointer?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let object = try object(pointer)
        try object.insertMember(try argument(member), at: index, key: key)
    }
}
