struct SnapshotEvents: OptionSet {
    let rawValue: UInt32
    static let undoInsertion = SnapshotEvents(rawValue: 2), undoDeletion = SnapshotEvents(rawValue: 4),
        undoUpdate = SnapshotEvents(rawValue: 8), rollback = SnapshotEvents(rawValue: 16)
}
extension ManagedObject { func sendAwake(fromSnapshotEvents: SnapshotEvents) throws {} }
