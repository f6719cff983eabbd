import CCorestone
import CPlatform
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// Returns the object of a handle. Throws if the calling thread may not use the object.
@inline(__always)
func object(_ pointer: OpaquePointer?) throws -> ManagedObject {
    let object = try resolve(pointer, .object, as: ManagedObject.self)
    try object.checkQueue()
    return object
}

/// Returns an object that is passed as an argument.
///
/// The thread is checked only for an object outside every context, which is confined to the thread that created it. The
/// object graph rejects an object of another context with an error that names the object.
func argument(_ pointer: OpaquePointer?) throws -> ManagedObject {
    let object = try resolve(pointer, .object, as: ManagedObject.self)
    if object.context == nil { try object.checkCreator() }
    return object
}

// MARK: - By key

/// Writes the value of a property: the most frequently called function.
///
/// For an unchanged attribute of an object that is not a fault, the call needs one table look-up, one comparison of
/// threads, one comparison of keys, and one read from the record.
@_cdecl("cst_object_get") @implementation
public func cst_object_get(
    _ pointer: OpaquePointer?, _ key: cst_key, _ out: UnsafeMutablePointer<cst_value>?, _ error: ErrorOut
) -> cst_status {
    guard let out, let found = platform_handle_find(token(pointer), HandleType.object.rawValue) else {
        return refuseGet(pointer, out, error)
    }
    return Unmanaged<ManagedObject>.fromOpaque(found.pointee.object)._withUnsafeGuaranteedRef { object in
        guard object.isOnQueue, let view = object.plainView(key: key) else {
            return getSlowly(object, key, out, error)
        }
        put(view, out)
        return Status.ok.rawValue
    }
}

/// Runs the slow path of `cst_object_get`: faults, properties that `plainView` does not support, and failures.
@inline(never)
func getSlowly(
    _ object: ManagedObject, _ key: cst_key, _ out: UnsafeMutablePointer<cst_value>, _ error: ErrorOut
) -> cst_status {
    // Firing a fault can run hooks of the host. An object that a hook releases is freed at the end of the outermost
    // call.
    platform_call_begin()
    defer { endCall() }
    do {
        try object.checkQueue()
        let borrowed = object.borrowedTargetSlot(key: key)
        if borrowed != 0 {
            put(ValueView(.object, UInt64(borrowed)), out)
            return Status.ok.rawValue
        }
        let view = try object.view(key: key)
        try putSlowly(view, object, key, out)
        return Status.ok.rawValue
    } catch let failure {
        putNull(out)
        return report(failure, error)
    }
}

@inline(never)
private func refuseGet(_ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<cst_value>?, _ error: ErrorOut)
    -> cst_status
{
    if let out { putNull(out) }
    return boundary(error) {
        _ = try required(out, "out_value")
        throw invalidHandle(pointer, .object)
    }
}

/// Writes a borrowed handle of a to-one target. The source keeps the target's token until the relationship changes.
@inline(never)
func putTarget(
    _ view: ValueView, _ source: ManagedObject, _ key: cst_key, _ out: UnsafeMutablePointer<cst_value>
) throws {
    guard let address = UnsafeRawPointer(bitPattern: UInt(view.low)) else { return putNull(out) }
    let target = Unmanaged<ManagedObject>.fromOpaque(address).takeUnretainedValue()
    put(ValueView(.object, token(try borrowedHandle(target, by: source, key: key))), out)
}

/// Writes a view of any property, which can be that of an object.
@inline(__always)
func putSlowly(
    _ view: ValueView, _ source: ManagedObject, _ key: cst_key, _ out: UnsafeMutablePointer<cst_value>
) throws {
    switch view.type {
    case .object, .null: try putObjectOrNull(view, source, key, out)
    default: put(view, out)
    }
}

@inline(never)
private func putObjectOrNull(
    _ view: ValueView, _ source: ManagedObject, _ key: cst_key, _ out: UnsafeMutablePointer<cst_value>
) throws {
    switch view.type {
    case .object where source.isToOne(key: key): try putTarget(view, source, key, out)
    // A transient attribute can contain an object of any class.
    case .object: try putTransient(source, key, out)
    // A collection does not have a view.
    case .null where source.isUndefined(key: key): try putTransient(source, key, out)
    default: put(view, out)
    }
}

