import CPlatform
import CorestoneModel
import CorestoneValues

/// Notices to the stores of hosts of a context's objects, kept until what happens together has happened.
final class RegistrationNotices: @unchecked Sendable {
    enum Kind { case registered, unregistered }
    typealias Notice = (kind: Kind, store: Store, ids: [ObjectID])

    private struct State {
        var waiting: [Notice] = []
        /// Whether the end of a call will send them.
        var isAtEndOfCall = false
    }

    /// How many wait for it, each within the other; 0: notices go at once. The context's own.
    var holders = 0
    private let state = Locked(State())

    func add(_ kind: Kind, _ ids: [ObjectID], in store: Store) {
        state.withLock { state in
            if let last = state.waiting.last, last.kind == kind, last.store === store {
                state.waiting[state.waiting.count - 1].ids += ids
            } else {
                state.waiting.append((kind, store, ids))
            }
        }
    }

    /// Sends them at the end of the outermost call: an object may end in the middle of anything, and a store that hears of it may
    /// use the context. Without a call, of a Swift host, at once.
    func send() {
        let isFirst = state.withLock { state in
            if state.waiting.isEmpty || state.isAtEndOfCall { return false }
            state.isAtEndOfCall = platform_call_depth() > 0
            return true
        }
        guard isFirst else { return }
        platform_call_defer(
            { notices, _, _ in
                guard let notices = UnsafeRawPointer(bitPattern: UInt(notices)) else { return }
                Unmanaged<RegistrationNotices>.fromOpaque(notices).takeRetainedValue().sendNow()
            }, UInt64(UInt(bitPattern: Unmanaged.passRetained(self).toOpaque())), 0, 0)
    }

    private func sendNow() {
        let notices = state.withLock { state in
            defer { state = State() }
            return state.waiting
        }
        for (kind, store, ids) in notices {
            switch kind {
            case .registered: store.backing.didRegister(ids)
            case .unregistered: store.backing.didUnregister(ids)
            }
        }
    }
}

extension Context {
    /// Tells the store of an object's ID, or later, of others with it.
    @inline(never)
    func note(_ kind: RegistrationNotices.Kind, _ object: ManagedObject, in store: Store) {
        note(kind, [object.objectID], in: store)
    }

    func note(_ kind: RegistrationNotices.Kind, _ ids: [ObjectID], in store: Store) {
        if ids.isEmpty { return }
        notices.add(kind, ids, in: store)
        if notices.holders == 0 { notices.send() }
    }

    /// Of objects that the context is about to give up, those which stores have heard of.
    func noteUnregistered(_ objects: [ManagedObject]) {
        for object in objects where !object.state.contains(.inserted) {
            guard let store = object.store, store.hearsRegistrations else { continue }
            notices.add(.unregistered, [object.objectID], in: store)
        }
        if notices.holders == 0 { notices.send() }
    }

    /// Runs `body`; stores hear of its objects when it is done, in one call for those that follow each other.
    @inline(__always)
    package func tellingTogether<Result>(_ someStoreHears: Bool, _ body: () throws -> Result) rethrows -> Result {
        if !someStoreHears { return try body() }
        holdNotices()
        defer { sendNotices() }
        return try body()
    }

    func holdNotices() { notices.holders += 1 }

    func sendNotices() {
        notices.holders -= 1
        if notices.holders == 0 { notices.send() }
    }
}
