import CorestoneModel
import CorestoneValues

/// Why an object takes over an earlier state, or another one, as a whole.
public struct SnapshotEvents: OptionSet, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    public static let undoInsertion = SnapshotEvents(rawValue: 1 << 1)
    public static let undoDeletion = SnapshotEvents(rawValue: 1 << 2)
    public static let undoUpdate = SnapshotEvents(rawValue: 1 << 3)
    public static let rollback = SnapshotEvents(rawValue: 1 << 4)
    public static let refresh = SnapshotEvents(rawValue: 1 << 5)
    public static let mergePolicy = SnapshotEvents(rawValue: 1 << 6)
}

/// The hooks that an entity can have, a bit each.
public struct HookKinds: OptionSet, Sendable {
    public let rawValue: UInt32
    @inlinable public init(rawValue: UInt32) { self.rawValue = rawValue }

    @inlinable public static var awakeFromInsert: HookKinds { HookKinds(rawValue: 1) }
    @inlinable public static var awakeFromFetch: HookKinds { HookKinds(rawValue: 1 << 1) }
    @inlinable public static var awakeFromSnapshotEvents: HookKinds { HookKinds(rawValue: 1 << 2) }
    @inlinable public static var willSave: HookKinds { HookKinds(rawValue: 1 << 3) }
    @inlinable public static var didSave: HookKinds { HookKinds(rawValue: 1 << 4) }
    @inlinable public static var prepareForDeletion: HookKinds { HookKinds(rawValue: 1 << 5) }
    @inlinable public static var willTurnIntoFault: HookKinds { HookKinds(rawValue: 1 << 6) }
    @inlinable public static var didTurnIntoFault: HookKinds { HookKinds(rawValue: 1 << 7) }
    @inlinable public static var setNilValue: HookKinds { HookKinds(rawValue: 1 << 8) }
    @inlinable public static var validate: HookKinds { HookKinds(rawValue: 1 << 9) }
    @inlinable public static var all: HookKinds { HookKinds(rawValue: 1 << 10 - 1) }
}

/// What a host does at turning points in the life of an entity's objects. Every hook runs on the queue of the object's
/// context, may read, change, insert, delete and fetch, and may throw, which fails what called it. It may not save, reset,
/// roll back, undo or refresh: its context refuses that.
public struct LifecycleHooks: Sendable {
    public typealias Hook = @Sendable (ManagedObject) throws -> Void
    public typealias ValueCheck = @Sendable (ManagedObject, PropertyValue, ValidationPurpose?) throws -> PropertyValue

    /// Once in an object's life: a context has taken it in, and its defaults are in place. Changes are not tracked.
    public var awakeFromInsert: Hook?
    /// A fault has fired, so the values of the store are there. Changes are not tracked.
    public var awakeFromFetch: Hook?
    /// The object took over another state as a whole: by undo, redo, rollback, refresh or a merge policy. Changes are not
    /// tracked.
    public var awakeFromSnapshotEvents: (@Sendable (ManagedObject, SnapshotEvents) throws -> Void)?
    /// Before a save validates; also of objects that it will delete. Asked again when the object changed since, 1,000 times.
    public var willSave: Hook?
    /// The save is done and the object has no changes; one that was deleted has left its context. What it throws fails the call
    /// to save, not the save.
    public var didSave: Hook?
    /// Before the object counts as deleted: its relationships are as they were.
    public var prepareForDeletion: Hook?
    /// Before the values go.
    public var willTurnIntoFault: Hook?
    /// The values are gone; after a reset the object too.
    public var didTurnIntoFault: Hook?
    /// Of objects that are to be inserted, updated or deleted, when nothing is wrong with their values.
    public var validate: (@Sendable (ManagedObject, ValidationPurpose) throws -> Void)?
    /// By property: gives the value back, or another one, or throws; see `Entity.addValidator(forKey:_:)`.
    public var validateValue: [String: ValueCheck] = [:]
    /// Somebody sets an attribute of numbers or truth values, whose name comes with the object, to nil: the hook sets what it
    /// likes instead. Without it, the attribute is nil.
    public var setNilValue: (@Sendable (ManagedObject, String) throws -> Void)?

    public init() {}
}

extension Entity {
    /// Lets a host take part in the life of the entity's objects and of those of entities that inherit from it, which may have
    /// hooks of their own instead. Takes the place of hooks that were set before; nil removes them.
    /// - Throws: `.model` when the model is frozen.
    public func setLifecycle(_ hooks: LifecycleHooks?) throws { try setHooks(hooks.map(Lifecycle.init)) }

    @inline(__always)
    func has(_ kind: HookKinds) -> Bool { hookKinds & kind.rawValue != 0 }
}

/// The hooks as an entity keeps them.
final class Lifecycle: EntityHooks {
    let hooks: LifecycleHooks
    let kinds: UInt32

    init(_ hooks: LifecycleHooks) {
        self.hooks = hooks
        let present = [
            hooks.awakeFromInsert != nil, hooks.awakeFromFetch != nil, hooks.awakeFromSnapshotEvents != nil,
            hooks.willSave != nil, hooks.didSave != nil, hooks.prepareForDeletion != nil,
            hooks.willTurnIntoFault != nil, hooks.didTurnIntoFault != nil, hooks.setNilValue != nil,
            hooks.validate != nil || !hooks.validateValue.isEmpty,
        ]
        kinds = present.enumerated().reduce(0) { $1.element ? $0 | 1 << UInt32($1.offset) : $0 }
    }

    var validators: EntityValidators {
        var validators = EntityValidators()
        for (key, check) in hooks.validateValue.sorted(by: { $0.key < $1.key }) {
            validators.values.append((key, { object, value, purpose in try check(managed(object), value, purpose) }))
        }
        if let validate = hooks.validate {
            validators.hook = { object, purpose in try validate(managed(object), purpose) }
        }
        return validators
    }

    func inheriting(_ parent: any EntityHooks) -> any EntityHooks {
        let parent = unsafeDowncast(parent, to: Lifecycle.self).hooks
        var all = hooks
        all.awakeFromInsert = all.awakeFromInsert ?? parent.awakeFromInsert
        all.awakeFromFetch = all.awakeFromFetch ?? parent.awakeFromFetch
        all.awakeFromSnapshotEvents = all.awakeFromSnapshotEvents ?? parent.awakeFromSnapshotEvents
        all.willSave = all.willSave ?? parent.willSave
        all.didSave = all.didSave ?? parent.didSave
        all.prepareForDeletion = all.prepareForDeletion ?? parent.prepareForDeletion
        all.willTurnIntoFault = all.willTurnIntoFault ?? parent.willTurnIntoFault
        all.didTurnIntoFault = all.didTurnIntoFault ?? parent.didTurnIntoFault
        all.validate = all.validate ?? parent.validate
        all.validateValue.merge(parent.validateValue) { own, _ in own }
        all.setNilValue = all.setNilValue ?? parent.setNilValue
        return Lifecycle(all)
    }
}
