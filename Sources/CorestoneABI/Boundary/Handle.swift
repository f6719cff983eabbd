import CCorestone
import CPlatform
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The types of handles, as the table's tags know them.
enum HandleType: UInt32 {
    case error = 1
    case model, entity, attribute, relationship
    case coordinator, store, context
    case object, objectID
    case predicate, fetchRequest, results

    var name: String {
        switch self {
        case .error: "error"
        case .model: "model"
        case .entity: "entity"
        case .attribute: "attribute"
        case .relationship: "relationship"
        case .coordinator: "coordinator"
        case .store: "store"
        case .context: "context"
        case .object: "object"
        case .objectID: "object ID"
        case .predicate: "predicate"
        case .fetchRequest: "fetch request"
        case .results: "results"
        }
    }
}

/// A token as the host sees it.
@inline(__always)
func handle(_ token: UInt) -> OpaquePointer? { OpaquePointer(bitPattern: token) }

@inline(__always)
func token(_ handle: OpaquePointer?) -> UInt64 { UInt64(UInt(bitPattern: handle)) }

/// What a live handle of a type stands for; a handle that is NULL, released, stale or of another type throws.
@inline(__always)
func resolve<Body: AnyObject>(_ pointer: OpaquePointer?, _ type: HandleType, as: Body.Type = Body.self) throws -> Body {
    guard let found = platform_handle_find(token(pointer), type.rawValue) else { throw invalidHandle(pointer, type) }
    return Unmanaged<Body>.fromOpaque(found).takeUnretainedValue()
}

/// Why a handle does not serve.
func invalidHandle(_ pointer: OpaquePointer?, _ type: HandleType) -> CoreError {
    if platform_is_forked() { return Context.forked() }
    guard pointer != nil else { return CoreError(.invalidHandle, "the \(type.name) is NULL") }
    if platform_handle_place(token(pointer)) != nil,
        let actual = HandleType(rawValue: platform_handle_type(token(pointer))), actual != type
    {
        return CoreError(.invalidHandle, "the handle is of type \(actual.name) where the call takes one of type \(type.name)")
    }
    return CoreError(
        .invalidHandle, "the \(type.name) handle is not alive: it was released, or is none; "
            + "keep borrowed handles with cst_retain")
}

/// A new handle that owns `body`; nil (no memory) is an error.
func newToken(_ type: HandleType, _ body: AnyObject, parent: UInt64 = 0) throws -> UInt {
    platform_prepare()
    let box = Unmanaged.passRetained(body)
    let token = platform_handle_new(type.rawValue, box.toOpaque(), parent)
    guard token != 0 else {
        box.release()
        throw CoreError(.noMemory, "there is no memory for another handle")
    }
    return UInt(token)
}

/// Gives up one ownership of any handle. False when it was no live handle.
@discardableResult
func releaseToken(_ token: UInt64) -> Bool {
    var place: UnsafeMutablePointer<platform_handle>?
    switch platform_handle_release(token, &place) {
    case PLATFORM_RELEASE_ALIVE: return true
    case PLATFORM_RELEASE_LAST:
        if let place { endHandle(place, token) }
        return true
    default: return false
    }
}

/// The last owner of a handle let go.
private func endHandle(_ place: UnsafeMutablePointer<platform_handle>, _ token: UInt64) {
    let type = HandleType(rawValue: place.pointee.type)
    let parent = place.pointee.parent
    if type == .object {
        let object = Unmanaged<ManagedObject>.fromOpaque(place.pointee.object).takeUnretainedValue()
        // What belongs to a context is freed by the context's own thread: here, or at its next call.
        if parent != 0, let context = contextOf(parent), context.ownerThread != platform_thread_id() {
            platform_handle_defer(context.pendingReleases, place)
        } else {
            endObject(place, object, token)
        }
    } else {
        let body = Unmanaged<AnyObject>.fromOpaque(place.pointee.object)
        platform_handle_free(place)
        if type == .context, let box = body.takeUnretainedValue() as? ContextBox { box.end() }
        if type != .entity && type != .attribute && type != .relationship { body.release() }
    }
    if parent != 0 { releaseToken(parent) }
}

