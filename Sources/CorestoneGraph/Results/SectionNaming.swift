import CorestonePredicate
import CorestoneValues

/// The source of the section names of results.
public enum SectionNaming {
    /// The value at a key path, as text. Objects whose value is nil form a section without a name.
    case keyPath(String)
    /// The result of a function. Objects whose result is nil form a section without a name.
    ///
    /// The function is called on the context's queue. It may read the object, but must not change objects.
    case function((ManagedObject) throws -> String?)

    /// Returns the section name of an object.
    ///
    /// - Parameter usesSaved: Whether the value at a key path ignores unsaved changes. If the object itself does not
    ///   have changes, unsaved changes of related objects are always ignored, as in the sort order.
    func name(of object: ManagedObject, in context: Context, usesSaved: Bool) throws -> SectionName {
        switch self {
        case .function(let function): return SectionName(try name(of: object, in: context, by: function) ?? "")
        case .keyPath(let path):
            let sort = SortDescriptor(path: KeyPath(path))
            return SectionNaming.name(try context.fetchExecutor.sortKeys(of: object, [sort], usesSaved: usesSaved)[0])
        }
    }

    /// Returns the section name that the application's function returns for an object.
    ///
    /// - Throws: The function's error, with the object.
    ///   `.invalidArgument` if the function changed objects, because the results would change while they are evaluated.
    private func name(
        of object: ManagedObject, in context: Context, by function: (ManagedObject) throws -> String?
    ) throws -> String? {
        let before = ChangeCounts(context.changeTracker)
        let name: String?
        do { name = try function(object) } catch let error as CoreError { throw error.naming(object) }
        if !before.hasChanged(context.changeTracker) { return name }
        throw CoreError(
            .invalidArgument, code: .coreData,
            "the section name callback must only read objects, but it changed or saved some when it was called for "
                + "\(object.entity.name) \(object.objectID.uri)",
            entity: object.entity.name, objectURI: object.objectID.uri)
    }

    /// Returns the section name for the value of a key path.
    static func name(_ value: PropertyValue) -> SectionName {
        switch value {
        case .null: .none
        case .text(let text): SectionName(text.string)
        case let value: SectionName(value.excerpt)
        }
    }

    var keyPath: String? { if case .keyPath(let path) = self { path } else { nil } }
}

/// The numbers of changed objects of a context, which grow when an object is first changed in the current event.
private struct ChangeCounts {
    private let inserted: Int
    private let updated: Int
    private let deleted: Int
    private let touched: Int

    init(_ tracker: ChangeTracker) {
        (inserted, updated) = (tracker.inserted.count, tracker.updated.count)
        (deleted, touched) = (tracker.deleted.count, tracker.event.touched.count)
    }

    /// Whether objects were changed or saved since.
    ///
    /// Two effects of mere reads are ignored: objects whose rows were deleted become inaccessible, and a fetch
    /// processes pending changes, which ends the event.
    func hasChanged(_ tracker: ChangeTracker) -> Bool {
        tracker.inserted.count != inserted || tracker.updated.count != updated || tracker.deleted.count < deleted
            || tracker.event.touched.count > touched
            || tracker.deleted.dropFirst(deleted).contains { !$0.state.contains(.inaccessible) }
    }
}
