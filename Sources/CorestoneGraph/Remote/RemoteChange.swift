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
    /// The place after the last transaction of the store; nil for a store without history.
    public let historyToken: HistoryToken?
    /// Whether a context of this coordinator wrote, and not another process, or somebody else in this one.
    public let isOwn: Bool
    public let file: File
}
