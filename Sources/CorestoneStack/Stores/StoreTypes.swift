import CorestoneFiles
import CorestoneGraph
import CorestoneModel
import CorestoneSQLite
import CorestoneValues

/// The types of stores that there are, by the names that Core Data gives them. Any thread.
public enum StoreTypes {
    /// The first is that of a store for which nobody names one.
    private static let builtIn: [any StoreKind] =
        [SQLiteKind()] + AtomicKind.all + [InMemoryKind()]
    /// What the host registered, in order.
    private static let registered = Locked<[any StoreKind]>([])

    /// The names of all types: ours, then those that were registered.
    public static var names: [String] { kinds.map(\.type.rawValue) }

    private static var kinds: [any StoreKind] { builtIn + registered.withLock { $0 } }

    /// The type that a host names.
    ///
    /// - Parameter name: in any case of letters.
    /// - Throws: `.invalidArgument` (134000), with the types that there are.
    public static func type(named name: String) throws -> StoreType {
        let wanted = name.lowercased()
        if let kind = kinds.first(where: { $0.type.rawValue.lowercased() == wanted }) { return kind.type }
        throw unknown(name)
    }

    /// - Throws: `.invalidArgument` (134000), with the types that there are.
    static func kind(of type: StoreType) throws -> any StoreKind {
        if let kind = kinds.first(where: { $0.type == type }) { return kind }
        throw unknown(type.rawValue)
    }

    /// The type of the store that is at `path`; SQLite where nothing is, or what is there is no store.
    static func kind(ofStoreAt path: String) throws -> any StoreKind {
        path == StorePlace.nowhere ? try kind(of: .sqlite) : try kind(of: StoreType(ofStoreAt: path) ?? .sqlite)
    }

    /// The kind of the type that a host named, or of what lies at `path` when it named none.
    ///
    /// - Throws: `.unsupported` (134000) where a store of another type is, `.notAStore` where none is; SQLite says so itself later.
    static func kind(of type: StoreType?, at path: String) throws -> any StoreKind {
        guard let type else { return try kind(ofStoreAt: path) }
        let kind = try kind(of: type)
        if type == .xml || type == .binary { try type.require(at: path) }
        return kind
    }

    private static func unknown(_ name: String) -> CoreError {
        let known = names.map { "\"\($0)\"" }
        return CoreError(
            .invalidArgument, code: .persistentStoreInvalidType,
            "\"\(name)\" is no store type; \(known.dropLast().joined(separator: ", ")) and \(known.last ?? "") are",
            value: .string(name))
    }
}
