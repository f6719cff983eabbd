import CPlatform
import CorestoneGraph
import CorestoneModel
import CorestoneValues

// An object of a context has at most one valid token, so that hosts can compare handles. An object keeps its last
// token; the handle table shows whether it is still valid.

/// Returns a handle with one more reference of the host. Must be called on the object's queue.
@inline(__always)
func ownedHandle(_ object: ManagedObject) throws -> Handle? {
    if object.hostSlot != 0, HandleTable.retainForHost(HandleToken(object.hostSlot)) {
        return handle(HandleToken(object.hostSlot))
    }
    return handle(try newToken(object, hosts: 1))
}

/// Returns a token with one more reference of the library; release it with `HandleTable.release`.
///
/// Must be called on the object's queue.
@inline(__always)
func innerToken(_ object: ManagedObject, in box: Unmanaged<ContextBox>? = nil) throws -> HandleToken {
    if object.hostSlot != 0, HandleTable.retain(HandleToken(object.hostSlot)) { return HandleToken(object.hostSlot) }
    return try newToken(object, hosts: 0, in: box)
}

/// Creates a token. The function creates the entry directly, because it is called for each object of a fetch.
private func newToken(
    _ object: ManagedObject, hosts: UInt32, in known: Unmanaged<ContextBox>? = nil
) throws -> HandleToken {
    let owner: Unmanaged<AnyObject>
    var isOwnedByModel = false
    if let known {
        owner = Unmanaged.fromOpaque(known.toOpaque())
    } else if let context = object.context, context.hostSlot.value != 0 {
        // The entry of a context's handle is valid as long as the context's box, to which it points. The context may
        // outlive the box, as a parent or for work of the library.
        guard let entry = platform_handle_find(HandleToken(context.hostSlot.value), HandleType.context.rawValue) else {
            throw invalidHandle(handle(HandleToken(context.hostSlot.value)), .context)
        }
        owner = Unmanaged.fromOpaque(entry.pointee.object)
    } else if let context = object.context, let host = context.batchOwner {
        owner = Unmanaged.passUnretained(try contextBox(host).makeTemporaryBox(context))
    } else {
        // An object outside every context depends on its model.
        owner = Unmanaged.passUnretained(object.objectID.entity.model)
        isOwnedByModel = true
    }
    guard hosts == 0 || HandleTable.retainOwner(owner.toOpaque()) else { throw HandleTable.ownerEnds(of: .object) }
    let kept = Unmanaged.passRetained(object)
    let token = platform_handle_make(
        kept.toOpaque(), owner.toOpaque(), HandleType.object.rawValue, isOwnedByModel, hosts)
    guard token != 0 else {
        kept.release()
        if hosts > 0 { owner.release() }
        throw CoreError(
            .noMemory, "out of memory: cannot allocate a handle; release unused handles with cst_release")
    }
    object.hostSlot = UInt(token)
    return token
}

/// Returns the box of an object's context, or nil outside every context.
///
/// It is valid as long as the host has a handle of the object.
@inline(__always)
func nearBox(of object: ManagedObject) throws -> Unmanaged<ContextBox>? {
    guard let token = object.contextSlot else { return nil }
    guard let entry = platform_handle_find(HandleToken(token), HandleType.context.rawValue) else {
        throw invalidHandle(handle(HandleToken(token)), .context)
    }
    return Unmanaged.fromOpaque(entry.pointee.object)
}

/// Returns the box of a context that has a handle.
func contextBox(_ context: Context) throws -> ContextBox { try contextBox(handle(HandleToken(context.hostSlot.value))) }

/// Makes the context the owner of the handle of an object that was inserted into it. The handle then keeps the context
/// alive.
func keepAlive(_ box: ContextBox, for object: ManagedObject) {
    guard object.hostSlot != 0,
        let entry = platform_handle_find(HandleToken(object.hostSlot), HandleType.object.rawValue)
    else {
        return
    }
    partLock.with {
        guard platform_handle_has_flag(entry), let model = entry.pointee.owner else { return }
        let isHeld = platform_handle_hosts(entry) > 0
        let owner = Unmanaged.passUnretained(box)
        entry.pointee.owner = isHeld ? owner.retain().toOpaque() : owner.toOpaque()
        platform_handle_clear_flag(entry)
        if isHeld { Unmanaged<AnyObject>.fromOpaque(model).release() }
    }
}

/// Returns a borrowed handle of a to-one target. The source keeps the handle until the relationship changes.
func borrowedHandle(_ target: ManagedObject, by source: ManagedObject, key: UInt32) throws -> Handle? {
    if target.hostSlot != 0, source.targetSlot(key: key) == target.hostSlot {
        return handle(HandleToken(target.hostSlot))
    }
    let token = try innerToken(target)
    if !source.keepTargetSlot(UInt(token), key: key) { HandleTable.release(token) }
    return handle(token)
}
