import CorestoneModel

/// Keeps the whole of an atomic store between processes.
protocol AtomicFile: Sendable {
    /// Replaces what is kept; the old state stays when that fails.
    func write(_ nodes: Nodes, _ metadata: StoreMetadata) throws
    /// Nobody needs it any more.
    func close()
}
