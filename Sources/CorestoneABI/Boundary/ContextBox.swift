import CCorestone
import CPlatform
import CorestoneGraph
import CorestoneValues

/// A context as hosts know it. It lives as long as the host holds its handle, or one of an object or results of it, or work
/// waits on its queue.
final class ContextBox {
    let context: Context
    /// The coordinator's handle, kept for `cst_context_coordinator`.
    let coordinatorToken: Token
    /// Of a context on top of another one: that one's, which it keeps alive.
    let parent: ContextBox?
    /// What other threads released, to be freed at the next call.
    let pendingReleases: UnsafeMutablePointer<UInt64>
    /// Handles of contexts in which a request of this one works, whose objects the host meets meanwhile.
    private var guests: [Handle?] = []

    /// Takes over a reference of the library's to the coordinator's token.
    init(_ context: Context, coordinatorToken: Token, parent: ContextBox? = nil) {
        self.context = context
        self.parent = parent
        self.coordinatorToken = coordinatorToken
        pendingReleases = context.hostSlot.pendingReleases
        context.hostSlot.box = self
    }

    deinit {
        // Nobody else can use the context now, not even its queue (`hold`), so this thread may free what other threads released.
        HandleTable.drain(pendingReleases)
        context.letGoOfHost()
        if context.hostSlot.value != 0 { boxLock.with { HandleTable.release(Token(context.hostSlot.value)) } }
        // Work of our own may wait for the queue, as that of a document which saves by itself.
        context.giveUpLocks()
        HandleTable.release(coordinatorToken)
    }

    var handle: Handle? { CorestoneABI.handle(Token(context.hostSlot.value)) }

    /// Keeps the box of a context's token, unless it is about to end: for work on the context's queue that nobody called for.
    static func hold(_ token: UInt) -> HostHold {
        boxLock.with {
            guard let entry = platform_handle_find(Token(token), HandleType.context.rawValue) else { return .none }
            guard let box = swift_tryRetain(entry.pointee.object) else { return .ending }
            return .held(Unmanaged<ContextBox>.fromOpaque(box).takeRetainedValue())
        }
    }

    /// Makes the handle, whose first reference is the host's; the box holds one itself, so that it can be lent.
    func makeHandle() throws -> Handle? {
        let made = try HandleTable.make(self, .context, owner: self)
        _ = HandleTable.retain(token(made))
        context.hostSlot.value = UInt(token(made))
        return made
    }

    /// Makes the handle of a context that a container or a document lends: the host owns no reference, so it can give up no
    /// more than it retained.
    func makeLentHandle() throws -> Handle? {
        context.hostSlot.value = UInt(try HandleTable.makeInner(self, .context, owner: self))
        return handle
    }

    /// Runs `body`, which carries out a request. Contexts that it worked in end with it, with all of their objects.
    func withGuests<Result>(_ body: () throws -> Result) throws -> Result {
        let former = guests
        guests = []
        defer {
            for guest in guests {
                (try? contextBox(guest))?.context.end()
                HandleTable.releaseForHost(token(guest))
            }
            guests = former
        }
        return try body()
    }

    /// The box of a context in which a request of this one works.
    func boxOfGuest(_ context: Context) throws -> ContextBox {
        guard HandleTable.retain(coordinatorToken) else {
            throw CoreError(
                .internal,
                "the coordinator's handle was released while a context needed it; report it as a defect of the library")
        }
        let box = ContextBox(context, coordinatorToken: coordinatorToken)
        guests.append(try box.makeHandle())
        return box
    }

    @inline(__always)
    var isOnQueue: Bool { context.ownerThread == platform_thread_id() }

    /// Throws unless the calling thread may use the context, then frees what other threads released.
    @inline(__always)
    func enter() throws {
        try context.checkQueue()
        // A call within a callback leaves them to the outermost one, which may be using them.
        if platform_load64(pendingReleases) != 0 && platform_call_depth() <= 1 && !context.isInHook {
            context.tellingTogether(true) { HandleTable.drain(pendingReleases) }
        }
    }
}

/// Held while the token of a box ends, so that who finds the token finds a box whose memory is there.
private let boxLock = RecursiveLock(.leaf)

/// The box of a handle. Refused when its end has begun: a callback that runs within that end may call anything, and nothing
/// may keep the box then.
func contextBox(_ pointer: Handle?) throws -> ContextBox {
    guard let entry = platform_handle_find(token(pointer), HandleType.context.rawValue) else {
        throw invalidHandle(pointer, .context)
    }
    guard let box = swift_tryRetain(entry.pointee.object) else {
        throw CoreError(
            .invalidHandle,
            "the context is being freed because its last handle was released; retain it with cst_retain while it is in "
                + "use")
    }
    return Unmanaged<ContextBox>.fromOpaque(box).takeRetainedValue()
}

/// The context of a handle, on its queue, with what other threads released freed.
@inline(__always)
func onQueue(_ pointer: Handle?) throws -> ContextBox {
    let box = try contextBox(pointer)
    try box.enter()
    return box
}
