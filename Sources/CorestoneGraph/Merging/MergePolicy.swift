/// The rule that resolves a conflict of an object with the store or with another object.
///
/// The cases describe a version conflict of a changed object with a changed row. The raw values are those of Core Data.
public enum MergePolicyType: Int32, Sendable, CaseIterable {
    /// The save fails, and its error lists every conflict.
    case error = 0
    /// For a property that was changed on both sides, the store's value is kept; all other changes are merged.
    case storeTrump
    /// For a property that was changed on both sides, the object's value is kept; all other changes are merged.
    case objectTrump
    /// The object's values replace those of the store, including values that were changed only in the store.
    case overwrite
    /// The object's changes are discarded, and the object has the store's values.
    case rollback
}

/// A rule that resolves the conflicts of a context's saves.
///
/// The five types have shared instances. A custom policy is an instance with a closure, or a subclass. A custom policy
/// receives the conflicts and can resolve some of them itself. Its type resolves the remaining conflicts.
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

    /// The type that resolves the conflicts that the closure or subclass leaves unresolved.
    public let type: MergePolicyType
    private let resolver: (@Sendable ([SaveConflict]) throws -> Void)?

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - type: The type that resolves the conflicts that `resolve` leaves unresolved.
    ///   - resolve: A function that is called first, on the queue of the context that saves, during the save. The
    ///     function may read and change objects, and call `SaveConflict.resolve(as:)`. It must not save, reset, roll
    ///     back, undo or refresh. An error that it throws makes the save fail.
    public init(type: MergePolicyType, resolve: (@Sendable (_ conflicts: [SaveConflict]) throws -> Void)? = nil) {
        self.type = type
        resolver = resolve
    }

    /// Returns the shared policy of a type.
    public static func standard(_ type: MergePolicyType) -> MergePolicy {
        switch type {
        case .error: error
        case .storeTrump: storeTrump
        case .objectTrump: objectTrump
        case .overwrite: overwrite
        case .rollback: rollback
        }
    }

    /// Resolves conflicts: calls the closure, and resolves the remaining conflicts by the type.
    ///
    /// Version conflicts are passed first, and conflicts of unique constraints in a later call, never both in one call.
    /// An override resolves some conflicts and calls this implementation for the others. The save fails if a conflict
    /// remains unresolved.
    open func resolve(_ conflicts: [SaveConflict]) throws {
        try resolver?(conflicts)
        if type == .error { return }
        for conflict in conflicts where conflict.resolution == nil { try conflict.resolve(as: type) }
    }
}
