import CPlatform
import CorestoneModel

/// Notices to the stores of hosts of a context's objects, kept until what happens together has happened.
struct RegistrationNotices {
    enum Kind { case registered, unregistered }
    typealias Notice = (kind: Kind, store: Store, ids: [ObjectID])

    /// How many wait for it, each within the other; 0: notices go at once.
    var holders = 0
    private var waiting: [Notice] = []

    mutating func add(_ kind: Kind, _ ids: [ObjectID], in store: Store) {
        if let last = waiting.last, last.kind == kind, last.store === store {
            waiting[waiting.count - 1].ids += ids
        } else {
            waiting.append((kind, store, ids))
        }
    }

    /// Sends them at the end of the outermost call: an object may end in the middle of anything, and a store that hears of it may
    /// use the context. Without a call, of a Swift host, at once.
    /// - Parameter coordinator: keeps the stores open until then, also when the context ends.
    mutating func send(keeping coordinator: Coordinator) {
        if waiting.isEmpty { return }
        let batch = Batch(waiting, coordinator)
        waiting = []
        platform_call_defer(
            { batch, _, _ in
                guard let batch = UnsafeRawPointer(bitPattern: UInt(batch)) else { return }
                Unmanaged<Batch>.fromOpaque(batch).takeRetainedValue().tell()
            }, UInt64(UInt(bitPattern: Unmanaged.passRetained(batch).toOpaque())), 0, 0)
    }

    private final class Batch {
        private let notices: [Notice]
        private let coordinator: Coordinator

        init(_ notices: [Notice], _ coordinator: Coordinator) {
            (self.notices, self.coordinator) = (notices, coordinator)
        }

        func tell() {
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

extension Context {
    /// Tells the store of an object's ID, or later, of others with it.
    @inline(never)
    func note(_ kind: RegistrationNotices.Kind, _ object: ManagedObject, in store: Store) {
        note(kind, [object.objectID], in: store)
    }

    func note(_ kind: RegistrationNotices.Kind, _ ids: [ObjectID], in store: Store) {
        if ids.isEmpty { return }
        identityMap.notices.add(kind, ids, in: store)
        if identityMap.notices.holders == 0 { identityMap.notices.send(keeping: coordinator) }
    }

    /// Of objects that the context is about to give up, those which stores have heard of.
    func noteUnregistered(_ objects: [ManagedObject]) {
        for object in objects where !object.state.contains(.inserted) {
            guard let store = object.store, store.hearsRegistrations else { continue }
            identityMap.notices.add(.unregistered, [object.objectID], in: store)
        }
        if identityMap.notices.holders == 0 { identityMap.notices.send(keeping: coordinator) }
    }

    /// Runs `body`; stores hear of its objects when it is done, in one call for those that follow each other.
    @inline(__always)
    package func tellingTogether<Result>(_ someStoreHears: Bool, _ body: () throws -> Result) rethrows -> Result {
        if !someStoreHears { return try body() }
        holdNotices()
        defer { sendNotices() }
        return try body()
    }

    func holdNotices() { identityMap.notices.holders += 1 }

    func sendNotices() {
        identityMap.notices.holders -= 1
        if identityMap.notices.holders == 0 { identityMap.notices.send(keeping: coordinator) }
    }
}
