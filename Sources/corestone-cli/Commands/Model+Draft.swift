import Corestone

extension Model {
    /// Tells on standard error what a draft lacks, and which of its relationships have no inverse, or name one that does not answer.
    func tellOfDraft(_ path: String) {
        for problem in draftProblems { Messages.tell("warning: \(path): \(problem.message)") }
        for entity in entities {
            for relationship in entity.ownRelationships where relationship.inverse == nil {
                let isAlone = relationship.extras.attributes["inverseName"] == nil
                if relationship.missingDestination != nil || isAlone && draftProblems.isEmpty { continue }
                let named = relationship.extras.attributes["inverseName"].map {
                    " because \(relationship.destination.name).\($0) does not exist or does not lead back"
                }
                Messages.tell(
                    "warning: \(path): \(entity.name).\(relationship.name) does not have an inverse\(named ?? "")")
            }
        }
    }
}

extension Relationship {
    /// Where it leads, in words: of a draft that is what the file says.
    var destinationName: String {
        guard let missing = missingDestination else { return destination.name }
        return missing.isEmpty ? "nothing yet" : "\(missing) (missing)"
    }
}
