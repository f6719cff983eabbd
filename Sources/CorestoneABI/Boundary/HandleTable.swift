import CPlatform
import CorestoneGraph
import CorestoneValues

/// A handle in the C interface, and its token, the number in it.
typealias Handle = OpaquePointer
typealias HandleToken = UInt64
typealias HandleEntry = UnsafeMutablePointer<platform_handle>

@inline(__always) func token(_ handle: Handle?) -> HandleToken { HandleToken(UInt(bitPattern: handle)) }
@inline(__always) func handle(_ token: HandleToken) -> Handle? { Handle(bitPattern: UInt(token)) }

/// The table of handles, with two kinds of references to the object of a handle.
///
/// The entry's word counts the library's references (from a result list to its objects, from an object to its to-one
/// target, from a coordinator to its model). The host's references are counted separately; all of them together are one
/// reference of the library. A host can therefore release only its own references, however often it calls release. The
/// `owner`, a context or a model on which the object depends, is retained only while the host has references to the
/// object. If the object graph's references retained the owner too, there would be a retain cycle.
enum HandleTable {
    /// Creates a handle that the host owns. `owner` is retained as long as the host has references.
    static func make(_ object: AnyObject, _ type: HandleType, owner: AnyObject? = nil, isOwnedByModel: Bool = false)
        throws
        -> Handle?
    {
        let owner = owner.map { Unmanaged.passUnretained($0) }
        return handle(
            try make(Unmanaged.passRetained(object), type, owner: owner, isOwnedByModel: isOwnedByModel, hosts: 1))
    }

    /// Creates a handle, and takes ownership of a reference to the object. The owner is passed as an address.
    static func make(
        _ object: Unmanaged<some AnyObject>, _ type: HandleType, owner: UnsafeMutableRawPointer?, isOwnedByModel: Bool
    ) throws -> Handle? {
        let owner = owner.map { Unmanaged<AnyObject>.fromOpaque($0) }
        return handle(
            try make(.fromOpaque(object.toOpaque()), type, owner: owner, isOwnedByModel: isOwnedByModel, hosts: 1))
    }

    /// Creates a token without a reference of the host, for borrowed handles.
    static func makeInner(
        _ object: AnyObject, _ type: HandleType, owner: AnyObject? = nil, isOwnedByModel: Bool = false
    ) throws -> HandleToken {
        let owner = owner.map { Unmanaged.passUnretained($0) }
        return try make(Unmanaged.passRetained(object), type, owner: owner, isOwnedByModel: isOwnedByModel, hosts: 0)
    }

    private static func make(
        _ object: Unmanaged<AnyObject>, _ type: HandleType, owner: Unmanaged<AnyObject>?, isOwnedByModel: Bool,
        hosts: UInt32
    ) throws -> HandleToken {
        guard hosts == 0 || retainOwner(owner?.toOpaque()) else {
            if type.isRetained { object.release() }
            throw ownerEnds(of: type)
        }
        let token = platform_handle_make(object.toOpaque(), owner?.toOpaque(), type.rawValue, isOwnedByModel, hosts)
        guard token != 0 else {
            if type.isRetained { object.release() }
            if hosts > 0 { owner?.release() }
            throw CoreError(
                .noMemory, "out of memory: cannot allocate a handle; release unused handles with cst_release")
        }
        if !type.isRetained { object.release() }
        return token
    }

    /// Returns the error for a handle whose owner is being freed.
    @inline(never)
    static func ownerEnds(of type: HandleType) -> CoreError {
        CoreError(
            .invalidHandle,
            "the context or model of the \(type.name) is being freed because its last handle was released; retain "
                + "the context or model with cst_retain while the application uses the \(type.name)")
    }

    /// Adds a reference of the library. Returns false if the token is no longer valid.
    @inline(__always)
    static func retain(_ token: HandleToken) -> Bool { platform_handle_retain(token) }

    /// Removes a reference of the library.
    ///
    /// Must be called on a thread that may free the object, or when no other thread can use it.
    static func release(_ token: HandleToken) {
        var word: UInt64 = 0
        guard platform_handle_release(token, &word) else { return }
        finish(platform_handle_index(token), isRetained: HandleType(ended: word).isRetained)
    }

