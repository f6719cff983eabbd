import CCorestone
import CorestoneContainers
import CorestoneCustomStores
import CorestoneFormats
import CorestoneGraph
import CorestoneModel
import CorestoneValues

@_cdecl("cst_store_type_register") @implementation
public func cst_store_type_register(
    _ name: cst_string, _ callbacks: UnsafePointer<cst_store_callbacks>?, _ error: ErrorOut
) -> cst_status {
    boundary(error, taking: callbacks, cst_store_callbacks(), { Userdata($0.userdata, $0.destroy) }) {
        given, userdata in
        let name = try name.string("name")
        let type = HostStoreType(given, userdata, name: name)
        try type.check()
        try StoreTypes.register(HostKind(name, type))
    }
}

@_cdecl("cst_store_type_unregister") @implementation
public func cst_store_type_unregister(_ name: cst_string, _ error: ErrorOut) -> cst_status {
    outcome(error) { try StoreTypes.unregister(try name.string("name")) ? .ok : .notFound }
}

@_cdecl("cst_store_type_copy_names") @implementation
public func cst_store_type_copy_names(
    _ out: UnsafeMutablePointer<cst_buffer>?, _ count: UnsafeMutablePointer<Int>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_names")
        let names = StoreTypes.names
        try Array(names.map { Array($0.utf8) + [0] }.joined()).withUnsafeBytes { try out.fill($0) }
        count?.pointee = names.count
    }
}

@_cdecl("cst_store_type_copy_metadata") @implementation
public func cst_store_type_copy_metadata(
    _ type: cst_string, _ path: cst_string, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_plist")
        let type = try StoreTypes.type(named: type.string("type"))
        let metadata = try StoreMetadata(ofStoreAt: path.string("path"), type: type)
        try encodePropertyList(.dictionary(metadata.dictionary)).withUnsafeBytes { try out.fill($0) }
    }
}

@_cdecl("cst_store_type_set_metadata") @implementation
public func cst_store_type_set_metadata(
    _ type: cst_string, _ path: cst_string, _ plist: cst_bytes, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let type = try StoreTypes.type(named: type.string("type"))
        let path = try path.string("path")
        let values = try StoreMetadata.entries(
            decoding: plist.array("plist", limit: 1 << 28, file: path), file: path)
        try StoreMetadata.set(values, ofStoreAt: path, type: type)
    }
}

// MARK: - Rows

@_cdecl("cst_row_sink_push") @implementation
public func cst_row_sink_push(
    _ pointer: OpaquePointer?, _ count: Int, _ rows: UnsafePointer<cst_row>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let sink = try resolve(pointer, .rowSink, as: SinkBox.self).current()
        try sink.pushing { try sink.push(array(rows, count, "rows").map { try pushed($0, sink.path) }) }
    }
}

@_cdecl("cst_row_sink_push_members") @implementation
public func cst_row_sink_push_members(
    _ pointer: OpaquePointer?, _ owner: Int, _ count: Int, _ members: UnsafePointer<cst_row>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let sink = try resolve(pointer, .rowSink, as: SinkBox.self).current()
        try sink.pushing {
            try sink.push(array(members, count, "members").map { try pushed($0, sink.path) }, ofOwner: owner)
        }
    }
}

/// Copies a row that the host pushed.
///
/// - Parameter path: The path of the store, for errors.
private func pushed(_ row: cst_row, _ path: String) throws -> PushedRow {
    let named = try row.entity.map { try entity($0) }
    let keys = try array(row.keys, row.count, "keys")
    let values = try array(row.values, row.count, "values")
    var list: [(key: UInt32, value: PropertyValue, target: Entity?)] = []
    list.reserveCapacity(keys.count)
    for place in 0..<keys.count where values[place].type != CST_DEFAULT {
        let target = try row.targets?[place].map { try entity($0) }
        let value = try naming(named?.name, named?.properties.first { $0.key == keys[place] }?.path) {
            try copied(values[place])
        }
        list.append((keys[place], value, target))
    }
    let reference = try reference(row.reference, named, file: path.isEmpty ? nil : path)
    return PushedRow(named, reference, version: row.version, list)
}

private func copied(_ value: cst_value) throws -> PropertyValue {
    switch Int(value.type) {
    case CST_ARRAY, CST_SET, CST_DICTIONARY: try hostValue(value)
    default: try propertyValue(value)
    }
}

