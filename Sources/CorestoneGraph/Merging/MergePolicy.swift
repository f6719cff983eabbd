/// What becomes of an object when a save finds that the store, or the context itself, says something else. The values are
/// those of Core Data.
public enum MergePolicyType: Int32, Sendable, CaseIterable {
    /// The save fails and tells of each conflict.
    case error = 0
    /// Of a property that was changed on both sides the store's value stays; all other changes are merged.
    case storeTrump
    /// Of a property that was changed on both sides the object's value wins; all other changes are merged.
    case objectTrump
    /// The object wins as a whole, also with the properties that were changed in the store alone.
    case overwrite
    /// The object takes the store's state, and its changes are dropped.
    case rollback
}

/// How a context settles the conflicts of its saves.
///
/// The five types have shared instances. A policy of one's own is an instance with a closure, or a subclass: it is shown the
/// conflicts, settles those that it knows better about, and leaves the rest to its type.
///
///     context.mergePolicy = MergePolicy(type: .storeTrump) { conflicts in
///         for case let conflict as MergeConflict in conflicts where conflict.objectID.entity.name == "Counter" {
///             try conflict.resolve(as: .objectTrump)
///             try conflict.sourceObject?.set("count", …)
///         }
///     }
open class MergePolicy: @unchecked Sendable {
    public static let error = MergePolicy(type: .error)
    public static let storeTrump = MergePolicy(type: .storeTrump)
    public static let objectTrump = MergePolicy(type: .objectTrump)
    public static let overwrite = MergePolicy(type: .overwrite)
    public static let rollback = MergePolicy(type: .rollback)

    /// What settles the conflicts that nobody else does.
    public let type: MergePolicyType
    private let settle: (@Sendable ([SaveConflict]) throws -> Void)?

    /// - Parameter resolve: asked first, on the queue of the context that saves, within its save. It may read everything, set
    ///   values of objects, and call `SaveConflict.resolve(as:)`; it may not save,
    ///   reset, roll back, undo or refresh. What it throws ends the save.
    public init(type: MergePolicyType, resolve: (@Sendable (_ conflicts: [SaveConflict]) throws -> Void)? = nil) {
        self.type = type
        settle = resolve
    }

    /// The shared policy of a type.
    public static func standard(_ type: MergePolicyType) -> MergePolicy {
        switch type {
        case .error: error
        case .storeTrump: storeTrump
        case .objectTrump: objectTrump
        case .overwrite: overwrite
        case .rollback: rollback
        }
    }

    /// Settles conflicts: those of versions first, in a later call those of unique values, never both at once. A subclass
    /// settles what it knows and calls this for the rest; what is left unsettled fails the save.
    open func resolve(_ conflicts: [SaveConflict]) throws {
        try settle?(conflicts)
        if type == .error { return }
        for conflict in conflicts where conflict.resolution == nil { try conflict.resolve(as: type) }
    }
}
