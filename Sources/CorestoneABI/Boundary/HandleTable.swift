import CPlatform
import CorestoneGraph
import CorestoneValues

/// A handle as the host sees it, and the number in it.
typealias Handle = OpaquePointer
typealias Token = UInt64
typealias HandleEntry = UnsafeMutablePointer<platform_handle>

@inline(__always) func token(_ handle: Handle?) -> Token { Token(UInt(bitPattern: handle)) }
@inline(__always) func handle(_ token: Token) -> Handle? { Handle(bitPattern: UInt(token)) }

/// The two kinds of references to what a handle stands for.
///
/// Those that the library holds itself (a result list its objects, a source its to-one target, a coordinator its model) are
/// counted in the entry's word. The host's are counted apart and stand for one of the former all together. So a host can give
/// up no reference but its own, however often it releases; and what an object cannot do without (its `owner`: a context, a
/// model) is retained just as long as the host holds the object, not as long as the graph does, which would be for ever.
enum HandleTable {
    /// A handle that the host owns. `owner` is retained while it does.
    static func make(_ object: AnyObject, _ type: HandleType, owner: AnyObject? = nil, isLoose: Bool = false) throws
        -> Handle?
    {
        let owner = owner.map { Unmanaged.passUnretained($0) }
        return handle(try make(Unmanaged.passRetained(object), type, owner: owner, isLoose: isLoose, hosts: 1))
    }

    /// The same with a reference to the object that the table takes over, and an owner by its address.
    static func make(
        _ object: Unmanaged<some AnyObject>, _ type: HandleType, owner: UnsafeMutableRawPointer?, isLoose: Bool
    ) throws -> Handle? {
        let owner = owner.map { Unmanaged<AnyObject>.fromOpaque($0) }
        return handle(try make(.fromOpaque(object.toOpaque()), type, owner: owner, isLoose: isLoose, hosts: 1))
    }

    /// A token that only the library holds, for handles that it lends.
    static func makeInner(
        _ object: AnyObject, _ type: HandleType, owner: AnyObject? = nil, isLoose: Bool = false
    ) throws -> Token {
        let owner = owner.map { Unmanaged.passUnretained($0) }
        return try make(Unmanaged.passRetained(object), type, owner: owner, isLoose: isLoose, hosts: 0)
    }

    private static func make(
        _ object: Unmanaged<AnyObject>, _ type: HandleType, owner: Unmanaged<AnyObject>?, isLoose: Bool, hosts: UInt32
    ) throws -> Token {
        guard hosts == 0 || retainOwner(owner?.toOpaque()) else {
            if type.isRetained { object.release() }
            throw ownerEnds(of: type)
        }
        let token = platform_handle_make(object.toOpaque(), owner?.toOpaque(), type.rawValue, isLoose, hosts)
        guard token != 0 else {
            if type.isRetained { object.release() }
            if hosts > 0 { owner?.release() }
            throw CoreError(
                .noMemory, "out of memory: cannot allocate a handle; release unused handles with cst_release")
        }
        if !type.isRetained { object.release() }
        return token
    }

    /// Why no handle can be made now.
    @inline(never)
    static func ownerEnds(of type: HandleType) -> CoreError {
        CoreError(
            .invalidHandle,
            "the context or model of the \(type.name) is being freed because its last handle was released; retain it "
                + "with cst_retain while the application uses the \(type.name)")
    }

    /// One more reference of the library's; false when the token ended.
    @inline(__always)
    static func retain(_ token: Token) -> Bool { platform_handle_retain(token) }

    /// Gives up a reference of the library's: on the thread that may dispose of the object, or when nobody else can use it.
    static func release(_ token: Token) {
        var word: UInt64 = 0
        guard platform_handle_release(token, &word) else { return }
        finish(platform_handle_index(token), isRetained: HandleType(ended: word).isRetained)
    }

    /// Lets go of the object of an ended entry and makes the entry available again.
    fileprivate static func finish(_ index: UInt32, isRetained: Bool) {
        guard let entry = platform_handle_at(index) else { return }
        if isRetained, let object = entry.pointee.object { Unmanaged<AnyObject>.fromOpaque(object).release() }
        platform_handle_free(index)
    }
}

// MARK: - The host's references

extension HandleTable {
    /// One more reference of the host's; false when the handle is not live.
    static func retainForHost(_ token: Token) -> Bool {
        guard let entry = platform_handle_find_any(token) else { return false }
        // An object that is taken in by a context changes its owner.
        if platform_handle_has_flag(entry) { return partLock.with { addHost(token, entry) } }
        return addHost(token, entry)
    }

    private static func addHost(_ token: Token, _ entry: HandleEntry) -> Bool {
        // Holds the entry until the host's reference counts.
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
        // Another thread came first, or they cannot be counted.
        release(token)
        if let owner { Unmanaged<AnyObject>.fromOpaque(owner).release() }
        return former != .max
    }

    /// Keeps what an object cannot do without; false when its end has begun. A callback may run within that end, as one that
    /// frees what a context held of the host's, and Swift does not revive an object.
    @inline(__always)
    static func retainOwner(_ owner: UnsafeMutableRawPointer?) -> Bool {
        guard let owner else { return true }
        return swift_tryRetain(owner) != nil
    }

    /// Gives up a reference of the host's that the library made and holds for it.
    static func releaseForHost(_ token: Token) {
        if case .last(let rest) = dropHost(token) { rest.end() }
    }

