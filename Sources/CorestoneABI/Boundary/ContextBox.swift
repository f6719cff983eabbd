import CCorestone
import CPlatform
import CorestoneGraph
import CorestoneValues

/// The object behind a `cst_context`.
///
/// The box is alive as long as the host has its handle or a handle that depends on it, for example of an object, as
/// long as its handle is borrowed, or as long as work of the host is enqueued on the context's queue.
final class ContextBox {
    let context: Context
    /// The token of the coordinator's handle, retained for `cst_context_coordinator`.
    let coordinatorToken: HandleToken
    /// The box of the parent context, which a nested context keeps alive; nil for other contexts.
    let parent: ContextBox?
    /// The head of the list of objects that other threads released. They are freed at the next call.
    let pendingReleases: UnsafeMutablePointer<UInt64>
    /// Handles of the temporary contexts of a running request, for callbacks that receive their objects.
    private var temporaryContexts: [Handle?] = []

    /// Creates a box, which takes ownership of one of the library's references to the coordinator's token.
    init(_ context: Context, coordinatorToken: HandleToken, parent: ContextBox? = nil) {
        self.context = context
        self.parent = parent
        self.coordinatorToken = coordinatorToken
        pendingReleases = PendingReleases.head(of: context)
        context.hostSlot.box = self
    }

    deinit {
        // Other threads and the queue can no longer use the context, so this thread may free objects that other threads
        // released.
        HandleTable.drain(pendingReleases)
        context.detachHost()
        if context.hostSlot.value != 0 { boxLock.with { HandleTable.release(HandleToken(context.hostSlot.value)) } }
        // Locks that the host did not release would block work of the library, such as the autosave of a document.
        context.releaseLocks()
        HandleTable.release(coordinatorToken)
    }

    var handle: Handle? { CorestoneABI.handle(HandleToken(context.hostSlot.value)) }

    /// Retains the box of a context's token, unless the box is being freed.
    ///
    /// Used for work that the library starts on the context's queue.
    static func retainHandle(_ token: UInt) -> HandleRetention {
        boxLock.with {
            guard let entry = platform_handle_find(HandleToken(token), HandleType.context.rawValue) else {
                return .none
            }
            guard let box = swift_tryRetain(entry.pointee.object) else { return .beingReleased }
            return .retained(Unmanaged<ContextBox>.fromOpaque(box).takeRetainedValue())
        }
    }

    /// Creates the handle with a reference for the host.
    ///
    /// The box also owns a reference, so that the handle can be borrowed.
    func makeHandle() throws -> Handle? {
        let made = try HandleTable.make(self, .context, owner: self)
        _ = HandleTable.retain(token(made))
        context.hostSlot.value = UInt(token(made))
        return made
    }

    /// Creates the borrowed handle of a context, for example the view context of a container.
    ///
    /// The host does not own a reference, so it cannot release more references than it added.
    func makeBorrowedHandle() throws -> Handle? {
        context.hostSlot.value = UInt(try HandleTable.makeInner(self, .context, owner: self))
        return handle
    }

    /// Runs `body`, which executes a request.
    ///
    /// Temporary contexts that the request created are then closed, so that their objects can no longer be used.
    func closingTemporaryContexts<Result>(_ body: () throws -> Result) throws -> Result {
        let former = temporaryContexts
        temporaryContexts = []
        defer {
            for temporary in temporaryContexts {
                (try? contextBox(temporary))?.context.end()
                HandleTable.releaseForHost(token(temporary))
            }
            temporaryContexts = former
        }
        return try body()
    }

    /// Creates the box of a temporary context of a request.
    func makeTemporaryBox(_ context: Context) throws -> ContextBox {
        guard HandleTable.retain(coordinatorToken) else {
            throw CoreError(
                .internal,
                "the coordinator's handle was released while a context needed it; report it as a defect of the library")
        }
        let box = ContextBox(context, coordinatorToken: coordinatorToken)
        temporaryContexts.append(try box.makeHandle())
        return box
    }

    @inline(__always)
    var isOnQueue: Bool { context.ownerThread == platform_thread_id() }

    /// Throws unless the calling thread may use the context, then frees objects that other threads released.
    @inline(__always)
    func enter() throws {
        try context.checkQueue()
        // A call within a callback does not free them, because the outermost call may be using them.
        if platform_load64(pendingReleases) != 0 && platform_call_depth() <= 1 && !context.isInHook {
            context.batchingNotices(true) { HandleTable.drain(pendingReleases) }
        }
    }
}

/// The lock that is held while the token of a box is released. If a thread that holds the lock finds the token, the
/// memory of the box is still allocated.
private let boxLock = RecursiveLock(.leaf)

/// Returns the box of a handle.
///
/// Throws if the box is being freed. Destructors of the host that run meanwhile may call any function, but Swift can no
/// longer retain the box.
func contextBox(_ pointer: Handle?) throws -> ContextBox {
    guard let entry = platform_handle_find(token(pointer), HandleType.context.rawValue) else {
        throw invalidHandle(pointer, .context)
    }
    guard let box = swift_tryRetain(entry.pointee.object) else {
        throw CoreError(
            .invalidHandle,
            "the context is being freed because its last handle was released; retain the context with cst_retain "
                + "while it is in use")
    }
    return Unmanaged<ContextBox>.fromOpaque(box).takeRetainedValue()
}

/// Returns the box of a handle, after `enter`. Throws if the calling thread may not use the context.
@inline(__always)
func onQueue(_ pointer: Handle?) throws -> ContextBox {
    let box = try contextBox(pointer)
    try box.enter()
    return box
}
