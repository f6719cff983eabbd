import Corestone

extension Model {
    /// Prints warnings about an incomplete model on standard error.
    ///
    /// The warnings are about its problems, and about relationships without a matching inverse.
    func printDraftProblems(_ path: String) {
        for problem in draftProblems { Messages.printMessage("warning: \(path): \(problem.message)") }
        for entity in entities {
            for relationship in entity.ownRelationships where relationship.inverse == nil {
                let isAlone = relationship.extras.attributes["inverseName"] == nil
                if relationship.missingDestination != nil || isAlone && draftProblems.isEmpty { continue }
                let named = relationship.extras.attributes["inverseName"].map {
                    " because \(relationship.destination.name).\($0) does not exist or does not lead back"
                }
                Messages.printMessage(
                    "warning: \(path): \(entity.name).\(relationship.name) does not have an inverse\(named ?? "")")
            }
        }
    }
}

extension Relationship {
    /// The destination as text; in an incomplete model, the name in the file.
    var destinationName: String {
        guard let missing = missingDestination else { return destination.name }
        return missing.isEmpty ? "nothing yet" : "\(missing) (missing)"
    }
}
