/// Content of a file that the model does not have.
///
/// If versions are ignored, the content is skipped. The store is then read-only, because a save of the whole file would
/// lose the content.
final class SkippedContent {
    private var first: String?
    private var names: Set<String> = []

    /// Records content that the model does not have.
    ///
    /// - Parameters:
    ///   - entity: The entity's name in the file.
    ///   - key: The property's name; nil if the model does not have the entity.
    func add(_ entity: String, _ key: String? = nil) {
        let name = key.map { "\(entity).\($0)" } ?? entity
        guard names.insert(name).inserted, first == nil else { return }
        first = key == nil ? "objects of \(name)" : "values of \(name)"
    }

    /// The reason why the store is read-only, as a clause for a message; nil if nothing was skipped.
    var readOnlyReason: String? {
        guard let first else { return nil }
        let noun = names.count == 2 ? "entity or property" : "entities or properties"
        let more =
            names.count > 1 ? " and of \(names.count - 1) more unknown \(noun)" : ", which the model does not have"
        return
            "a save would lose \(first)\(more); migrate the store with CST_STORE_MIGRATE (migrate, corestone migrate), "
            + "or use a model that has this content"
    }
}
