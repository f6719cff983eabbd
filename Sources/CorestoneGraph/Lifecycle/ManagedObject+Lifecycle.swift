import CorestoneModel
import CorestoneValues

// Each function only tests one bit if the entity does not have the hook.
extension ManagedObject {
    /// Runs the hook after the object was inserted into its context.
    public func sendAwakeFromInsert() throws {
        if entity.has(.awakeFromInsert) { try awake(lifecycle.hooks.awakeFromInsert) }
    }

    /// Runs the hook after the values of a fault were loaded.
    public func sendAwakeFromFetch() throws {
        if entity.has(.awakeFromFetch) { try awake(lifecycle.hooks.awakeFromFetch) }
    }

    /// Runs the hook after the whole state of the object was replaced.
    public func sendAwake(fromSnapshotEvents events: SnapshotEvents) throws {
        guard entity.has(.awakeFromSnapshotEvents), let hook = lifecycle.hooks.awakeFromSnapshotEvents else { return }
        try awake { try hook($0, events) }
    }

    /// Runs the hook before the object is marked as deleted.
    ///
    /// If the hook deletes the object itself, the hook does not run again.
    func sendPrepareForDeletion() throws {
        guard entity.has(.prepareForDeletion), state.insert(.preparing).inserted else { return }
        defer { state.remove(.preparing) }
        try run(lifecycle.hooks.prepareForDeletion)
    }

    func sendWillSave() throws { if entity.has(.willSave) { try run(lifecycle.hooks.willSave) } }

    /// Runs the hook before the object's values are discarded.
    ///
    /// The context throws an error of the hook at the end of the call.
    func sendWillTurnIntoFault() { if entity.has(.willTurnIntoFault) { attempt(lifecycle.hooks.willTurnIntoFault) } }

    /// Runs the hook after the object's values were discarded.
    func sendDidTurnIntoFault(in context: Context?) {
        if entity.has(.didTurnIntoFault) { attempt(lifecycle.hooks.didTurnIntoFault, in: context) }
    }

    func sendDidSave(in context: Context) { if entity.has(.didSave) { attempt(lifecycle.hooks.didSave, in: context) } }

    /// Runs the hook that can replace a null value.
    ///
    /// Returns false if there is no hook, if the hook itself sets null, or if the attribute is not a scalar. The caller
    /// then sets null.
    func sendSetNil(_ slot: Int) throws -> Bool {
        guard entity.has(.setNilValue), let hook = lifecycle.hooks.setNilValue, entity.attribute(slot).isScalar,
            state.insert(.settingNil).inserted
        else { return false }
        defer { state.remove(.settingNil) }
        let name = entity.attribute(slot).path
        try run { try hook($0, name) }
        return true
    }

    /// The hooks of the object's entity. Must only be used if the entity has a hook.
    private var lifecycle: Lifecycle { unsafeDowncast(entity.allHooks.unsafelyUnwrapped, to: Lifecycle.self) }

    private func awake(_ hook: LifecycleHooks.Hook?) throws {
        guard let context else { return try run(hook) }
        try context.withoutTracking { try run(hook) }
        if state.contains(.detached) { throw detachedError() }
    }

    private func run(_ hook: LifecycleHooks.Hook?, in place: Context? = nil) throws {
        guard let hook else { return }
        guard let context = place ?? context else { return try hook(self) }
        try context.whileHookRuns(of: self) {
            do { try hook(self) } catch let error as CoreError where error.entity == nil && error.objectURI == nil {
                throw error.naming(self)
            }
        }
    }

    /// Runs a hook during an operation that continues if the hook throws. The error is recorded.
    private func attempt(_ hook: LifecycleHooks.Hook?, in place: Context? = nil) {
        do { try run(hook, in: place) } catch { (place ?? context)?.noteHookFailure(error) }
    }
}

extension Attribute {
    /// Whether the value is an integer, a floating-point number or a Boolean.
    ///
    /// False if the model sets `usesScalarValueType` to NO. In the application's class, the property of a scalar can be
    /// non-optional.
    var isScalar: Bool {
        switch type {
        case .integer16, .integer32, .integer64, .double, .float, .boolean:
            extras.attributes["usesScalarValueType"] != "NO"
        default: false
        }
    }
}