/// Writes the value of a transient attribute that a view cannot represent.
///
/// Such a value is an object ID, a managed object, an object of the host, or a collection, for which the call throws.
/// An object of the host is borrowed until the attribute is set. A handle is valid as long as a computed value.
private func putTransient(_ source: ManagedObject, _ key: cst_key, _ out: UnsafeMutablePointer<cst_value>) throws {
    let value = try source.primitiveValue(key: key)
    if case .object(let object as HostObject) = value {
        putNull(out)
        out.pointee.as.host = object.host
        out.pointee.type = UInt32(CST_HOST)
        return
    }
    let name = source.propertyName(key: key) ?? ""
    try ComputedValueCache.of(source).put(
        value, name,
        of: ComputedValueCache.Source(entity: source.entity.name, key: name, objectURI: source.objectID.uri), out)
}

@_cdecl("cst_object_copy_bytes") @implementation
public func cst_object_copy_bytes(
    _ pointer: OpaquePointer?, _ key: cst_key, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try required(out, "out_bytes")
        let object = try object(pointer)
        return try object.withView(key: key) { view in
            switch view.type {
            case .null where object.canHaveBytes(key: key):
                try out.fill(UnsafeRawBufferPointer(start: nil, count: 0))
                return .notFound
            case .string, .uri, .bytes:
                try out.fill(view.bytes)
                return .ok
            default: throw object.notContiguousError(key: key)
            }
        }
    }
}

/// Sets the value of a property.
///
/// To save time, the object is not retained. Where possible, a value of the right type is written directly into the
/// object's changes, without running code of the host.
@_cdecl("cst_object_set") @implementation
public func cst_object_set(
    _ pointer: OpaquePointer?, _ key: cst_key, _ value: UnsafePointer<cst_value>?, _ error: ErrorOut
) -> cst_status {
    guard let value, let found = platform_handle_find(token(pointer), HandleType.object.rawValue) else {
        return refuseSet(pointer, key, error)
    }
    return Unmanaged<ManagedObject>.fromOpaque(found.pointee.object)._withUnsafeGuaranteedRef { object in
        do {
            guard object.isOnQueue else { return setSlowly(object, key, try propertyValue(value.pointee), error) }
            let new = try propertyValue(value.pointee)
            if object.setPlainly(new, key: key) { return Status.ok.rawValue }
            return setSlowly(object, key, new, error)
        } catch let failure {
            // Only undefined attributes accept objects of the host and collections.
            if value.pointee.type >= CST_ARRAY { return setUndefined(object, key, value.pointee, error) }
            let name = object.propertyName(key: key)
            return report((failure as? CoreError)?.named(object.entity.name, name) ?? failure, error)
        }
    }
}

/// Runs the slow path of `cst_object_set`: faults, observers, relationships, conversions and failures.
@inline(never)
func setSlowly(
    _ object: ManagedObject, _ key: cst_key, _ value: @autoclosure () throws -> PropertyValue, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        try object.checkQueue()
        try object.set(try value(), key: key)
    }
}

@inline(never)
private func setUndefined(_ object: ManagedObject, _ key: cst_key, _ value: cst_value, _ error: ErrorOut) -> cst_status
{
    boundary(error) {
        try object.checkQueue()
        try object.set(try object.given(value, key: key), key: key)
    }
}

@inline(never)
private func refuseSet(_ pointer: OpaquePointer?, _ key: cst_key, _ error: ErrorOut) -> cst_status {
    boundary(error) {
        let object = try object(pointer)
        throw missingValue(object, object.propertyName(key: key))
    }
}

private func missingValue(_ object: ManagedObject, _ name: String?) -> CoreError {
    let entity = object.objectID.entity.name
    let place = name.map { "\(entity).\($0)" } ?? entity
    return CoreError(
        .invalidArgument, "value is NULL for \(place); pass a value of type CST_NULL to clear the property",
        entity: entity, key: name, objectURI: object.objectID.uri)
}

@_cdecl("cst_object_set_primitive") @implementation
public func cst_object_set_primitive(
    _ pointer: OpaquePointer?, _ key: cst_key, _ value: UnsafePointer<cst_value>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let object = try object(pointer)
        guard let value else { throw missingValue(object, object.propertyName(key: key)) }
        try object.setPrimitive(try object.given(value.pointee, key: key), key: key)
    }
}