    /// Gives up the reference of a loan, when the callback has returned.
    ///
    /// - Parameter wasHeld: whether the host held references before the loan. When none is left, the callback gave them up, and
    ///   the call under way may be using the object, which then ends with the outermost call.
    static func endLoan(_ token: Token, wasHeld: Bool) {
        guard case .last(let rest) = dropHost(token) else { return }
        if wasHeld && platform_call_depth() > 0 { rest.endWithCall() } else { rest.end() }
    }

    /// The host's own call; false when it holds no reference, or the handle is not live. Within a callback the handle is invalid
    /// at once, but the object ends with the outermost call of the thread, which may be using it.
    static func releaseByHost(_ token: Token) -> Bool {
        switch dropHost(token) {
        case .nothing: return false
        case .oneOfMany: return true
        case .last(let rest):
            guard platform_call_depth() == 0 else {
                rest.endWithCall()
                return true
            }
            platform_call_begin()
            rest.end()
            endCall()
            return true
        }
    }

    /// Ends what callbacks gave up of a context, although the outermost call has not ended. No call may be using it.
    static func endReleases(of box: ContextBox) {
        platform_call_settle(Rest.endLater, UInt64(UInt(bitPattern: Unmanaged.passUnretained(box).toOpaque())))
    }

    private enum Dropped {
        /// The host held no reference.
        case nothing
        case oneOfMany
        case last(Rest)
    }

    /// What there is still to do for a handle that the host holds no more.
    private struct Rest {
        let index: UInt32
        let owner: UnsafeMutableRawPointer?
        /// The entry's last word when the library does not hold the object either, else 0.
        let ended: UInt64

        func end() {
            // Outside every lock: what ends now may run the host's code, and take locks of its own.
            if ended != 0 { dispose(index, owner, ended) }
            // Last, since the owner keeps alive what the object's end still needs.
            if let owner { Unmanaged<AnyObject>.fromOpaque(owner).release() }
        }

        func endWithCall() {
            if ended == 0 && owner == nil { return }
            platform_call_defer(Rest.endLater, UInt64(index), UInt64(UInt(bitPattern: owner)), ended)
        }

        static let endLater: platform_deferred_fn = { index, owner, ended in
            Rest(index: UInt32(index), owner: UnsafeMutableRawPointer(bitPattern: UInt(owner)), ended: ended).end()
        }
    }

    @inline(__always)
    private static func dropHost(_ token: Token) -> Dropped {
        guard let entry = platform_handle_find_any(token) else { return .nothing }
        return platform_handle_has_flag(entry) ? partLock.with { dropHost(token, entry) } : dropHost(token, entry)
    }

    @inline(__always)
    private static func dropHost(_ token: Token, _ entry: HandleEntry) -> Dropped {
        let owner = entry.pointee.owner
        switch platform_handle_drop_host(entry) {
        case 0: return .nothing
        case 1: break
        default: return .oneOfMany
        }
        var word: UInt64 = 0
        let hasEnded = platform_handle_release(token, &word)
        return .last(Rest(index: platform_handle_index(token), owner: owner, ended: hasEnded ? word : 0))
    }

    /// Disposes of what a handle stood for: here, or, when it is confined to a context whose thread this is not, at the
    /// context's next call.
    private static func dispose(_ index: UInt32, _ owner: UnsafeMutableRawPointer?, _ word: UInt64) {
        let type = HandleType(ended: word)
        var context: Context?
        if type.isConfined, word & UInt64(PLATFORM_HANDLE_FLAG) == 0, let owner {
            let isElsewhere = Unmanaged<ContextBox>.fromOpaque(owner)._withUnsafeGuaranteedRef { box in
                // A hook may release the object for which it is called, which its caller still needs.
                if box.isOnQueue && !box.context.isInHook {
                    if type == .results { context = box.context }
                    return false
                }
                platform_handle_push(box.pendingReleases, index)
                return true
            }
            if isElsewhere { return }
        }
        // Stores hear of all the objects of results together.
        guard let context else { return finish(index, isRetained: type.isRetained) }
        context.tellingTogether(true) { finish(index, isRetained: type.isRetained) }
    }

    /// Disposes of what other threads released. On the context's queue, or at its end.
    static func drain(_ head: UnsafeMutablePointer<UInt64>) {
        var index = UInt32(truncatingIfNeeded: platform_handle_take_all(head))
        while index != 0, let entry = platform_handle_at(index) {
            let next = entry.pointee.link
            finish(index, isRetained: true)
            index = next
        }
    }
}

// MARK: - Loans

/// A handle that a callback may use while it runs: a reference of the host's that the library gives up afterwards.
struct Loan {
    let handle: Handle?
    /// Whether the host held references before.
    let wasHeld: Bool

    /// On the object's queue.
    init(_ object: ManagedObject) throws {
        try self.init(of: Token(object.hostSlot)) { try ownedHandle(object) }
    }

    /// - Parameters:
    ///   - token: the token that the object had before, or 0.
    ///   - make: returns a handle with one more reference of the host's.
    init(of token: Token, _ make: () throws -> Handle?) throws {
        wasHeld = platform_handle_find_any(token).map { platform_handle_hosts($0) > 0 } ?? false
        handle = try make()
    }

    func end() { HandleTable.endLoan(token(handle), wasHeld: wasHeld) }
}

/// Lends an object to a callback.
@discardableResult
func lend<Result>(_ object: ManagedObject, to body: (Handle?) throws -> Result) throws -> Result {
    let loan = try Loan(object)
    defer { loan.end() }
    return try body(loan.handle)
}