private func endObject(_ place: UnsafeMutablePointer<platform_handle>, _ object: ManagedObject, _ token: UInt64) {
    if UInt64(object.token) == token { object.token = 0 }
    let body = Unmanaged<AnyObject>.fromOpaque(place.pointee.object)
    platform_handle_free(place)
    body.release()
}

/// The context of a context token that something keeps alive.
private func contextOf(_ token: UInt64) -> Context? {
    guard let found = platform_handle_find(token, HandleType.context.rawValue) else { return nil }
    return Unmanaged<ContextBox>.fromOpaque(found).takeUnretainedValue().context
}

/// Frees the objects whose last handles were released on other threads. On the context's queue.
@inline(__always)
func drainReleases(_ context: Context) {
    if platform_load64(context.pendingReleases) != 0 { drainAll(context) }
}

private func drainAll(_ context: Context) {
    var next = platform_handle_take(context.pendingReleases)
    while next != 0, let place = platform_handle_at(next - 1) {
        next = place.pointee.next
        let object = Unmanaged<ManagedObject>.fromOpaque(place.pointee.object).takeUnretainedValue()
        // The token is dead already; the object forgets it unless it was handed out anew since.
        if platform_handle_place(UInt64(object.token)) == nil { object.token = 0 }
        let body = Unmanaged<AnyObject>.fromOpaque(place.pointee.object)
        platform_handle_free(place)
        body.release()
    }
}

/// The token of an object, one more owner for the caller. One live token stands for one object.
@inline(__always)
func ownedToken(_ object: ManagedObject) throws -> UInt {
    if object.token != 0, platform_handle_retain(UInt64(object.token)) { return object.token }
    return try newObjectToken(object)
}

private func newObjectToken(_ object: ManagedObject) throws -> UInt {
    let parent = UInt64(object.context?.token ?? 0)
    if parent != 0, !platform_handle_retain(parent) { throw object.gone() }
    do { object.token = try newToken(.object, object, parent: parent) } catch {
        if parent != 0 { releaseToken(parent) }
        throw error
    }
    return object.token
}

/// An object that came into a context keeps that context alive from now on, if a host has a handle to it.
func adopt(_ object: ManagedObject) {
    guard object.token != 0, let place = platform_handle_place(UInt64(object.token)), place.pointee.parent == 0,
        let parent = object.context?.token, platform_handle_retain(UInt64(parent))
    else { return }
    place.pointee.parent = UInt64(parent)
}

/// The one token of an entity, attribute or relationship: borrowed, alive as long as its model.
func modelToken(_ type: HandleType, _ body: AnyObject, _ cached: inout UInt) throws -> UInt {
    if cached != 0 { return cached }
    platform_prepare()
    let token = platform_handle_new(type.rawValue, Unmanaged.passUnretained(body).toOpaque(), 0)
    guard token != 0 else { throw CoreError(.noMemory, "there is no memory for another handle") }
    cached = UInt(token)
    return cached
}

/// Guards the tokens of models' parts, which any thread may ask for first.
let partLock = RecursiveLock()

func token(of entity: Entity) throws -> UInt { try partLock.with { try modelToken(.entity, entity, &entity.token) } }
func token(of attribute: Attribute) throws -> UInt {
    try partLock.with { try modelToken(.attribute, attribute, &attribute.token) }
}
func token(of relationship: Relationship) throws -> UInt {
    try partLock.with { try modelToken(.relationship, relationship, &relationship.token) }
}

/// Withdraws the tokens of a model's parts at its end.
func withdrawTokens(of model: Model) {
    for entity in model.entities {
        if entity.token != 0 { releaseToken(UInt64(entity.token)) }
        for attribute in entity.ownAttributes where attribute.token != 0 { releaseToken(UInt64(attribute.token)) }
        for relationship in entity.ownRelationships where relationship.token != 0 {
            releaseToken(UInt64(relationship.token))
        }
    }
}
