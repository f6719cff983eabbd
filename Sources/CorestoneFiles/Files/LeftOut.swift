/// What a file holds and a model has no place for. It is passed over where versions are ignored; a save of the whole file would lose
/// it, so the store is read-only then.
final class LeftOut {
    private var first: String?
    private var names: Set<String> = []

    /// - Parameters:
    ///   - entity: as the file names it.
    ///   - key: nil for objects of an entity that the model lacks.
    func add(_ entity: String, _ key: String? = nil) {
        let name = key.map { "\(entity).\($0)" } ?? entity
        guard names.insert(name).inserted, first == nil else { return }
        first = key == nil ? "objects of \(name)" : "values of \(name)"
    }

    /// As the end of a sentence; nil when the model has a place for everything.
    var readOnlyReason: String? {
        guard let first else { return nil }
        let noun = names.count == 2 ? "entity or property" : "entities or properties"
        let more = names.count > 1 ? " and of \(names.count - 1) more \(noun)" : ""
        return
            "the file has \(first)\(more) that the model does not have and a save would lose; migrate the store, or add "
            + "them to the model"
    }
}
