import CorestoneModel
import CorestoneValues

extension ManagedObject {
    /// Calls `handler` whenever the property at the end of a path changes, or an object on the path does, until the token is
    /// cancelled or ends, or the object leaves its context. The token keeps the object.
    ///
    /// A path is a property, or to-one relationships that lead to one. Each change is told on its own, when it is done on both
    /// sides of a relationship, saved or not; of a refresh what differs by it. The handler may do what it likes, cancel its
    /// observation too; it is not called more than 8 times within itself.
    public func observe(
        keyPath: String, options: ObservationOptions = [], _ handler: @escaping (ManagedObject, ValueChange) -> Void
    ) throws -> Observation {
        if isGone { throw gone() }
        guard let context else {
            throw CoreError(
                .invalidArgument,
                "\(entity.name) \(objectID.uri) is not in a context and cannot be observed; insert it first",
                entity: entity.name, key: keyPath, objectURI: objectID.uri)
        }
        try context.checkQueue()
        let observers = context.ownObservers()
        observers.sweep()
        let observer = ObjectObserver(keyPath, options, observers, handler)
        // From here on its end takes it out of the list.
        let token = Observation(observer)
        try observer.begin(at: self)
        return token
    }

    /// Called for objects with `.observed` before a property changes.
    func willChangeObserved(_ slot: Int) { willChangeObserved(slot, asSetting: false) }

    /// Called for objects with `.observed` after a property changed.
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

    /// Runs what gives the object other values at once, not by setting them: observers hear of those that differ.
    func replacingValues<Result>(_ body: () throws -> Result) rethrows -> Result {
        guard state.contains(.observed), let observers = context?.observation.objects else { return try body() }
        return try observers.replacing(of: [self], body)
    }

    /// The same for what reads the newest row, on both sides of relationships. A row that is gone is no change to tell of; of
    /// a fault without a row nobody has seen values.
    func refreshingValues(_ body: () throws -> Void) throws {
        guard state.contains(.observed), record != nil, let observers = context?.observation.objects else {
            return try together(body)
        }
        try observers.together(of: self) {
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

    /// Runs what gives a list other members at once; observers are notified of the differences, if the list was read.
    func replacingMembers(of keeper: ToManyRelationship, _ body: () -> Void) {
        guard keeper.isLoaded, state.contains(.observed), let observers = context?.observation.objects else {
            return body()
        }
        observers.replacing(Int(keeper.relationship.slot), of: [self], body)
    }

    /// Has the members of a list read again when next asked; those of an observed list at the end of the operation that runs.
    func rereadMembers(of keeper: ToManyRelationship) { replacingMembers(of: keeper) { keeper.reload() } }

    /// Runs an operation that changes both sides of a relationship; observers are told at its end. Costs one look where nobody
    /// observes anything in the context.
    @inline(__always)
    func together<Result>(_ body: () throws -> Result) throws -> Result {
        guard let context else { return try body() }
        let observers = Unmanaged.passUnretained(context)._withUnsafeGuaranteedRef { $0.observation.objects }
        guard let observers else { return try body() }
        return try observers.together(of: self, body)
    }

    /// The members of a relationship are set as a whole: one change for observers, whatever it consists of.
    func settingMembers(of relationship: Relationship, _ body: () throws -> Void) throws {
        try replacing(relationship, asSetting: true, body)
    }

    /// Runs what takes members out and in: one change for observers.
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
    /// Runs an operation on many objects; observers are told at its end.
    func together<Result>(_ body: () throws -> Result) throws -> Result {
        guard let observers = observation.objects else { return try body() }
        return try observers.together(body)
    }

    /// Runs what gives objects other values at once: the former value at the end of a path is the one before all of them.
    func replacingValues<Result>(of objects: [ManagedObject], _ body: () throws -> Result) rethrows -> Result {
        guard let observers = observation.objects else { return try body() }
        return try observers.replacing(of: objects.filter { $0.state.contains(.observed) }, body)
    }

    func ownObservers() -> ObjectObservers {
        if let observers = observation.objects { return observers }
        let fresh = ObjectObservers(owner)
        observation.objects = fresh
        return fresh
    }
}
