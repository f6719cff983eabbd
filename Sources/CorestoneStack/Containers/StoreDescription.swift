import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// What a container opens: where a store lies, of which type, and how. Core Data's `NSPersistentStoreDescription`.
public struct StoreDescription: Sendable {
    /// nil: in the container's folder, under the container's name with an ending that goes with the type. For a store in memory
    /// only what it is called.
    public var path: String?
    /// nil: that of the store which is there, and SQLite where none is.
    public var type: StoreType?
    public var options: StoreOptions
    /// Whether `Container.loadStores` opens the store on another thread, and calls the handler there.
    public var shouldAddStoreAsynchronously = false
    /// Whether folders that the path names and that are not there are made, for the user alone.
    public var shouldMakeFolder = true

    public init(path: String? = nil, type: StoreType? = nil, options: StoreOptions = StoreOptions()) {
        self.path = path
        self.type = type
        self.options = options
    }

    /// The configuration of the model whose objects the store is for; nil for those of the whole model.
    public var configuration: String? {
        get { options.configuration }
        set { options.configuration = newValue }
    }
    public var isReadOnly: Bool {
        get { options.isReadOnly }
        set { options.isReadOnly = newValue }
    }
    /// How long, in seconds, to wait for another process's lock.
    public var timeout: Double {
        get { Double(options.busyTimeoutMilliseconds) / 1000 }
        set { options.busyTimeoutMilliseconds = Int(max(0, min(newValue.isNaN ? 0 : newValue, 2_000_000)) * 1000) }
    }
    /// Settings of SQLite by name.
    public var pragmas: [String: String] {
        get { options.pragmas }
        set { options.pragmas = newValue }
    }
}
