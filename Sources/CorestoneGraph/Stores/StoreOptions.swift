/// How a store is opened. Types that lie in memory or in one file know what is said for all; the rest is SQLite's.
public struct StoreOptions: Sendable {
    /// Never changes the file or its folder.
    public var isReadOnly = false
    /// A missing file is an error instead of a new store.
    public var mustExist = false
    /// Does not wait for the disk at each save: a power cut may undo the last saves, but never damages the store.
    public var normalSync = false
    /// Keeps a history of changes, as a store that has one already does in any case.
    public var keepsHistory = false
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

    public init() {}

    /// For files of others: nothing in the folder is changed, made or locked.
    public static var readOnly: StoreOptions {
        var options = StoreOptions()
        options.isReadOnly = true
        return options
    }
}
