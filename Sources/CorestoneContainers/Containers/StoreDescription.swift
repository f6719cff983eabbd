import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The path, type and options of a store to be opened by a container: Core Data's `NSPersistentStoreDescription`.
public struct StoreDescription: Sendable {
    /// The path; nil for the container's name, with the suffix of the type, in the default folder. For an in-memory
    /// store, the path is only a name.
    public var path: String?
    /// The type; nil for that of the existing store, or SQLite if the store does not exist.
    public var type: StoreType?
    public var options: StoreOptions
    /// Whether `Container.loadStores` with a handler opens the store on another thread, and calls the handler there.
    public var shouldAddStoreAsynchronously = false
    /// Whether missing folders in the path are created, with permissions for the user only.
    ///
    /// No folders are created for an in-memory store, a read-only store, or a store that must exist.
    public var shouldMakeFolder = true

    public init(path: String? = nil, type: StoreType? = nil, options: StoreOptions = StoreOptions()) {
        self.path = path
        self.type = type
        self.options = options
    }

    /// The configuration of the model whose entities the store contains; nil for all entities.
    public var configuration: String? {
        get { options.configuration }
        set { options.configuration = newValue }
    }
    public var isReadOnly: Bool {
        get { options.isReadOnly }
        set { options.isReadOnly = newValue }
    }
    /// The longest wait for the lock of another connection, in seconds.
    public var timeout: Double {
        get { Double(options.busyTimeoutMilliseconds) / 1000 }
        set { options.busyTimeoutMilliseconds = Int(max(0, min(newValue.isNaN ? 0 : newValue, 2_000_000)) * 1000) }
    }
    /// SQLite pragmas by name.
    public var pragmas: [String: String] {
        get { options.pragmas }
        set { options.pragmas = newValue }
    }
}