private func reference(_ value: cst_value, _ entity: Entity?, file: String? = nil) throws -> StoreReference {
    guard Int(value.type) <= CST_URI else {
        throw CoreError(
            .invalidArgument,
            "\(typeName(value.type)) is not a type of references; use CST_INT, CST_STRING or CST_BYTES",
            entity: entity?.name, key: "reference", value: .int(Int64(value.type)), file: file)
    }
    let given: PropertyValue
    do { given = try propertyValue(value) } catch let error as CoreError {
        throw error.within(
            "the reference of \(entity?.name ?? "a row")", entity: entity?.name, key: "reference", file: file)
    }
    if let reference = StoreReference(given) { return reference }
    let found: String
    switch given {
    case .text, .bytes: found = "empty"
    default: found = given.kindPhrase
    }
    throw CoreError(
        .invalidArgument,
        "the reference of \(entity?.name ?? "a row") is \(found); pass an integer, or a string or binary data that "
            + "is not empty",
        entity: entity?.name, key: "reference", value: given, file: file)
}

// MARK: - Saves

@_cdecl("cst_save_request_next") @implementation
public func cst_save_request_next(
    _ pointer: OpaquePointer?, _ capacity: Int, _ rows: UnsafeMutablePointer<cst_row>?,
    _ count: UnsafeMutablePointer<Int>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let count = try required(count, "out_count")
        count.pointee = 0
        let box: SaveBox = try resolve(pointer, .saveRequest)
        let changes = try box.current()
        guard let rows else {
            throw CoreError(
                .invalidArgument, "out_rows is NULL; pass an array for at least one row", key: "out_rows",
                file: box.file)
        }
        guard capacity > 0 else {
            throw CoreError(
                .invalidArgument, "capacity is \(UInt(bitPattern: capacity)), but must be 1 to \(Int.max)",
                key: "capacity", value: sizeValue(capacity), file: box.file)
        }
        let all = try box.all()
        box.arena = RowArena()
        while count.pointee < capacity, box.returnedCount < all.count {
            let row = all[box.returnedCount]
            try changes.withRow(row) { record, members in
                rows[count.pointee] = try box.arena.row(record, row.entity, changes, members)
                count.pointee += 1
            }
            box.returnedCount += 1
        }
        return count.pointee == 0 ? .end : .ok
    }
}

@_cdecl("cst_save_request_add_conflict") @implementation
public func cst_save_request_add_conflict(
    _ pointer: OpaquePointer?, _ kind: UInt32, _ row: UnsafePointer<cst_row>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let box = try resolve(pointer, .saveRequest, as: SaveBox.self)
        let changes = try box.current()
        guard let kind = RowConflict(rawValue: kind) else {
            throw CoreError(
                .invalidArgument, "kind is \(kind); use CST_CONFLICT_ROW_VERSION or CST_CONFLICT_ROW_UNIQUE",
                key: "kind", value: .int(Int64(kind)), file: box.file)
        }
        guard let row else {
            throw CoreError(.invalidArgument, "row is NULL; pass the row in conflict", key: "row", file: box.file)
        }
        let named = try entity(row.pointee.entity)
        try changes.addConflict(kind, RowReference(named, try reference(row.pointee.reference, named, file: box.file)))
    }
}

// MARK: - References

@_cdecl("cst_object_id_reference") @implementation
public func cst_object_id_reference(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<cst_value>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try required(out, "out_reference")
        putNull(out)
        guard let value = try resolve(pointer, .objectID, as: ObjectIDBox.self).reference else { return .notFound }
        put(ValueView(value), out)
        return .ok
    }
}

@_cdecl("cst_store_new_object_id") @implementation
public func cst_store_new_object_id(
    _ pointer: OpaquePointer?, _ entityPointer: OpaquePointer?, _ value: UnsafePointer<cst_value>?,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_id")
        let store = try resolve(pointer, .store, as: StoreBox.self).store
        let entity = try entity(entityPointer)
        guard let value else {
            throw CoreError(
                .invalidArgument, "the reference of \(entity.name) is NULL; pass the reference of the row",
                entity: entity.name, key: "reference", file: store.path)
        }
        let id = try store.newObjectID(for: entity, reference: reference(value.pointee, entity, file: store.path))
        out.pointee = try HandleTable.make(ObjectIDBox(id), .objectID)
    }
}
