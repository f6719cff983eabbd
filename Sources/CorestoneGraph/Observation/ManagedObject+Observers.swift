import CorestoneModel
import CorestoneValues

extension ManagedObject {
    /// Calls `handler` when a property on a key path changes.
    ///
    /// The observation ends when the token is cancelled or released, or when the object leaves its context. The token
    /// retains the object.
    ///
    /// A key path is a property, or to-one relationships followed by a property. Each change in memory is reported
    /// separately, after both sides of a relationship are updated. A refresh reports the values that differ.
    ///
    /// The handler may use and change the context, with the exceptions of `ObservationOptions.prior`, and may cancel
    /// its observation. A handler is not called recursively more than 8 times.
    ///
    /// - Throws: `.objectGone` if the object has left its context.
    ///   `.invalidArgument` if the object is not in a context, or if the key path cannot be observed.
    ///   `.wrongThread` on a thread other than the context's.
    ///   The errors of reading the objects on the path.
    public func observe(
        keyPath: String, options: ObservationOptions = [], _ handler: @escaping (ManagedObject, ValueChange) -> Void
    ) throws -> Observation {
        if isGone { throw detachedError() }
        guard let context else {
            throw CoreError(
                .invalidArgument,
                "\(entity.name) \(objectID.uri) is not in a context and cannot be observed; insert it with "
                    + "cst_context_insert_object (insert_object, insert) first",
                entity: entity.name, key: keyPath, objectURI: objectID.uri)
        }
        try context.checkQueue()
        let observers = context.ownObservers()
        observers.sweep()
        let observer = ObjectObserver(keyPath, options, observers, handler)
        // From now on, the release of the token removes the observer from the list.
        let token = Observation(observer)
        try observer.begin(at: self)
        return token
    }

    /// Notifies observers before a property of an observed object changes.
    func willChangeObserved(_ slot: Int) { willChangeObserved(slot, asSetting: false) }

    /// Notifies observers after a property of an observed object has changed.
    func didChangeObserved(_ slot: Int) { didChangeObserved(slot, asSetting: false) }

    func willChangeObserved(_ slot: Int, asSetting: Bool) {
        guard let observers = context?.observation.objects else { return }
        observers.sweep()
        for case let link? in observers.links(of: self) where link.slots.contains(slot) {
            link.observer.willChange(link, asSetting: asSetting)
        }
    }

    func didChangeObserved(_ slot: Int, asSetting: Bool) {
        guard let observers = context?.observation.objects else { return }
        for case let link? in observers.links(of: self) where link.slots.contains(slot) {
            link.observer.didChange(link, asSetting: asSetting)
        }
    }

    /// Runs `body`, which replaces values without setting them individually.
    ///
    /// Observers are notified of values that differ.
    func replacingValues<Result>(_ body: () throws -> Result) rethrows -> Result {
        guard state.contains(.observed), let observers = context?.observation.objects else { return try body() }
        return try observers.replacing(of: [self], body)
    }

    /// Runs `body`, which reads the newest row, and notifies observers of differences.
    ///
    /// Differences on both sides of relationships are reported. A missing row is not reported as a change. If the row
    /// of the object is not in memory, its values are not compared.
    func refreshingValues(_ body: () throws -> Void) throws {
        guard state.contains(.observed), record != nil, let observers = context?.observation.objects else {
            return try together("refresh", body)
        }
        try observers.together("refresh", of: self) {
            let links = observers.links(of: self)
            for case let link? in links { link.observer.willReplace(link) }
            defer {
                for case let link? in links {
                    if record == nil {
                        link.observer.forgetChange(link)
                    } else {
                        link.observer.didChange(link, ifDifferent: true)
                    }
                }
            }
            try body()
        }
    }

    /// Runs `body`, which replaces the members of a relationship.
    ///
    /// Observers are notified of the differences if the members were loaded.
    func replacingMembers(of collection: ToManyRelationship, _ body: () -> Void) {
        guard collection.isLoaded, state.contains(.observed), let observers = context?.observation.objects else {
            return body()
        }
        observers.replacing(Int(collection.relationship.slot), of: [self], body)
    }

    /// Makes the next access read the members of a relationship again.
    ///
    /// Loaded members of an observed relationship are read again at the end of the current operation.
    func rereadMembers(of collection: ToManyRelationship) { replacingMembers(of: collection) { collection.reload() } }

    /// Runs an operation that changes both sides of a relationship, then notifies observers.
    ///
    /// If the context does not have observers of objects, the only cost is one test.
    ///
    /// - Parameter purpose: Completes "cannot …", before the object.
    @inline(__always)
    func together<Result>(
        _ purpose: String = "change relationships of", _ body: () throws -> Result
    ) throws -> Result {
        guard let context else { return try body() }
        let observers = Unmanaged.passUnretained(context)._withUnsafeGuaranteedRef { $0.observation.objects }
        guard let observers else { return try body() }
        return try observers.together(purpose, of: self, body)
    }

    /// Runs `body`, which sets all members of a relationship. Observers are notified of one change.
    func settingMembers(of relationship: Relationship, _ body: () throws -> Void) throws {
        try replacing(relationship, asSetting: true, body)
    }

    /// Runs `body`, which adds and removes members. Observers are notified of one change.
    func replacing(_ relationship: Relationship, asSetting: Bool = false, _ body: () throws -> Void) throws {
        try together {
            guard state.contains(.observed) else { return try body() }
            willChangeObserved(Int(relationship.slot), asSetting: asSetting)
            defer { didChangeObserved(Int(relationship.slot), asSetting: asSetting) }
            try body()
        }
    }
}

extension Context {
    /// Runs an operation, then notifies observers.
    ///
    /// - Parameters:
    ///   - purpose: Completes "cannot …", before the object if there is one.
    ///   - object: The object that `body` changes; nil for several objects.
    func together<Result>(
        _ purpose: String, of object: ManagedObject? = nil, _ body: () throws -> Result
    ) throws -> Result {
        guard let observers = observation.objects else { return try body() }
        return try observers.together(purpose, of: object, body)
    }

    /// Runs `body`, which replaces values of several objects.
    ///
    /// The former value of a key path is the value before all replacements.
    func replacingValues<Result>(of objects: [ManagedObject], _ body: () throws -> Result) rethrows -> Result {
        guard let observers = observation.objects else { return try body() }
        return try observers.replacing(of: objects.filter { $0.state.contains(.observed) }, body)
    }

    func ownObservers() -> ObjectObservers {
        if let observers = observation.objects { return observers }
        let fresh = ObjectObservers(owner)
        observation.begin(fresh)
        return fresh
    }
}
