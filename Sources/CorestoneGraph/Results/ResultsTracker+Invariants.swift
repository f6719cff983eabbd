extension ResultsTracker {
    /// Verifies, in debug builds:
    /// - Each row of the snapshot is the row of its member, and there are no other members.
    /// - `unsaved` contains only members with temporary IDs.
    /// - The sections contain all rows.
    ///
    /// Called after a change was applied. Only results of at most 256 rows are checked.
    func checkInvariants() {
        #if DEBUG
            guard let snapshot, snapshot.count <= 256 else { return }
            precondition(
                members.count == snapshot.count,
                "a results tracker has \(members.count) members for \(snapshot.count) rows")
            for row in snapshot.rows.all {
                precondition(members[row.id]?.row === row, "a row of the results is not that of its member")
            }
            precondition(unsaved.values.allSatisfy(\.isTemporary), "an ID of an unsaved member is permanent")
            if let end = snapshot.sections.starts.last, naming != nil {
                precondition(end == snapshot.count, "the sections of the results do not contain all rows")
            }
        #endif
    }
}