    /// Releases the object of an entry without references, and makes the entry available again.
    fileprivate static func finish(_ index: UInt32, isRetained: Bool) {
        guard let entry = platform_handle_at(index) else { return }
        if isRetained, let object = entry.pointee.object { Unmanaged<AnyObject>.fromOpaque(object).release() }
        platform_handle_free(index)
    }
}

// MARK: - The host's references

extension HandleTable {
    /// Adds a reference of the host. Returns false if the handle is not valid.
    static func retainForHost(_ token: HandleToken) -> Bool {
        guard let entry = platform_handle_find_any(token) else { return false }
        // The owner changes when a context inserts an unattached object, so `partLock` protects it.
        if platform_handle_has_flag(entry) { return partLock.with { addHost(token, entry) } }
        return addHost(token, entry)
    }

    private static func addHost(_ token: HandleToken, _ entry: HandleEntry) -> Bool {
        // This reference keeps the entry alive until the host's reference is counted.
        guard platform_handle_retain(token) else { return false }
        if platform_handle_add_another_host(entry) {
            release(token)
            return true
        }
        let owner = entry.pointee.owner
        guard retainOwner(owner) else {
            release(token)
            return false
        }
        let former = platform_handle_add_host(entry)
        if former == 0 { return true }
        // Another thread added a reference first, or the count has reached its limit.
        release(token)
        if let owner { Unmanaged<AnyObject>.fromOpaque(owner).release() }
        return former != .max
    }

    /// Retains the owner of an object.
    ///
    /// Returns false if the owner is being freed, because Swift cannot revive an object. Callbacks can run meanwhile,
    /// for example a callback that frees userdata of a context.
    @inline(__always)
    static func retainOwner(_ owner: UnsafeMutableRawPointer?) -> Bool {
        guard let owner else { return true }
        return swift_tryRetain(owner) != nil
    }

    /// Removes a reference of the host that the library created and holds on the host's behalf.
    static func releaseForHost(_ token: HandleToken) {
        if case .last(let finalRelease) = removeHostReference(token) { finalRelease.end() }
    }

    /// Removes the reference of a borrowed handle, after the callback has returned.
    ///
    /// - Parameter hadReferences: Whether the host had references before it borrowed the handle. If it does not have
    ///   references now, the callback released them. The current call may still use the object, which is then freed at
    ///   the end of the outermost call.
    static func endBorrowing(_ token: HandleToken, hadReferences: Bool) {
        guard case .last(let finalRelease) = removeHostReference(token) else { return }
        if hadReferences && platform_call_depth() > 0 { finalRelease.endAfterCall() } else { finalRelease.end() }
    }

    /// Implements cst_release.
    ///
    /// Returns false if the host does not have a reference, or the handle is not valid. Within a callback the handle
    /// becomes invalid immediately. The object is freed at the end of the thread's outermost call, which may be using
    /// it.
    static func releaseByHost(_ token: HandleToken) -> Bool {
        switch removeHostReference(token) {
        case .notReferenced: return false
        case .stillReferenced: return true
        case .last(let finalRelease):
            guard platform_call_depth() == 0 else {
                finalRelease.endAfterCall()
                return true
            }
            platform_call_begin()
            finalRelease.end()
            endCall()
            return true
        }
    }

    /// Frees the objects of a context that callbacks released, before the outermost call has ended.
    ///
    /// Other calls must not be using these objects.
    static func endReleases(of box: ContextBox) {
        platform_call_run_deferred(
            FinalRelease.endLater, UInt64(UInt(bitPattern: Unmanaged.passUnretained(box).toOpaque())))
    }

    private enum ReferenceRemoval {
        /// The host did not have a reference.
        case notReferenced
        case stillReferenced
        case last(FinalRelease)
    }

    /// The remaining work for a handle without references of the host.
    private struct FinalRelease {
        let index: UInt32
        let owner: UnsafeMutableRawPointer?
        /// The entry's last word if the library does not have a reference to the object either, otherwise 0.
        let ended: UInt64

        func end() {
            // No lock is held here, because freeing the object can run code of the host and acquire locks.
            if ended != 0 { dispose(index, owner, ended) }
            // The owner is released last, because it keeps objects alive that are needed to free this one.
            if let owner { Unmanaged<AnyObject>.fromOpaque(owner).release() }
        }

