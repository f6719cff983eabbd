import CCorestone
import CorestoneGraph
import CorestoneModel
import CorestoneValues

@_cdecl("cst_object_copy_values") @implementation
public func cst_object_copy_values(
    _ pointer: OpaquePointer?, _ which: UInt32, _ count: Int, _ keys: UnsafePointer<cst_key>?,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_rows")
        let object = try object(pointer)
        let isAll = keys == nil && count == 0
        let names = try array(keys, count, "keys").map { object.entity.properties[try object.slot(of: $0)].path }
        var values: [String: PropertyValue]
        switch Int(which) {
        case CST_VALUES_CHANGED: values = try object.changedValues()
        case CST_VALUES_BEFORE_EVENT: values = try object.changedValuesForCurrentEvent()
        case CST_VALUES_COMMITTED: values = try object.committedValues(forKeys: isAll ? nil : names)
        default:
            throw CoreError(
                .invalidArgument,
                "\(which) is not a selection of values; use CST_VALUES_CHANGED, CST_VALUES_BEFORE_EVENT or "
                    + "CST_VALUES_COMMITTED",
                entity: object.entity.name, key: "which", value: .int(Int64(which)), objectURI: object.objectID.uri)
        }
        if !isAll { values = values.filter { names.contains($0.key) } }
        let columns = values.keys.sorted()
        let rows = FetchedRows(columns: columns, rows: [columns.map { ids(values[$0] ?? .null) }])
        out.pointee = try HandleTable.make(RowsBox(rows, model: object.entity.model), .rows)
    }
}

/// Replaces objects by their IDs, because rows can be used on any thread.
private func ids(_ value: PropertyValue) -> PropertyValue {
    switch value {
    case .object(let object as ManagedObject): .object(ObjectIDReference(object.objectID))
    case .array(let members): .array(members.map(ids))
    default: value
    }
}

@_cdecl("cst_object_has_persistent_changes") @implementation
public func cst_object_has_persistent_changes(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<Bool>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_changes")
        let object = try object(pointer)
        if object.isGone { throw object.detachedError() }
        out.pointee = object.hasPersistentChangedValues
    }
}

@_cdecl("cst_object_copy_related_ids") @implementation
public func cst_object_copy_related_ids(
    _ pointer: OpaquePointer?, _ key: cst_key, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_ids")
        let object = try object(pointer)
        let ids = try object.objectIDs(key: key)
        let box = try object.context.map { try contextBox($0) }
        out.pointee = try ResultList([], ids: ids, entity: object.destination(key: key), box: box).makeHandle()
    }
}

@_cdecl("cst_object_has_relationship_fault") @implementation
public func cst_object_has_relationship_fault(
    _ pointer: OpaquePointer?, _ key: cst_key, _ out: UnsafeMutablePointer<Bool>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_fault")
        out.pointee = try object(pointer).hasFault(key: key)
    }
}

@_cdecl("cst_object_clone") @implementation
public func cst_object_clone(
    _ pointer: OpaquePointer?, _ depth: Int, _ count: Int, _ including: UnsafePointer<cst_string>?,
    _ keepsUnique: Bool, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_clone")
        let object = try object(pointer)
        let paths = try strings(including, count, "including")
        // A depth above `Int.max` arrives as a negative number.
        let options = CloneOptions(
            depth: depth < 0 ? .max : depth, including: including == nil ? nil : paths, keepsUnique: keepsUnique)
        out.pointee = try ownedHandle(try object.clone(options))
    }
}
