import CorestoneGraph
import CorestoneModel
import CorestoneValues

extension Model {
    /// Registers classes whose lifecycle hooks, such as `willSave()`, are called for the objects of their entities.
    ///
    /// An object uses the class of its entity, or of the nearest superentity whose class is bound.
    ///
    /// - Parameter hooks: The hooks to be called. Leave out hooks that no class overrides, because each call costs
    ///   time.
    /// - Throws: `.invalidArgument` if the model does not have the entity.
    ///   `.model` if the model is frozen.
    public func bind(_ classes: EntityObject.Type..., hooks: HookKinds = .all) throws {
        for kind in classes { try requireEntity(named: kind.entityName).setLifecycle(LifecycleHooks(of: kind, hooks)) }
    }
}

extension LifecycleHooks {
    /// Creates hooks that call the methods of a class.
    fileprivate init(of kind: EntityObject.Type, _ kinds: HookKinds) {
        self.init()
        func hook(_ one: HookKinds, _ body: @escaping @Sendable (EntityObject) throws -> Void) -> Hook? {
            guard kinds.contains(one) else { return nil }
            return { object in try body(kind.init(object)) }
        }
        awakeFromInsert = hook(.awakeFromInsert) { try $0.awakeFromInsert() }
        awakeFromFetch = hook(.awakeFromFetch) { try $0.awakeFromFetch() }
        willSave = hook(.willSave) { try $0.willSave() }
        didSave = hook(.didSave) { try $0.didSave() }
        prepareForDeletion = hook(.prepareForDeletion) { try $0.prepareForDeletion() }
        willTurnIntoFault = hook(.willTurnIntoFault) { try $0.willTurnIntoFault() }
        didTurnIntoFault = hook(.didTurnIntoFault) { try $0.didTurnIntoFault() }
        if kinds.contains(.awakeFromSnapshotEvents) {
            awakeFromSnapshotEvents = { try kind.init($0).awake(fromSnapshotEvents: $1) }
        }
        if kinds.contains(.setNilValue) { setNilValue = { try kind.init($0).setNilValue(forKey: $1) } }
        guard kinds.contains(.validate) else { return }
        validate = { object, purpose in
            let typed = kind.init(object)
            switch purpose {
            case .insert: try typed.validateForInsert()
            case .update: try typed.validateForUpdate()
            case .delete: try typed.validateForDelete()
            }
        }
        for key in kind.validatedKeys {
            validateValue[key] = { object, value, _ in try kind.init(object).validate(value, forKey: key) }
        }
    }
}
