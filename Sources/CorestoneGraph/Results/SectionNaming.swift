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
    func name(of object: ManagedObject, in context: Context, usesSaved: Bool) throws -> String {
        switch self {
        case .function(let name): return try name(object) ?? ""
        case .keyPath(let path):
            let sort = SortDescriptor(path: KeyPath(path))
            switch try context.sortKeys(of: object, [sort], usesSaved: usesSaved)[0] {
            case .null: return ""
            case .text(let text): return text.string
            case let value: return value.excerpt
            }
        }
    }

    var keyPath: String? { if case .keyPath(let path) = self { path } else { nil } }
}
