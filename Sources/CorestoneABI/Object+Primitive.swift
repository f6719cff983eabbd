import CCorestone
import CorestoneGraph
import CorestoneModel
import CorestoneValues

@_cdecl("cst_object_get_primitive") @implementation
public func cst_object_get_primitive(
    _ pointer: OpaquePointer?, _ key: cst_key, _ out: UnsafeMutablePointer<cst_value>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_value")
        putNull(out)
        let object = try object(pointer)
        let view = try object.primitiveView(key: key)
        try putSlowly(view, object, key, out)
    }
}

@_cdecl("cst_object_copy_primitive_members") @implementation
public func cst_object_copy_primitive_members(
    _ pointer: OpaquePointer?, _ key: cst_key, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_members")
        let object = try object(pointer)
        guard let members = try object.primitiveMembers(key: key) else { return .notFound }
        let box = try object.context.map { try contextBox($0) }
        out.pointee = try ResultList(members, entity: object.destination(key: key), box: box).makeHandle()
        return .ok
    }
}

@_cdecl("cst_object_set_primitive_members") @implementation
public func cst_object_set_primitive_members(
    _ pointer: OpaquePointer?, _ key: cst_key, _ count: Int, _ members: UnsafePointer<OpaquePointer?>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let object = try object(pointer)
        try object.setPrimitiveMembers(try managedObjects(members, count, "members"), key: key)
    }
}

// MARK: - Access and change notifications

@_cdecl("cst_object_will_access") @implementation
public func cst_object_will_access(_ pointer: OpaquePointer?, _ key: cst_key, _ error: ErrorOut) -> cst_status {
    boundary(error) { try object(pointer).willAccess(key: key == .max ? nil : key) }
}

@_cdecl("cst_object_did_access") @implementation
public func cst_object_did_access(_ pointer: OpaquePointer?, _ key: cst_key, _ error: ErrorOut) -> cst_status {
    boundary(error) { try object(pointer).didAccess(key: key == .max ? nil : key) }
}

@_cdecl("cst_object_will_change") @implementation
public func cst_object_will_change(_ pointer: OpaquePointer?, _ key: cst_key, _ error: ErrorOut) -> cst_status {
    boundary(error) { try object(pointer).willChange(key: key) }
}

@_cdecl("cst_object_did_change") @implementation
public func cst_object_did_change(_ pointer: OpaquePointer?, _ key: cst_key, _ error: ErrorOut) -> cst_status {
    boundary(error) { try object(pointer).didChange(key: key) }
}

@_cdecl("cst_object_will_change_members") @implementation
public func cst_object_will_change_members(
    _ pointer: OpaquePointer?, _ key: cst_key, _ kind: UInt32, _ count: Int, _ members: UnsafePointer<OpaquePointer?>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let object = try object(pointer)
        try object.willChange(key: key, try mutation(kind, object, key), try managedObjects(members, count, "members"))
    }
}

@_cdecl("cst_object_did_change_members") @implementation
public func cst_object_did_change_members(
    _ pointer: OpaquePointer?, _ key: cst_key, _ kind: UInt32, _ count: Int, _ members: UnsafePointer<OpaquePointer?>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let object = try object(pointer)
        try object.didChange(key: key, try mutation(kind, object, key), try managedObjects(members, count, "members"))
    }
}

private func mutation(_ kind: UInt32, _ object: ManagedObject, _ key: cst_key) throws -> SetMutation {
    guard let mutation = SetMutation(rawValue: kind) else {
        let name = object.propertyName(key: key) ?? "\(key)"
        throw CoreError(
            .invalidArgument,
            "\(kind) is not a mutation of the members of \(object.objectID.entity.name).\(name); "
                + "use CST_MUTATION_UNION, CST_MUTATION_MINUS, CST_MUTATION_INTERSECT or CST_MUTATION_SET",
            entity: object.objectID.entity.name, key: name, value: .int(Int64(kind)), objectURI: object.objectID.uri)
    }
    return mutation
}
