/// A ghost is an object that something leads to although the store has no row for it: the reference dangles, since the row was
/// deleted without a word to whatever led to it. Its values cannot be read, but it can be let go of.
extension ManagedObject {
    /// Looks for the row of an object that has none in memory.
    func isGhost() throws -> Bool {
        if record != nil || state.contains(.inserted) { return false }
        return try context?.loadRows(of: [self]).isEmpty == false
    }

    /// What `body` does with the object's values; nil when it failed because there are none. Costs nothing where there are.
    @discardableResult
    func unlessGhost<Result>(_ body: () throws -> Result) throws -> Result? {
        do { return try body() } catch {
            guard try isGhost() else { throw error }
            return nil
        }
    }
}
