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

    /// Makes a type of a host's known.
    ///
    /// - Throws: `.invalidArgument` (134000) for a name that is taken, or none.
    package static func register(_ kind: any StoreKind) throws {
        let name = kind.type.rawValue
        let wanted = name.lowercased()
        guard !name.isEmpty, !name.utf8.contains(0) else {
            throw CoreError(
                .invalidArgument, code: .persistentStoreInvalidType,
                "the store type name \"\(name)\" must not be empty or contain a NUL character",
                value: .string(name))
        }
        try registered.withLock { kinds in
            let taken = (builtIn + kinds).first { $0.type.rawValue.lowercased() == wanted }
            if let taken {
                throw CoreError(
                    .invalidArgument, code: .persistentStoreInvalidType,
                    "the store type \"\(taken.type.rawValue)\" already exists; choose a name other than \"\(name)\""
                        + (taken.isHosted
                            ? ", or unregister the existing type with cst_store_type_unregister (unregister_store_type)"
                            : ""),
                    value: .string(name))
            }
            kinds.append(kind)
        }
    }

    /// Forgets a type of a host's; stores of it that are open stay so.
    ///
    /// - Parameter name: in any case of letters.
    /// - Returns: false when no host registered one of that name.
    /// - Throws: `.invalidArgument` (134000) for a type of ours.
    @discardableResult
    public static func unregister(_ name: String) throws -> Bool {
        let wanted = name.lowercased()
        if builtIn.contains(where: { $0.type.rawValue.lowercased() == wanted }) {
            throw CoreError(
                .invalidArgument, code: .persistentStoreInvalidType,
                "\"\(name)\" is a built-in store type and cannot be unregistered; pass a custom store type",
                value: .string(name))
        }
        // What a host hung on it may end, and is told so outside of the lock.
        let gone: (any StoreKind)? = registered.withLock { kinds in
            kinds.firstIndex { $0.type.rawValue.lowercased() == wanted }.map { kinds.remove(at: $0) }
        }
        return gone != nil
    }

    /// Whether a host registered the type, so that paths of its stores are whatever it takes for one.
    ///
    /// - Throws: `.invalidArgument` (134000), with the types that there are.
    public static func isHosted(_ type: StoreType) throws -> Bool { try kind(of: type).isHosted }

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
            "\"\(name)\" is not a store type; use \(known.dropLast().joined(separator: ", ")) or \(known.last ?? "")",
            value: .string(name))
    }
}
