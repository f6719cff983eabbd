import CorestoneModel
import CorestoneValues

/// What an object, the row cache or the store held when a conflict was found: attributes, and to-one targets as IDs
/// (`ObjectIDReference`); never the members of to-many relationships.
public typealias ConflictSnapshot = [String: PropertyValue]

/// Something that keeps a save from being done: a `MergeConflict` or a `ConstraintConflict`.
///
/// Its data may cross threads; objects are had, and conflicts resolved, on the queue of the context alone.
public class SaveConflict: @unchecked Sendable {
    /// The objects of the context that are concerned.
    public let objectIDs: [ObjectID]
    /// How it was settled; nil while it is not.
    public private(set) var resolution: MergePolicyType?
    package private(set) weak var context: Context?

    init(_ objects: [ManagedObject], in context: Context) {
        objectIDs = objects.map(\.objectID)
        self.context = context
    }

    /// The objects of `objectIDs` that the context still knows.
    public var objects: [ManagedObject] {
        guard let context, (try? context.checkQueue()) != nil else { return [] }
        return objectIDs.compactMap(context.registeredObject)
    }

    /// Settles the conflict as a policy of a type does. The objects in memory are changed at once, so that values may be set
    /// on top; the save goes on when all conflicts are settled. `.error` settles nothing.
    ///
    /// - Throws: `.invalidArgument` unless the conflict's save is asking its merge policy.
    public func resolve(as type: MergePolicyType) throws {
        try context?.checkQueue()
        if type == .error || resolution != nil { return }
        guard let context, context.mergeState.isResolving else {
            throw CoreError(
                .invalidArgument,
                "the conflict of \(objectIDs[0].entity.name) \(objectIDs[0].uri) can be resolved only while a save runs its merge "
                    + "policy; set the context's merge policy and save again",
                entity: objectIDs[0].entity.name, objectURI: objectIDs[0].uri)
        }
        try settle(as: type, in: context)
        resolution = type
    }

    func settle(as type: MergePolicyType, in context: Context) throws {}

    /// One line, and one more for each property.
    public var message: String { "" }
    /// The error of this conflict alone.
    var error: CoreError { CoreError(.conflict, message) }
    /// Lets go of what only its save may use.
    func end() {}
}

/// The conflicts of a failed save, as its error carries them.
final class ConflictList: Sendable {
    let conflicts: [SaveConflict]
    init(_ conflicts: [SaveConflict]) { self.conflicts = conflicts }
}

extension CoreError {
    /// What kept a save from being done, for errors of codes 133020 and 133021.
    public var conflicts: [SaveConflict] {
        (payload as? ConflictList)?.conflicts ?? (payload as? OutcomeList)?.conflicts ?? []
    }
}
