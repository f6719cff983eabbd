import CorestonePredicate
import CorestoneValues

/// What a model's author wrote is compiled as it stands or not at all: without its predicate a request finds everything.
extension CompiledModelWriter {
    /// The archived predicate; the archive's null for none.
    /// - Parameters:
    ///   - what: what it is a predicate of, for the error.
    ///   - key: the name of the property, template or index.
    /// - Throws: `.model` when it cannot be read, or no archive can say it.
    func predicate(
        _ text: PredicateText?, _ what: String, of entity: String?, key: String
    ) throws -> PropertyListValue {
        try text.map { try compiled($0, what, entity, key, archiver.predicate) } ?? KeyedArchiver.null
    }

    /// The archived expression.
    /// - Throws: as `predicate`.
    func expression(_ text: ExpressionText, _ what: String, of entity: String, key: String) throws -> PropertyListValue
    {
        try compiled(text, what, entity, key, archiver.expression)
    }

    private func compiled<Meaning>(
        _ text: FormatText<Meaning>, _ what: String, _ entity: String?, _ key: String,
        _ archive: (Meaning) throws -> PropertyListValue
    ) throws -> PropertyListValue {
        if let foreign = text.foreign { return archiver.add(foreign) }
        do {
            archiver.startTree()
            return try archive(try text.required())
        } catch let error as CoreError {
            throw CoreError(
                .model, code: .coreData,
                "\(what) cannot be compiled for a .mom file or a store: \(error.message)",
                entity: entity, key: key, value: error.value, predicate: text.text)
        }
    }
}