        func endAfterCall() {
            if ended == 0 && owner == nil { return }
            platform_call_defer(FinalRelease.endLater, UInt64(index), UInt64(UInt(bitPattern: owner)), ended)
        }

        static let endLater: platform_deferred_fn = { index, owner, ended in
            FinalRelease(index: UInt32(index), owner: UnsafeMutableRawPointer(bitPattern: UInt(owner)), ended: ended)
                .end()
        }
    }

    @inline(__always)
    private static func removeHostReference(_ token: HandleToken) -> ReferenceRemoval {
        guard let entry = platform_handle_find_any(token) else { return .notReferenced }
        return platform_handle_has_flag(entry)
            ? partLock.with { removeHostReference(token, entry) } : removeHostReference(token, entry)
    }

    @inline(__always)
    private static func removeHostReference(_ token: HandleToken, _ entry: HandleEntry) -> ReferenceRemoval {
        let owner = entry.pointee.owner
        switch platform_handle_drop_host(entry) {
        case 0: return .notReferenced
        case 1: break
        default: return .stillReferenced
        }
        var word: UInt64 = 0
        let hasEnded = platform_handle_release(token, &word)
        return .last(FinalRelease(index: platform_handle_index(token), owner: owner, ended: hasEnded ? word : 0))
    }

    /// Frees the object of a handle.
    ///
    /// An object that is confined to a context of another thread is freed at the context's next call.
    private static func dispose(_ index: UInt32, _ owner: UnsafeMutableRawPointer?, _ word: UInt64) {
        let type = HandleType(ended: word)
        var context: Context?
        if type.isConfined, word & UInt64(PLATFORM_HANDLE_FLAG) == 0, let owner {
            let isElsewhere = Unmanaged<ContextBox>.fromOpaque(owner)._withUnsafeGuaranteedRef { box in
                // A hook can release the object for which it is called. The code that runs the hook still needs the
                // object.
                if box.isOnQueue && !box.context.isInHook {
                    if type == .results { context = box.context }
                    return false
                }
                platform_handle_push(box.pendingReleases, index)
                return true
            }
            if isElsewhere { return }
        }
        // Stores are notified of all objects of results in one call.
        guard let context else { return finish(index, isRetained: type.isRetained) }
        context.batchingNotices(true) { finish(index, isRetained: type.isRetained) }
    }

    /// Frees the objects that other threads released.
    ///
    /// Must be called on the context's queue, or when the context is freed.
    static func drain(_ head: UnsafeMutablePointer<UInt64>) {
        var index = UInt32(truncatingIfNeeded: platform_handle_take_all(head))
        while index != 0, let entry = platform_handle_at(index) {
            let next = entry.pointee.link
            finish(index, isRetained: true)
            index = next
        }
    }
}

// MARK: - Borrowed handles

/// A handle that a callback borrows.
///
/// It includes a reference of the host, which the library removes when the callback has returned.
struct BorrowedHandle {
    let handle: Handle?
    /// Whether the host had references before.
    let hadReferences: Bool

    /// Borrows the handle of an object. Must be called on the object's queue.
    init(_ object: ManagedObject) throws {
        try self.init(of: HandleToken(object.hostSlot)) { try ownedHandle(object) }
    }

    /// Borrows a handle.
    ///
    /// - Parameters:
    ///   - token: The token that the object had before, or 0.
    ///   - make: Returns a handle with one more reference of the host.
    init(of token: HandleToken, _ make: () throws -> Handle?) throws {
        hadReferences = platform_handle_find_any(token).map { platform_handle_hosts($0) > 0 } ?? false
        handle = try make()
    }

    func end() { HandleTable.endBorrowing(token(handle), hadReferences: hadReferences) }
}

/// Passes the handle of an object to a callback, borrowed until the callback returns.
@discardableResult
func withBorrowedHandle<Result>(_ object: ManagedObject, to body: (Handle?) throws -> Result) throws -> Result {
    let borrowed = try BorrowedHandle(object)
    defer { borrowed.end() }
    return try body(borrowed.handle)
}
