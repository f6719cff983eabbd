/// Handling of missing rows: objects that are referenced although the store does not have their rows.
///
/// Such a reference dangles because the row was deleted without an update of the rows that refer to it. The values of
/// the object cannot be read, but references to the object can be removed.
extension ManagedObject {
    /// Whether the row of a saved object is neither in memory nor in the store.
    func isRowMissing() throws -> Bool {
        if record != nil || state.contains(.inserted) { return false }
        return try context?.faultLoader.loadRows(of: [self]).isEmpty == false
    }

    /// Runs `body`, which uses the object's values.
    ///
    /// Returns nil if `body` failed and the row is missing. The row is looked up only after a failure.
    @discardableResult
    func unlessRowIsMissing<Result>(_ body: () throws -> Result) throws -> Result? {
        do { return try body() } catch {
            guard try isRowMissing() else { throw error }
            return nil
        }
    }

    /// Fires a fault and returns the object. Returns nil if the row is missing.
    func loadedUnlessRowIsMissing() throws -> ManagedObject? {
        try unlessRowIsMissing {
            try fireIfNeeded()
            return self
        }
    }
}
