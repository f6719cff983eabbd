/// A change of a store or of its file, reported by the coordinator's notification `remoteChange`.
public struct RemoteChange: Sendable {
    /// The state of the store's file.
    public enum File: UInt32, Sendable {
        /// The file was written.
        case written = 0
        /// Another file now exists at the store's path.
        ///
        /// The store continues to use the opened file, which is no longer at the path. Remove the store and add it
        /// again.
        case replaced
        /// The file at the store's path does not exist any more.
        case removed
    }

    public let store: Store
    /// The store's UUID.
    public var storeIdentifier: String { store.identifier }
    public var path: String { store.path }
    /// The token of the last transaction; nil if it is unknown, for example in a store without history.
    public let historyToken: HistoryToken?
    /// Whether this coordinator wrote, not another process or another coordinator.
    public let isOwn: Bool
    public let file: File
}
