import CorestonePredicate
import CorestoneValues

/// What gives the objects of results their sections.
public enum SectionNaming {
    /// The value at a key path as text; nil is the section without a name.
    case keyPath(String)
    /// What a function says. Called on the context's queue; it may read the object, and change nothing.
    case function((ManagedObject) throws -> String?)

    /// - Parameter usesSaved: whether changes that were not saved are left out. At the end of a key path they are for objects that have
    ///   none themselves, as they are for the order.
    func name(of object: ManagedObject, in context: Context, usesSaved: Bool) throws -> SectionName {
        switch self {
        case .function(let function): return SectionName(try name(of: object, in: context, by: function) ?? "")
        case .keyPath(let path):
            let sort = SortDescriptor(path: KeyPath(path))
            return SectionNaming.name(try context.sortKeys(of: object, [sort], usesSaved: usesSaved)[0])
        }
    }

    /// - Throws: what the function throws, with the object; `.invalidArgument` when it changed something: results that are
    ///   being looked at would change meanwhile.
    private func name(
        of object: ManagedObject, in context: Context, by function: (ManagedObject) throws -> String?
    ) throws -> String? {
        let before = context.changeCount
        let name: String?
        do { name = try function(object) } catch let error as CoreError { throw error.about(object) }
        if context.changeCount == before { return name }
        throw CoreError(
            .invalidArgument, code: .coreData,
            "the section name function changed objects when it was called for \(object.entity.name) "
                + "\(object.objectID.uri); only read objects in it",
            entity: object.entity.name, objectURI: object.objectID.uri)
    }

    /// What a value at the end of a key path calls a section.
    static func name(_ value: PropertyValue) -> SectionName {
        switch value {
        case .null: .none
        case .text(let text): SectionName(text.string)
        case let value: SectionName(value.excerpt)
        }
    }

    var keyPath: String? { if case .keyPath(let path) = self { path } else { nil } }
}

extension Context {
    /// Another number after anybody has changed objects of the context for the first time in its event.
    fileprivate var changeCount: Int {
        changeTracker.inserted.count + changeTracker.updated.count + changeTracker.deleted.count
            + changeTracker.event.touched.count
    }
}
