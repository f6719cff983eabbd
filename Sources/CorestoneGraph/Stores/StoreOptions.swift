import CorestoneModel
import CorestoneValues

/// How a store is opened. Types that lie in memory or in one file know what is said for all; the rest is SQLite's.
public struct StoreOptions: Sendable {
    /// Never changes the file or its folder.
    public var isReadOnly = false
    /// Why it is opened that way, for errors of saves; nil for the option alone.
    package var readOnlyReason: String?
    /// A missing file is an error instead of a new store.
    public var mustExist = false
    /// Does not wait for the disk at each save: a power cut may undo the last saves, but never damages the store.
    public var normalSync = false
    /// Keeps a history of changes, as a store that has one already does in any case.
    public var keepsHistory = false
    /// Keeps a history, and with it the values that each transaction replaces, so that `Coordinator.past(at:)` knows every value. A
    /// store that has begun to keep them goes on without the option. They take room of their own until the history is deleted.
    public var keepsCompleteHistory = false
    /// Deletes the old values of a complete history, and keeps no more of them. The history stays.
    public var dropsOldValues = false
    /// Purges the history to this when the store is opened, and after every thousand transactions that the coordinator writes, on a
    /// thread of the coordinator; nil: only when `Coordinator.purgeHistory` is called. No purge passes a living consumer.
    public var historyRetention: HistoryRetention?
    /// Keeps no history. A store whose history has transactions is opened read-only with the reason: saves that are not recorded
    /// would leave a gap.
    public var refusesHistory = false
    /// A rollback journal instead of a write-ahead log.
    public var rollbackJournal = false
    /// How long to wait for another process's lock.
    public var busyTimeoutMilliseconds = 5000
    /// The configuration of the model whose objects the store is for; nil for those of the whole model.
    public var configuration: String?
    /// Has the coordinator post `remoteChange` for what its own contexts save, too.
    public var postsOwnChanges = false
    /// How often a store that is watched for what others write is looked at without being told to. 0: every 500 milliseconds where
    /// the file system does not tell of writes, as those of networks, every 30 seconds where it does.
    public var watchIntervalMilliseconds = 0
    /// SQLite's page cache.
    public var cacheKilobytes = 32768

    /// How many connections to a store with a write-ahead log there may be. One is enough for one thread at a time; others are
    /// opened when several read, or one of them saves, at a time, and each has a page cache of its own. 1 lets one thread at a
    /// time read or save.
    public var maximumConnections = StoreOptions.usualConnections
    /// More threads than that at a time wait for each other, in order of arrival.
    public static let usualConnections = 8

    /// Settings of SQLite by name, as `["cache_size": "-65536"]`, for every connection. Those that cost no durability nobody asked to
    /// give up, and cannot damage a store; others, and values that a setting does not take, are refused with a list.
    public var pragmas: [String: String] = [:]
    /// Looks how values are spread, when the store is opened, so that SQLite chooses its indexes by that.
    public var analyzes = false
    /// Writes the database anew when the store is opened, without the room that deleted rows have left. Needs as much room again
    /// meanwhile.
    public var vacuums = false
    /// The store need not have been written with this model. What it lacks is null or empty; what the model lacks is not seen, and is
    /// never lost. Opened for writing, the store becomes one of this model. A property of another kind is refused.
    public var ignoresVersioning = false
    /// The permissions of the file of a new store, `0o600` to `0o777`, whatever the process's mask says. What lies beside a store has
    /// those of its file. nil: as the mask says.
    public var fileMode: UInt32?

    /// The file is of no use after a crash, and no other process uses it: SQLite does not wait for the disk, keeps its rollback
    /// journal in memory, and keeps the file locked.
    package var isTransient = false

    /// The source of the model by which a store that is one file is opened.
    package var modelSource: ModelSource = .given

    /// Those of the store of which the new one is a copy; nil for a store that is none.
    package var permissionsOfSource: FilePermissions?

    /// The permissions of a new file; nil for what the process's mask says.
    ///
    /// - Parameter reserved: those of an empty file in whose place it comes.
    package func permissionsOfNewFile(inPlaceOf reserved: FilePermissions?) -> FilePermissions? {
        if let source = permissionsOfSource { return source.ofCopy(inPlaceOf: reserved, mode: fileMode) }
        return fileMode.map { FilePermissions(mode: $0, inPlaceOf: reserved) }
    }

    /// Throws for permissions by which nobody could use the store.
    package func requireUsableFileMode(_ path: String) throws {
        guard let mode = fileMode, mode & ~0o777 != 0 || mode & 0o600 != 0o600 else { return }
        throw CoreError(
            .invalidArgument, code: .persistentStoreOpen,
            "the file mode for \(path) is 0\(String(mode, radix: 8)), but must be 0600 to 0777 with read and write "
                + "permission for the owner", key: "file_mode", value: .int(Int64(mode)), file: path)
    }
    /// Values of more bytes lie in files of their own, where the attribute allows it. `Int.max`: none does.
    public var externalDataThreshold = StoreOptions.usualExternalDataThreshold
    /// Apple's framework decides likewise, by a rule that it keeps to itself; about 100 KB is what its engineers name.
    public static let usualExternalDataThreshold = 100 << 10
    /// How much a file may have this process do, whoever wrote it.
    public var limits = StoreLimits()
    /// Options of Apple's framework for what does not exist here, by the names of their keys: ubiquity, external records, file
    /// protection. They do nothing; `Store.warnings` says so.
    public var foreignOptions: [String] = []

    /// Whether and how a store of another version of the model is migrated; nil for the default of the place: never by
    /// `Coordinator.addStore`, with an inferred mapping by containers and documents.
    public var migration: MigrationOptions?

    /// Whatever a store of a host's own kind is to know, by name. Other types take none.
    public var hostOptions: [String: PropertyValue] = [:]

    /// For `Coordinator.destroyStore`: a store that others keep locked loses its files; they go on with files that have no names.
    public var forcesDestruction = false

    public init() {}

    /// For files of others: nothing in the folder is changed, made or locked.
    public static var readOnly: StoreOptions {
        var options = StoreOptions()
        options.isReadOnly = true
        return options
    }
}
