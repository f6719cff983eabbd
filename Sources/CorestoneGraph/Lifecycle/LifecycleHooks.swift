import CorestoneModel
import CorestoneValues

/// The reason why the whole state of an object was replaced.
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

/// The kinds of hooks that an entity can have, one bit each.
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

/// The lifecycle hooks of an entity's objects.
///
/// Every hook runs on the queue of the object's context. It may read, change, insert, delete and fetch objects. It may
/// throw, which makes the call that runs it fail. It must not save, reset, roll back, undo or refresh; the context
/// rejects these calls.
public struct LifecycleHooks: Sendable {
    public typealias Hook = @Sendable (ManagedObject) throws -> Void
    public typealias ValueCheck = @Sendable (ManagedObject, PropertyValue, ValidationPurpose?) throws -> PropertyValue

    /// The hook after an object was inserted into a context and its defaults were set, once per object.
    ///
    /// Changes are not tracked.
    public var awakeFromInsert: Hook?
    /// The hook after a fault fired and its values were loaded. Changes are not tracked.
    public var awakeFromFetch: Hook?
    /// The hook after undo, redo, rollback, refresh or a merge policy replaced the state of the object.
    ///
    /// Changes are not tracked.
    public var awakeFromSnapshotEvents: (@Sendable (ManagedObject, SnapshotEvents) throws -> Void)?
    /// The hook before the validation of a save, including for objects that the save will delete.
    ///
    /// It runs again if the object changed since, up to 1,000 times.
    public var willSave: Hook?
    /// The hook after the save.
    ///
    /// The object does not have changes; a deleted object has left its context. An error makes the call fail, but the
    /// save remains committed.
    public var didSave: Hook?
    /// The hook before the object is marked as deleted. Its relationships are unchanged.
    public var prepareForDeletion: Hook?
    /// The hook before the values are discarded.
    public var willTurnIntoFault: Hook?
    /// The hook after the values were discarded. After a reset, the object is invalid too.
    public var didTurnIntoFault: Hook?
    /// The validator of an object that is inserted, updated or deleted. It runs if the values are valid.
    public var validate: (@Sendable (ManagedObject, ValidationPurpose) throws -> Void)?
    /// The value validators by property.
    ///
    /// They return the value or a replacement, or throw; see `Entity.addValidator(forKey:_:)`.
    public var validateValue: [String: ValueCheck] = [:]
    /// The hook for setting an integer, floating-point or Boolean attribute to nil. It receives the attribute's name.
    ///
    /// The hook can set another value instead. Without a hook, the attribute becomes nil.
    public var setNilValue: (@Sendable (ManagedObject, String) throws -> Void)?

    public init() {}
}

extension Entity {
    /// Sets the lifecycle hooks of the entity's objects.
    ///
    /// Subentities inherit the hooks and can override each of them. Former hooks are replaced; nil removes them.
    ///
    /// - Throws: `.model` if the model is frozen.
    public func setLifecycle(_ hooks: LifecycleHooks?) throws { try setHooks(hooks.map(Lifecycle.init)) }

    @inline(__always)
    func has(_ kind: HookKinds) -> Bool { hookKinds & kind.rawValue != 0 }
}

/// The hooks in the form in which an entity stores them.
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
