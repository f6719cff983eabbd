import CPlatform
import CorestoneModel

/// The notices to custom stores about registered and deregistered objects.
///
/// They are collected until the operations that delay them have ended.
struct RegistrationNotices {
    enum Kind { case registered, unregistered }
    typealias Notice = (kind: Kind, store: Store, ids: [ObjectID])

    /// The number of nested operations that delay the notices. If 0, `send` is called for each notice.
    var holders = 0
    private var waiting: [Notice] = []

    mutating func add(_ kind: Kind, _ ids: [ObjectID], in store: Store) {
        if let last = waiting.last, last.kind == kind, last.store === store {
            waiting[waiting.count - 1].ids += ids
        } else {
            waiting.append((kind, store, ids))
        }
    }

    /// Sends the notices at the end of the outermost library call.
    ///
    /// Objects can be deallocated at any time, and the notified store may use the context. Outside of such a call, as
    /// in Swift applications, the notices are sent immediately.
    ///
    /// - Parameter coordinator: The coordinator, which is retained until the notices are sent, so that the stores stay
    ///   open if the context is deallocated.
    mutating func send(keeping coordinator: Coordinator) {
        if waiting.isEmpty { return }
        let batch = Batch(waiting, coordinator)
        waiting = []
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
    /// Notifies the store of an object's ID, immediately or together with other IDs.
    @inline(never)
    func note(_ kind: RegistrationNotices.Kind, _ object: ManagedObject, in store: Store) {
        note(kind, [object.objectID], in: store)
    }

    func note(_ kind: RegistrationNotices.Kind, _ ids: [ObjectID], in store: Store) {
        if ids.isEmpty { return }
        notices.add(kind, ids, in: store)
        if notices.holders == 0 { notices.send(keeping: context.coordinator) }
    }

    /// Notifies stores of the saved objects that the context is about to deregister.
    func noteUnregistered(_ objects: [ManagedObject]) {
        for object in objects where !object.state.contains(.inserted) {
            guard let store = object.store, store.observesRegistrations else { continue }
            notices.add(.unregistered, [object.objectID], in: store)
        }
        if notices.holders == 0 { notices.send(keeping: context.coordinator) }
    }

    func holdNotices() { notices.holders += 1 }

    func sendNotices() {
        notices.holders -= 1
        if notices.holders == 0 { notices.send(keeping: context.coordinator) }
    }
}

extension Context {
    /// Runs `body` and then sends its notices, with one call for consecutive notices of the same kind and store.
    @inline(__always)
    package func batchingNotices<Result>(_ isNeeded: Bool, _ body: () throws -> Result) rethrows -> Result {
        if !isNeeded { return try body() }
        identityMap.holdNotices()
        defer { identityMap.sendNotices() }
        return try body()
    }
}
