import CorestoneModel

/// What the stores of hosts are told of a context's objects, kept until what happens together has happened.
struct RegistrationNotices {
    enum Kind { case registered, unregistered }

    /// How many wait for it, each within the other; 0: notices go at once.
    var holders = 0
    private var waiting: [(kind: Kind, store: Store, ids: [ObjectID])] = []

    var isEmpty: Bool { waiting.isEmpty }

    mutating func add(_ kind: Kind, _ ids: [ObjectID], in store: Store) {
        if let last = waiting.last, last.kind == kind, last.store === store {
            waiting[waiting.count - 1].ids += ids
        } else {
            waiting.append((kind, store, ids))
        }
    }

    mutating func take() -> [(kind: Kind, store: Store, ids: [ObjectID])] {
        defer { waiting = [] }
        return waiting
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
        if notices.holders == 0 { tellNotices() }
    }

    /// Of objects that the context is about to give up, those which stores have heard of.
    func noteUnregistered(_ objects: [ManagedObject]) {
        for object in objects where !object.state.contains(.inserted) {
            guard let store = object.store, store.hearsRegistrations else { continue }
            notices.add(.unregistered, [object.objectID], in: store)
        }
        if notices.holders == 0 { tellNotices() }
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
        if notices.holders == 0 { tellNotices() }
    }

    private func tellNotices() {
        if notices.isEmpty { return }
        for (kind, store, ids) in notices.take() {
            switch kind {
            case .registered: store.backing.didRegister(ids)
            case .unregistered: store.backing.didUnregister(ids)
            }
        }
    }
}
