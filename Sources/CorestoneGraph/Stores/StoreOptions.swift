import CorestoneFileSystem
import CorestoneModel
import CorestoneValues

/// The options with which a store is opened.
///
/// Stores in memory or in a single file support the options that are not specific to SQLite.
public struct StoreOptions: Sendable {
    /// Whether the store is opened read-only; neither the file nor its folder is then changed.
    public var isReadOnly = false
    /// Whether the store is opened read-only because `CST_STORE_WRITABLE` is not set, for errors.
    package var isReadOnlyByDefault = false
    /// The reason for read-only access, for errors of saves; nil if only the option causes it.
    package var readOnlyReason: String?
    /// Whether a missing file is an error. If false, a new store is created, unless the store is opened read-only.
    public var mustExist = false
    /// Whether saves do not wait for the disk.
    ///
    /// A power failure may then undo the last saves, but does not damage the store.
    public var normalSync = false
    /// Whether the store keeps a history of changes. An existing history is continued without this option too.
    public var keepsHistory = false
    /// Whether the history includes the values that each transaction replaces.
    ///
    /// `Coordinator.past(at:)` can then return every value that was replaced since the option was first set. A store
    /// that was opened with this option once continues to keep replaced values, until it is opened with
    /// `dropsOldValues`. The replaced values take additional space until the history is deleted.
    public var keepsCompleteHistory = false
    /// Whether the replaced values of a complete history are deleted and no longer kept.
    ///
    /// The history remains.
    public var dropsOldValues = false
    /// The retention to which the history is purged; nil to purge only by `Coordinator.purgeHistory`.
    ///
    /// The purge runs when the store is opened, and after each transaction of the coordinator whose number is a
    /// multiple of 1,000, on one of the coordinator's threads. A purge keeps transactions that a consumer with a valid
    /// lease has not read.
    public var historyRetention: HistoryRetention?
    /// Whether the store does not keep a history.
    ///
    /// A store whose history has transactions is opened read-only with a reason, because unrecorded saves would leave a
    /// gap.
    public var refusesHistory = false
    /// Whether to use a rollback journal instead of a write-ahead log.
    public var rollbackJournal = false
    /// The time-out for another connection's lock, in milliseconds.
    public var busyTimeoutMilliseconds = 5000
    /// The configuration whose entities the store holds; nil for all entities of the model.
    public var configuration: String?
    /// Whether the coordinator posts `remoteChange` for saves of its own contexts too.
    public var postsOwnChanges = false
    /// The interval, in milliseconds, at which a watched store is checked without a file system event.
    ///
    /// 0 selects 500 milliseconds if the file system does not report writes, like a network file system, and otherwise
    /// 30 seconds.
    public var watchIntervalMilliseconds = 0
    /// The size of SQLite's page cache per connection, in kilobytes.
    public var cacheKilobytes = 32768

    /// The maximum number of connections to a store with a write-ahead log.
    ///
    /// One connection is opened first, and more when several threads read or save at the same time. Each connection has
    /// its own page cache. With 1, only one thread at a time reads or saves.
    public var maximumConnections = StoreOptions.usualConnections
    /// The default of `maximumConnections`. If all connections are in use, further threads wait in order of arrival.
    public static let usualConnections = 8

    /// The pragmas of SQLite for every connection, by name, such as `["cache_size": "-65536"]`.
    ///
    /// Only pragmas that neither reduce durability nor can damage a store are allowed; other pragmas and invalid values
    /// are rejected, and the error lists the allowed ones.
    public var pragmas: [String: String] = [:]
    /// Whether to analyse the distribution of values when the store is opened.
    ///
    /// SQLite then chooses its indexes accordingly.
    public var analyzes = false
    /// Whether to rewrite the database when the store is opened, without the space of deleted rows.
    ///
    /// This temporarily needs as much free space as the database.
    public var vacuums = false
    /// Whether to accept a store that was written with another model.
    ///
    /// Properties that the store lacks are null or empty. Properties that the model lacks are hidden, but kept. A store
    /// that is opened for writing becomes a store of this model. A property of another kind is rejected.
    public var ignoresVersioning = false
    /// The permissions of a new store's file, `0o600` to `0o777`; nil uses the umask.
    ///
    /// Files beside a store have the permissions of the store's file.
    public var fileMode: UInt32?

    /// Whether the file is useless after a crash and no other process uses it.
    ///
    /// SQLite then does not wait for the disk, keeps its rollback journal in memory, and holds the lock of the file.
    package var isTransient = false

    /// The source of the model for a store that is a single file.
    package var modelSource: ModelSource = .given

    /// The permissions of the store of which the new store is a copy; nil if the new store is not a copy.
    package var permissionsOfSource: FilePermissions?

    /// The paths of the stores that the coordinator has open, by identifier.
    ///
    /// The coordinator does not accept another store with one of these identifiers, so opening does not change it.
    package var openStores: [String: String] = [:]

    /// Throws if the coordinator already has a store with the identifier open.
    package func requireOther(than identifier: String, at path: String) throws {
        if let open = openStores[identifier] {
            throw CoreError.identifierInUse(identifier, ofStoreAt: path, byStoreAt: open)
        }
    }

    /// Returns the permissions of a new file; nil to use the umask.
    ///
    /// - Parameter reserved: The permissions of an empty file that the new file replaces; nil without such a file.
    package func permissionsOfNewFile(inPlaceOf reserved: FilePermissions?) -> FilePermissions? {
        if let source = permissionsOfSource { return source.ofCopy(inPlaceOf: reserved, mode: fileMode) }
        return fileMode.map { FilePermissions(mode: $0, inPlaceOf: reserved) }
    }

    /// Throws if the file mode is out of range, or does not permit the owner to read and write.
    package func requireUsableFileMode(_ path: String) throws {
        guard let mode = fileMode, mode & ~0o777 != 0 || mode & 0o600 != 0o600 else { return }
        throw CoreError(
            .invalidArgument, code: .persistentStoreOpen,
            "the file mode for \(path) is 0\(String(mode, radix: 8)), but must be 0600 to 0777 with read and write "
                + "permission for the owner", key: "file_mode", value: .int(Int64(mode)), file: path)
    }
    /// The size in bytes above which values are stored in backing files, if the attribute allows it.
    ///
    /// `Int.max` disables backing files.
    public var externalDataThreshold = StoreOptions.usualExternalDataThreshold
    /// The default threshold. Apple's framework uses a similar, undocumented rule; its engineers mention about 100 KB.
    public static let usualExternalDataThreshold = 100 << 10
    /// The limits of the resources that this process uses for the file.
    public var limits = StoreLimits()
    /// The keys of options of Apple's framework for features that this library does not have.
    ///
    /// Examples: ubiquity, external records, file protection. They have no effect, which `Store.warnings` reports.
    public var foreignOptions: [String] = []

    /// The options for the migration of a store with another version of the model.
    ///
    /// nil selects the default of the caller: no migration in `Coordinator.addStore`, an inferred mapping in containers
    /// and documents.
    public var migration: MigrationOptions?

    /// The options of a custom store by name. Other types do not have such options.
    public var hostOptions: [String: PropertyValue] = [:]

    /// Whether `Coordinator.destroyStore` deletes the files of a store that other processes have locked.
    ///
    /// These processes continue to use the deleted files.
    public var forcesDestruction = false

    public init() {}

    /// The default options, with read-only access.
    public static var readOnly: StoreOptions {
        var options = StoreOptions()
        options.isReadOnly = true
        return options
    }
}
