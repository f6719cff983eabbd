import CorestoneModel
import CorestoneValues

extension Context {
    /// Processes pending changes here and in all ancestors, before a descendant context reads.
    func processPendingChangesInAncestors() throws {
        try parent?.processPendingChangesInAncestors()
        try processPendingChanges()
    }
}
