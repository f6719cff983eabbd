/// A write to a store, reported by the coordinator's notification `remoteChange`.
public struct RemoteChange: Sendable {
    /// The state of the store's file.
    public enum File: UInt32, Sendable {
        /// The file was written.
        case written = 0
        /// Another file now has the file's name.
        ///
        /// The store continues to use the opened file, which other processes can no longer open. Remove the store and
        /// add it again.
        case replaced
        /// The file's name does not exist any more.
        case removed
    }

    public let store: Store
    /// The store's UUID.
    public var storeIdentifier: String { store.identifier }
    public var path: String { store.path }
    /// The token after the last transaction of the store; nil for a store without history.
    public let historyToken: HistoryToken?
    /// Whether a context of this coordinator wrote, and not another process or another coordinator.
    public let isOwn: Bool
    public let file: File
}
