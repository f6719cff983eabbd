import CorestoneModel
import CorestoneValues

/// The values of an object, a cached row or a stored row when a conflict was found.
///
/// The keys are key paths. The values are those of stored attributes, and the IDs (`ObjectIDReference`) of to-one
/// targets. Members of to-many relationships are not included.
public typealias ConflictSnapshot = [String: PropertyValue]

/// A conflict that makes a save fail unless it is resolved: a `MergeConflict` or a `ConstraintConflict`.
///
/// IDs, snapshots and the message may be used on any thread. Objects are available, and the conflict can be resolved,
/// only on the context's queue.
public class SaveConflict: @unchecked Sendable {
    /// The IDs of the context's objects that have the conflict.
    public let objectIDs: [ObjectID]
    /// The type that resolved the conflict; nil while it is unresolved.
    public private(set) var resolution: MergePolicyType?
    package private(set) weak var context: Context?

    init(_ objects: [ManagedObject], in context: Context) {
        objectIDs = objects.map(\.objectID)
        self.context = context
    }

    /// The objects of `objectIDs` that are still registered in the context.
    ///
    /// Empty on a thread other than the context's, and after the context was closed or deallocated.
    public var objects: [ManagedObject] {
        guard let context, (try? context.checkQueue()) != nil else { return [] }
        return objectIDs.compactMap(context.registeredObject)
    }

    /// Resolves the conflict as a policy of the type does.
    ///
    /// The objects in memory are changed immediately, so values can be set afterwards. The save continues when all
    /// conflicts are resolved. The call has no effect for `.error`, or if the conflict is already resolved.
    ///
    /// - Throws: `.invalidArgument` unless the conflict's save is running its merge policy.
    ///   `.wrongThread` on a thread other than the context's.
    ///   Errors of the merge.
    public func resolve(as type: MergePolicyType) throws {
        try context?.checkQueue()
        if type == .error || resolution != nil { return }
        guard let context, context.mergeState.isResolving else {
            let reason =
                self.context == nil
                ? ", but the context was deallocated; repeat the changes in a context whose merge policy, set with "
                    + "cst_context_set_merge_policy (merge_policy, mergePolicy), resolves the conflict"
                : "; set a merge policy with cst_context_set_merge_policy (merge_policy, mergePolicy) and save again"
            throw CoreError(
                .invalidArgument,
                "the conflict of \(objectIDs[0].entity.name) \(objectIDs[0].uri) can be resolved only while a save "
                    + "runs the merge policy\(reason)",
                entity: objectIDs[0].entity.name, objectURI: objectIDs[0].uri)
        }
        try resolve(as: type, in: context)
        resolution = type
    }

    func resolve(as type: MergePolicyType, in context: Context) throws {}

    /// The description of the conflict: one line, and for a version conflict one more per property that differs.
    ///
    /// At most 20 properties are described.
    public var message: String { "" }
    /// The error of this conflict alone.
    var error: CoreError { CoreError(.conflict, message) }
    /// Releases the rows that are valid only during the conflict's save.
    func end() {}
}

/// The conflicts of a failed save, the payload of its error.
final class ConflictList: Sendable {
    let conflicts: [SaveConflict]
    init(_ conflicts: [SaveConflict]) { self.conflicts = conflicts }
}

extension CoreError {
    /// The conflicts that made a save fail, attached to errors 133020 and 133021; empty for other errors.
    public var conflicts: [SaveConflict] {
        (payload as? ConflictList)?.conflicts ?? (payload as? OutcomeList)?.conflicts ?? []
    }
}
