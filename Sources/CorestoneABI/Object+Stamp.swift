import CCorestone
import CPlatform
import CorestoneGraph
import CorestoneValues

// The functions with which a binding caches values of objects.

@_cdecl("cst_object_try_get") @implementation
public func cst_object_try_get(
    _ pointer: OpaquePointer?, _ key: cst_key, _ out: UnsafeMutablePointer<cst_value>?
) -> cst_status {
    guard let out, let found = platform_handle_find(token(pointer), HandleType.object.rawValue) else {
        return refuse(pointer, hasValue: out != nil, .notFound)
    }
    return Unmanaged<ManagedObject>.fromOpaque(found.pointee.object)._withUnsafeGuaranteedRef { object in
        guard object.isOnQueue else { return refuse(pointer, hasValue: true, .notFound) }
        if let view = object.residentView(key: key) {
            put(view, out)
            return Status.ok.rawValue
        }
        let borrowed = object.borrowedTargetSlot(key: key)
        if borrowed == 0 { return tryTarget(object, key, out) }
        put(ValueView(.object, UInt64(borrowed)), out)
        return Status.ok.rawValue
    }
}

@inline(never)
private func tryTarget(_ object: ManagedObject, _ key: cst_key, _ out: UnsafeMutablePointer<cst_value>) -> cst_status {
    guard let view = object.residentTarget(key: key) else { return Status.notFound.rawValue }
    if view.type != .object {
        putNull(out)
        return Status.ok.rawValue
    }
    do { try putTarget(view, object, key, out) } catch { return Status.notFound.rawValue }
    return Status.ok.rawValue
}

@_cdecl("cst_object_try_set") @implementation
public func cst_object_try_set(
    _ pointer: OpaquePointer?, _ key: cst_key, _ value: UnsafePointer<cst_value>?
) -> cst_status {
    guard let value, let found = platform_handle_find(token(pointer), HandleType.object.rawValue) else {
        return refuse(pointer, hasValue: value != nil, .unchanged)
    }
    return Unmanaged<ManagedObject>.fromOpaque(found.pointee.object)._withUnsafeGuaranteedRef { object in
        guard object.isOnQueue else { return refuse(pointer, hasValue: true, .unchanged) }
        do {
            let isSet = object.setResident(try propertyValue(value.pointee), key: key)
            return isSet ? Status.ok.rawValue : Status.unchanged.rawValue
        } catch let failure { return report(failure, nil) }
    }
}

/// Returns the status of a handle that the caller must not use, or `otherwise`.
@inline(never)
private func refuse(_ pointer: OpaquePointer?, hasValue: Bool, _ otherwise: Status) -> cst_status {
    outcome(nil) {
        _ = try object(pointer)
        guard hasValue else { throw CoreError(.invalidArgument, "the value is NULL; pass the address of a cst_value") }
        return otherwise
    }
}

@_cdecl("cst_object_get_stamp") @implementation
public func cst_object_get_stamp(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<cst_object_stamp>?, _ error: ErrorOut
) -> cst_status {
    // This function is called once for most objects, so it takes a short way to the usual struct.
    guard let out, out.pointee.struct_size == MemoryLayout<cst_object_stamp>.size, !platform_is_forked(),
        let found = platform_handle_find(token(pointer), HandleType.object.rawValue)
    else {
        return boundary(error) {
            let out = try sized(out, "out_stamp")
            out.fill(stamp(of: try resolve(pointer, .object, as: ManagedObject.self)))
        }
    }
    Unmanaged<ManagedObject>.fromOpaque(found.pointee.object)._withUnsafeGuaranteedRef { object in
        let found = stamp(of: object)
        (out.pointee.changes, out.pointee.thread) = (found.changes, found.thread)
    }
    return Status.ok.rawValue
}

@inline(__always)
private func stamp(of object: ManagedObject) -> cst_object_stamp {
    var stamp = cst_object_stamp()
    stamp.changes = object.changesAddress
    stamp.thread = UnsafePointer(object.owner)
    return stamp
}

@_cdecl("cst_thread_id") @implementation
public func cst_thread_id() -> UInt64 { platform_thread_id() }
