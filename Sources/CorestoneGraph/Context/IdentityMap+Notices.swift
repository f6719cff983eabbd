import CPlatform
import CorestoneModel

/// The notices to custom stores about registered and deregistered objects.
///
/// They are collected until the operations that delay them have ended.
struct RegistrationNotices {
    enum Kind { case registered, unregistered }
    typealias Notice = (kind: Kind, store: Store, ids: [ObjectID])

    /// The number of nested operations that delay the notices. If 0, new notices are passed to `send` immediately.
    var holders = 0
    private var pending: [Notice] = []

    mutating func add(_ kind: Kind, _ ids: [ObjectID], in store: Store) {
        if let last = pending.last, last.kind == kind, last.store === store {
            pending[pending.count - 1].ids += ids
        } else {
            pending.append((kind, store, ids))
        }
    }

    /// Removes and returns the notices that wait, if no operation delays them.
    mutating func takePending() -> [Notice] {
        if holders > 0 { return [] }
        defer { pending = [] }
        return pending
    }

    /// Sends notices at the end of the outermost library call.
    ///
    /// They are not sent earlier, because an object can be deallocated in the middle of an operation, and the notified
    /// store may use the context. Outside of library calls, as in Swift applications, the notices are sent immediately.
    ///
    /// The notified store may cause new notices, so the caller must not access these notices meanwhile.
    ///
    /// - Parameter coordinator: The coordinator, which is retained until the notices are sent, so that the stores stay
    ///   open if the context is deallocated.
    static func send(_ pending: [Notice], keeping coordinator: Coordinator) {
        if pending.isEmpty { return }
        let batch = Batch(pending, coordinator)
        platform_call_defer(
            { batch, _, _ in
                guard let batch = UnsafeRawPointer(bitPattern: UInt(batch)) else { return }
                Unmanaged<Batch>.fromOpaque(batch).takeRetainedValue().notify()
            }, UInt64(UInt(bitPattern: Unmanaged.passRetained(batch).toOpaque())), 0, 0)
    }

    /// Notices that are sent when the outermost call ends.
    private final class Batch {
        private let notices: [Notice]
        private let coordinator: Coordinator

        init(_ notices: [Notice], _ coordinator: Coordinator) {
            (self.notices, self.coordinator) = (notices, coordinator)
        }

        func notify() {
            for (kind, store, ids) in notices {
                switch kind {
                case .registered: store.backing.didRegister(ids)
                case .unregistered: store.backing.didUnregister(ids)
                }
            }
            withExtendedLifetime(coordinator) {}
        }
    }
}

extension IdentityMap {
    /// Adds a notice that an object was registered or deregistered, which is sent as described at `send`.
    @inline(never)
    func note(_ kind: RegistrationNotices.Kind, _ object: ManagedObject, in store: Store) {
        note(kind, [object.objectID], in: store)
    }

    func note(_ kind: RegistrationNotices.Kind, _ ids: [ObjectID], in store: Store) {
        if ids.isEmpty { return }
        notices.add(kind, ids, in: store)
        sendPendingNotices()
    }

    /// Notifies stores of the saved objects that the context is about to deregister.
    func noteUnregistered(_ objects: [ManagedObject]) {
        for object in objects where !object.state.contains(.inserted) {
            guard let store = object.store, store.observesRegistrations else { continue }
            notices.add(.unregistered, [object.objectID], in: store)
        }
        sendPendingNotices()
    }

    private func sendPendingNotices() {
        let pending = notices.takePending()
        if !pending.isEmpty { RegistrationNotices.send(pending, keeping: context.coordinator) }
    }

    func holdNotices() { notices.holders += 1 }

    func sendNotices() {
        notices.holders -= 1
        sendPendingNotices()
    }
}

extension Context {
    /// Runs `body` and delays the notices until the end of the outermost call of this function.
    ///
    /// Consecutive notices of the same kind and store are sent together. If `isNeeded` is false, this call does not delay
    /// them.
    @inline(__always)
    package func batchingNotices<Result>(_ isNeeded: Bool, _ body: () throws -> Result) rethrows -> Result {
        if !isNeeded { return try body() }
        identityMap.holdNotices()
        defer { identityMap.sendNotices() }
        return try body()
    }
}
