import CorestoneModel
import CorestoneValues

// Each of these costs the test of one bit where the entity has no such hook.
extension ManagedObject {
    /// For who took the object into its context.
    public func sendAwakeFromInsert() throws {
        if entity.has(.awakeFromInsert) { try awake(lifecycle.hooks.awakeFromInsert) }
    }

    /// For who made a fault an object with values.
    public func sendAwakeFromFetch() throws {
        if entity.has(.awakeFromFetch) { try awake(lifecycle.hooks.awakeFromFetch) }
    }

    /// For who gave the object another state as a whole.
    public func sendAwake(fromSnapshotEvents events: SnapshotEvents) throws {
        guard entity.has(.awakeFromSnapshotEvents), let hook = lifecycle.hooks.awakeFromSnapshotEvents else { return }
        try awake { try hook($0, events) }
    }

    /// For who marks the object deleted, before that. A deletion of the object that the hook itself asks for is the one that
    /// is under way.
    func sendPrepareForDeletion() throws {
        guard entity.has(.prepareForDeletion), state.insert(.preparing).inserted else { return }
        defer { state.remove(.preparing) }
        try run(lifecycle.hooks.prepareForDeletion)
    }

    func sendWillSave() throws { if entity.has(.willSave) { try run(lifecycle.hooks.willSave) } }

    /// For who drops the object's values, before that. What the hook throws, the context throws at the end of the call.
    func sendWillTurnIntoFault() { if entity.has(.willTurnIntoFault) { attempt(lifecycle.hooks.willTurnIntoFault) } }

    /// For who dropped the object's values.
    func sendDidTurnIntoFault(in context: Context?) {
        if entity.has(.didTurnIntoFault) { attempt(lifecycle.hooks.didTurnIntoFault, in: context) }
    }

    func sendDidSave(in context: Context) { if entity.has(.didSave) { attempt(lifecycle.hooks.didSave, in: context) } }

    /// Lets the host set something else where null was to be set; false when it has no hook for that, when the hook itself
    /// sets null, or when the attribute is no scalar: then null is the value.
    func sendSetNil(_ slot: Int) throws -> Bool {
        guard entity.has(.setNilValue), let hook = lifecycle.hooks.setNilValue, entity.attribute(slot).isScalar,
            state.insert(.settingNil).inserted
        else { return false }
        defer { state.remove(.settingNil) }
        let name = entity.attribute(slot).path
        try run { try hook($0, name) }
        return true
    }

    /// Asked for only where the entity has a hook.
    private var lifecycle: Lifecycle { unsafeDowncast(entity.allHooks.unsafelyUnwrapped, to: Lifecycle.self) }

    private func awake(_ hook: LifecycleHooks.Hook?) throws {
        guard let context else { return try run(hook) }
        try context.withoutTracking { try run(hook) }
        if state.contains(.gone) { throw gone() }
    }

    private func run(_ hook: LifecycleHooks.Hook?, in place: Context? = nil) throws {
        guard let hook else { return }
        guard let context = place ?? context else { return try hook(self) }
        try context.whileHookRuns(of: self) {
            do { try hook(self) } catch let error as CoreError where error.entity == nil && error.objectURI == nil {
                throw error.about(self)
            }
        }
    }

    /// Runs a hook in the midst of something that goes on whatever it throws.
    private func attempt(_ hook: LifecycleHooks.Hook?, in place: Context? = nil) {
        do { try run(hook, in: place) } catch { (place ?? context)?.noteHookFailure(error) }
    }
}

extension Attribute {
    /// Whether the value is a number or a truth value, for which a host's class may have no nil. Models say so by
    /// `usesScalarValueType`, and mostly leave it out.
    var isScalar: Bool {
        switch type {
        case .integer16, .integer32, .integer64, .double, .float, .boolean:
            extras.attributes["usesScalarValueType"] != "NO"
        default: false
        }
    }
}
