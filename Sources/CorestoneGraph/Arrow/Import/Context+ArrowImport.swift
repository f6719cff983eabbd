import CorestoneModel
import CorestoneValues

extension Context {
    /// Inserts an object for each row of an Arrow stream. A save validates them, like other inserted objects.
    ///
    /// Columns are attributes, elements of composite attributes, relationships and keys of relationships; see
    /// `ArrowImportOptions.columns`. Attributes without a column have their defaults. A row can refer to objects of the
    /// store, to unsaved objects and to other rows of the stream.
    ///
    /// After a failure, the objects of the context, their relationships and the undo stack are as before. Inserted
    /// objects then leave the context without delete rules and hooks of deletion.
    ///
    /// - Parameter place: A `struct ArrowArrayStream`. It is moved, and released before the call returns or throws.
    /// - Throws: `.invalidArgument` for an unknown column or property, a key without an object, or a damaged stream.
    ///   `.typeMismatch` for a column, and for a value, that the property does not take.
    ///   `.validation` for a value out of the range of its type.
    ///   `.callback` if the stream fails.
    ///   `.cancelled` if the import is cancelled.
    @discardableResult
    public func insertArrow(
        _ entity: Entity, from place: UnsafeMutableRawPointer, options: ArrowImportOptions = ArrowImportOptions()
    ) throws -> Int {
        let stream = try ArrowInputStream(moving: place, for: entity)
        guard options.keys.isEmpty else {
            throw CoreError(
                .invalidArgument,
                "keys apply only to an upsert; omit them, or call cst_context_upsert_arrow (upsert_arrow, upsertArrow)",
                entity: entity.name, key: "keys")
        }
        return try importArrow(stream, entity, options, isUpsert: false).inserted
    }

    /// Updates the objects that have the keys of a row of an Arrow stream, and inserts objects for the other rows.
    ///
    /// Only properties with a column are set. An object whose values are equal remains unchanged. A key with a null
    /// does not match. Otherwise like `insertArrow`, with the same errors.
    ///
    /// - Throws: `.invalidArgument` if several objects have the keys of a row, or if the keys cannot identify objects.
    @discardableResult
    public func upsertArrow(
        _ entity: Entity, from place: UnsafeMutableRawPointer, options: ArrowImportOptions = ArrowImportOptions()
    ) throws -> ArrowImportResult {
        try importArrow(try ArrowInputStream(moving: place, for: entity), entity, options, isUpsert: true)
    }

    private func importArrow(
        _ stream: ArrowInputStream, _ entity: Entity, _ options: ArrowImportOptions, isUpsert: Bool
    ) throws -> ArrowImportResult {
        try checkQueue()
        try refuseInHook("import an Arrow stream into \(entity.name)", entity: entity.name)
        guard entity.model === coordinator.model else {
            throw CoreError(
                .invalidArgument,
                "\(entity.name) does not belong to the model of this context's coordinator; use the entity of that "
                    + "model",
                entity: entity.name, key: "entity")
        }
        if entity.isAbstract { try ManagedObject.requireConcrete(entity) }
        return try keepingHold {
            try trying { try ArrowImport(stream, entity, options, isUpsert: isUpsert, in: self, $0).run() }
        }
    }

    /// Runs a callback of an Arrow import. Calls that would invalidate the import fail in it.
    func whileStreamRuns<Result>(_ body: () throws -> Result) rethrows -> Result {
        hookState.imports += 1
        defer { hookState.imports -= 1 }
        return try body()
    }
}
