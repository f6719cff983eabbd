/// A write into a store, as the coordinator's notification `remoteChange` tells of it.
public struct RemoteChange: Sendable {
    /// What became of the store's file.
    public enum File: UInt32, Sendable {
        /// It was written.
        case written = 0
        /// Another file has its name now. The store goes on with the one that it opened, which nobody else finds any more; remove
        /// it, and add the store anew.
        case replaced
        /// No file has its name any more.
        case removed
    }

    public let store: Store
    /// The store's UUID.
    public var storeIdentifier: String { store.identifier }
    public var path: String { store.path }
    /// What the store's history says last; nil for a store without history.
    public let historyToken: HistoryToken?
    /// Whether a context of this coordinator wrote, and not another process, or somebody else in this one.
    public let isOwn: Bool
    public let file: File
}

/// A place in the history of a store. Later ones are greater; those of different stores have no order.
public struct HistoryToken: Sendable, Hashable {
    /// The store's UUID.
    public let storeIdentifier: String
    /// The number of the last transaction before that place; 0 before the first.
    public let transactionNumber: Int64

    package init(storeIdentifier: String, transactionNumber: Int64) {
        self.storeIdentifier = storeIdentifier
        self.transactionNumber = transactionNumber
    }
}