@_cdecl("cst_object_get_many") @implementation
public func cst_object_get_many(
    _ pointer: OpaquePointer?, _ count: Int, _ keys: UnsafePointer<cst_key>?, _ out: UnsafeMutablePointer<cst_value>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let object = try object(pointer)
        let keys = try array(keys, count, "keys")
        if keys.isEmpty { return }
        let out = try required(out, "out_values")
        for place in keys.indices { putNull(out + place) }
        for (place, key) in keys.enumerated() {
            let view = try object.view(key: key)
            try putSlowly(view, object, key, out + place)
        }
    }
}

@_cdecl("cst_object_set_many") @implementation
public func cst_object_set_many(
    _ pointer: OpaquePointer?, _ count: Int, _ keys: UnsafePointer<cst_key>?, _ values: UnsafePointer<cst_value>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let object = try object(pointer)
        let keys = try array(keys, count, "keys")
        let values = try array(values, count, "values")
        try withUnsafeTemporaryAllocation(of: ManagedObject.Prepared.self, capacity: keys.count) { memory in
            var prepared = PreparedValues(memory)
            for (place, key) in keys.enumerated() {
                prepared.append(try object.prepare(try object.given(values[place], key: key), key: key))
            }
            try object.apply(&prepared)
        }
    }
}

extension ManagedObject {
    /// Whether a value of the property can be text or bytes, by the type of the attribute.
    fileprivate func canHaveBytes(key: UInt32) -> Bool {
        guard let slot = try? slot(of: key), let attribute = entity.properties[slot] as? Attribute else { return false }
        switch attribute.type {
        case .string, .uri, .binary, .transformable, .undefined: return true
        default: return false
        }
    }

    fileprivate func notContiguousError(key: UInt32) -> CoreError {
        let name = propertyName(key: key) ?? ""
        let found = try? value(forKeyPath: name)
        let kind = found.flatMap { $0.isNull ? nil : "\($0.kindPhrase), " } ?? ""
        return CoreError(
            .typeMismatch,
            "\(objectID.entity.name).\(name) is \(kind)neither a string nor binary data; read it with cst_object_get",
            entity: objectID.entity.name, key: name, value: found, objectURI: objectID.uri)
    }
}

// MARK: - By key path

/// Writes the value at a key path.
///
/// The value is a view of a property of the object at the end of the path, or a computed value in the cache that `kept`
/// returns.
func putPath(
    _ path: String, _ object: ManagedObject, _ out: UnsafeMutablePointer<cst_value>, row: Int = 0,
    kept: (ManagedObject) -> ComputedValueCache
) throws {
    if let (source, key) = try object.resolve(keyPath: path) {
        let view = try source.view(key: key)
        try putSlowly(view, source, key, out)
    } else {
        try kept(object).put(
            try object.value(forKeyPath: path), path, row: row,
            of: ComputedValueCache.Source(entity: object.entity.name, key: path, objectURI: object.objectID.uri), out)
    }
}

@_cdecl("cst_object_get_path") @implementation
public func cst_object_get_path(
    _ pointer: OpaquePointer?, _ path: cst_string, _ out: UnsafeMutablePointer<cst_value>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_value")
        putNull(out)
        try putPath(try path.string("path"), try object(pointer), out, kept: ComputedValueCache.of)
    }
}

@_cdecl("cst_object_get_paths") @implementation
public func cst_object_get_paths(
    _ pointer: OpaquePointer?, _ count: Int, _ paths: UnsafePointer<cst_string>?,
    _ out: UnsafeMutablePointer<cst_value>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let object = try object(pointer)
        let paths = try strings(paths, count, "paths")
        if paths.isEmpty { return }
        let out = try required(out, "out_values")
        for place in paths.indices { putNull(out + place) }
        for (place, path) in paths.enumerated() { try putPath(path, object, out + place, kept: ComputedValueCache.of) }
    }
}

@_cdecl("cst_object_set_path") @implementation
public func cst_object_set_path(
    _ pointer: OpaquePointer?, _ path: cst_string, _ value: UnsafePointer<cst_value>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let object = try object(pointer)
        let path = try path.string("path")
        guard let value else { throw missingValue(object, path) }
        try object.setValue(try object.given(value.pointee, path: path), forKeyPath: path)
    }
}

