import CorestoneAtomicStores
import CorestoneGraph
import CorestoneModel
import CorestoneSQLite
import CorestoneValues

/// The built-in and registered store types, by their names in Core Data. Thread-safe.
public enum StoreTypes {
    /// The built-in types. The first is the default.
    private static let builtIn: [any StoreKind] =
        [SQLiteKind()] + AtomicKind.all + [InMemoryKind()]
    /// The types that the application registered, in order.
    private static let registered = Locked<[any StoreKind]>([])

    /// The names of all types: first the built-in, then the registered ones.
    public static var names: [String] { kinds.map(\.type.rawValue) }

    private static var kinds: [any StoreKind] { builtIn + registered.withLock { $0 } }

    /// Returns the store type with the given name.
    ///
    /// - Parameter name: The name. Case is ignored.
    /// - Throws: `.invalidArgument` (134000) with the known types if the name is unknown.
    public static func type(named name: String) throws -> StoreType {
        let wanted = name.lowercased()
        if let kind = kinds.first(where: { $0.type.rawValue.lowercased() == wanted }) { return kind.type }
        throw unknown(name)
    }

    /// Registers a type of custom stores.
    ///
    /// - Throws: `.invalidArgument` (134000) if the name is already used, empty, or contains a NUL byte.
    package static func register(_ kind: any StoreKind) throws {
        let name = kind.type.rawValue
        let wanted = name.lowercased()
        guard !name.isEmpty, !name.utf8.contains(0) else {
            throw CoreError(
                .invalidArgument, code: .persistentStoreInvalidType,
                name.isEmpty
                    ? "the store type name is empty; pass a name"
                    : "the store type name \"\(name)\" contains a NUL byte; remove it",
                key: "name", value: .string(name))
        }
        try registered.withLock { kinds in
            let taken = (builtIn + kinds).first { $0.type.rawValue.lowercased() == wanted }
            if let taken {
                throw CoreError(
                    .invalidArgument, code: .persistentStoreInvalidType,
                    "the store type \"\(taken.type.rawValue)\" already exists; choose a name other than \"\(name)\""
                        + (taken.isHosted
                            ? ", or deregister the existing type with cst_store_type_unregister "
                                + "(unregister_store_type, StoreTypes.unregister)"
                            : ""),
                    key: "name", value: .string(name))
            }
            kinds.append(kind)
        }
    }

    /// Deregisters a type of custom stores. Open stores of the type stay open.
    ///
    /// - Parameter name: The name. Case is ignored.
    /// - Returns: False if no type with that name is registered.
    /// - Throws: `.invalidArgument` (134000) for a built-in type.
    @discardableResult
    public static func unregister(_ name: String) throws -> Bool {
        let wanted = name.lowercased()
        if builtIn.contains(where: { $0.type.rawValue.lowercased() == wanted }) {
            throw CoreError(
                .invalidArgument, code: .persistentStoreInvalidType,
                "\"\(name)\" is a built-in store type and cannot be deregistered; pass a custom store type",
                key: "name", value: .string(name))
        }
        // The removed type is released after the lock is unlocked, because its deallocation may call the application.
        let gone: (any StoreKind)? = registered.withLock { kinds in
            kinds.firstIndex { $0.type.rawValue.lowercased() == wanted }.map { kinds.remove(at: $0) }
        }
        return gone != nil
    }

    /// Whether the application registered the type, so that a store's path need not be a file path.
    ///
    /// - Throws: `.invalidArgument` (134000) with the known types if the type is unknown.
    public static func isHosted(_ type: StoreType) throws -> Bool { try kind(of: type).isHosted }

    /// Returns the kind of a type.
    ///
    /// - Throws: `.invalidArgument` (134000) with the known types if the type is unknown.
    static func kind(of type: StoreType) throws -> any StoreKind {
        if let kind = kinds.first(where: { $0.type == type }) { return kind }
        throw unknown(type.rawValue)
    }

    /// Returns the kind of the store at `path`; SQLite if the file does not exist or is not a store.
    static func kind(ofStoreAt path: String) throws -> any StoreKind {
        path == StoreLocation.inMemoryPath ? try kind(of: .sqlite) : try kind(of: StoreType(ofStoreAt: path) ?? .sqlite)
    }

    /// Returns the kind of a type, or of the store at `path` if the type is nil.
    ///
    /// - Throws: `.unsupported` (134000) if `path` is a store of another type.
    ///   `.notAStore` if it is not a store. Only XML and binary stores are checked here. Other types are checked when
    ///   the store is opened.
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
            "\"\(name)\" is not a store type; use \(known.dropLast().joined(separator: ", ")) or \(known.last ?? "")"
                + ", or register a custom type with cst_store_type_register (register_store_type, StoreTypes.register)",
            key: "type", value: .string(name))
    }
}
