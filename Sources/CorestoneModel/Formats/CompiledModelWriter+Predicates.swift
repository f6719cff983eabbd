import CorestoneFormats
import CorestonePredicate
import CorestoneValues

/// Compilation of predicates and expressions.
///
/// They are compiled unchanged, or the compilation fails, because a request without its predicate would fetch all
/// objects.
extension CompiledModelWriter {
    /// Returns the archived predicate; the archive's null for nil.
    ///
    /// - Parameters:
    ///   - owner: the owner of the predicate, for errors.
    ///   - key: the name of the property, template or index.
    /// - Throws: `.model` if the predicate cannot be parsed or archived.
    func predicate(
        _ text: PredicateText?, _ owner: String, of entity: String?, key: String
    ) throws -> PropertyListValue {
        try text.map { try compiled($0, owner, entity, key, archiver.predicate) } ?? KeyedArchiver.null
    }

    /// Returns the archived expression.
    ///
    /// - Throws: as `predicate`.
    func expression(_ text: ExpressionText, _ owner: String, of entity: String, key: String) throws -> PropertyListValue
    {
        try compiled(text, owner, entity, key, archiver.expression)
    }

    private func compiled<Meaning>(
        _ text: FormatText<Meaning>, _ owner: String, _ entity: String?, _ key: String,
        _ archive: (Meaning) throws -> PropertyListValue
    ) throws -> PropertyListValue {
        if let foreign = text.foreign { return archiver.add(foreign) }
        do {
            archiver.startTree()
            return try archive(try text.required())
        } catch let error as CoreError {
            throw CoreError(
                .model, code: .coreData,
                "\(owner) cannot be compiled: \(error.message)",
                entity: entity, key: key, value: error.value, predicate: text.text, offset: error.offset)
        }
    }
}