@_cdecl("cst_object_set_paths") @implementation
public func cst_object_set_paths(
    _ pointer: OpaquePointer?, _ count: Int, _ paths: UnsafePointer<cst_string>?, _ values: UnsafePointer<cst_value>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let object = try object(pointer)
        let paths = try strings(paths, count, "paths")
        let values = try zip(paths, try array(values, count, "values")).map { try object.given($1, path: $0) }
        let prepared = try paths.indices.map { place in
            let (target, key) = try object.requireTarget(ofKeyPath: paths[place], for: values[place])
            return (target: target, value: try target.prepare(values[place], key: key))
        }
        try ManagedObject.apply(prepared)
    }
}

// MARK: - State

@_cdecl("cst_object_get_committed") @implementation
public func cst_object_get_committed(
    _ pointer: OpaquePointer?, _ key: cst_key, _ out: UnsafeMutablePointer<cst_value>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_value")
        putNull(out)
        let object = try object(pointer)
        if let view = try object.committedView(key: key) { return put(view, out) }
        let name = object.propertyName(key: key) ?? "\(key)"
        try ComputedValueCache.of(object).put(
            try object.committedValue(key: key), "the committed value of \(name)",
            of: ComputedValueCache.Source(
                entity: object.objectID.entity.name, key: name, objectURI: object.objectID.uri,
                prefix: "the committed value of ", function: "cst_object_copy_values (committed_values)"),
            out)
    }
}

@_cdecl("cst_object_is_changed") @implementation
public func cst_object_is_changed(
    _ pointer: OpaquePointer?, _ key: cst_key, _ out: UnsafeMutablePointer<Bool>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try required(out, "out_changed").pointee = try object(pointer).isChanged(key: key) }
}

@_cdecl("cst_object_new") @implementation
public func cst_object_new(
    _ entityPointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_object")
        let entity = try entity(entityPointer)
        try entity.model.freeze()
        out.pointee = try ownedHandle(try ManagedObject(entity: entity))
    }
}

@_cdecl("cst_object_entity") @implementation
public func cst_object_entity(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_entity")
        out.pointee = try borrowedHandle(try object(pointer).objectID.entity)
    }
}

@_cdecl("cst_object_context") @implementation
public func cst_object_context(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_context")
        guard let entry = platform_handle_find(token(pointer), HandleType.object.rawValue) else {
            throw invalidHandle(pointer, .object)
        }
        // This function runs on any thread, so it reads the handle table. The table contains the context of each object
        // that has one.
        guard !platform_handle_has_flag(entry), let owner = entry.pointee.owner else { return .notFound }
        guard let kept = swift_tryRetain(owner) else { return .notFound }
        let box = Unmanaged<ContextBox>.fromOpaque(kept).takeRetainedValue()
        if box.isOnQueue, try resolve(pointer, .object, as: ManagedObject.self).isGone { return .notFound }
        out.pointee = box.handle
        return .ok
    }
}

@_cdecl("cst_object_copy_id") @implementation
public func cst_object_copy_id(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_id")
        let object = try object(pointer)
        if object.isGone { throw object.detachedError() }
        out.pointee = try HandleTable.make(ObjectIDBox(object.objectID), .objectID)
    }
}

@_cdecl("cst_object_state") @implementation
public func cst_object_state(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<UInt32>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_flags")
        out.pointee = 0
        let object = try resolve(pointer, .object, as: ManagedObject.self)
        if object.context == nil, object.isGone { return out.pointee = UInt32(CST_OBJECT_FAULT) }
        try object.checkQueue()
        var flags = 0
        if object.isInserted { flags |= Int(CST_OBJECT_INSERTED) }
        if object.isUpdated { flags |= Int(CST_OBJECT_UPDATED) }
        if object.isDeleted { flags |= Int(CST_OBJECT_DELETED) }
        if object.isFault { flags |= Int(CST_OBJECT_FAULT) }
        if object.hasTemporaryID { flags |= Int(CST_OBJECT_TEMPORARY_ID) }
        if object.hasChanges { flags |= Int(CST_OBJECT_HAS_CHANGES) }
        out.pointee = UInt32(flags)
    }
}

@_cdecl("cst_object_refresh") @implementation
public func cst_object_refresh(_ pointer: OpaquePointer?, _ mergeChanges: Bool, _ error: ErrorOut) -> cst_status {
    boundary(error) {
        let object = try object(pointer)
        if object.isGone { throw object.detachedError() }
        // An unattached object does not have a store to read.
        guard let context = object.context else { return }
        PendingReleases.drain(of: context)
        try context.refresh(object, mergeChanges: mergeChanges)
    }
}
