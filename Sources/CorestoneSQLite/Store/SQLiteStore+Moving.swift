import CorestoneGraph
import CorestoneModel
import CorestoneValues

extension SQLiteStore {
    /// Switches to the file at `path`, which must be a copy of this store.
    func move(to path: String) throws {
        if isInMemory || path == StoreLocation.inMemoryPath {
            throw refusal(
                "cannot move \(self.path) to \(path)"
                    + (isInMemory
                        ? ": an in-memory store does not have a file; migrate it with cst_coordinator_migrate_store "
                            + "(migrate_store, migrateStore)"
                        : ", which does not store data; choose the path of a file"),
                path, .unsupported)
        }
        var options = options
        if !isReadOnly { options.isReadOnly = false }
        (options.mustExist, options.vacuums, options.analyzes) = (true, false, false)
        options.keepsHistory = keepsHistory
        let opened = try StoreOpener(path, model: schema.model, options: options, versions: versionsOfCopies).run()
        do {
            guard opened.identifier == identifier else {
                throw refusal(
                    "\(path) is not a copy of \(self.path): its identifier is \"\(opened.identifier)\", not "
                        + "\"\(identifier)\"; choose a copy, or migrate the store with cst_coordinator_migrate_store "
                        + "(migrate_store, migrateStore)", path)
            }
            guard opened.schema.numbers == schema.numbers,
                opened.schema.creationStatements == schema.creationStatements
            else {
                throw refusal(
                    "\(path) is a copy of \(self.path) with other tables or entity numbers; add it to another "
                        + "coordinator with cst_coordinator_add_store (add_store, addStore)", path)
            }
            if let reason = opened.readOnlyReason, !isReadOnly {
                throw refusal(
                    "cannot move \(self.path) to \(path), which is read-only: \(reason)", path, .storeReadOnly)
            }
            try change(to: opened)
        } catch {
            opened.connection.close()
            throw error
        }
    }

    /// The rule for the version hashes of a copy. They are not compared if the store ignores them, or uses its cached
    /// or an inferred model. They are never adapted to the model.
    var versionsOfCopies: VersionRule {
        options.ignoresVersioning || modelSource != .given ? .notCompared : .compared
    }

    private func refusal(_ message: String, _ path: String, _ status: Status = .invalidArgument) -> CoreError {
        CoreError(
            status, code: .persistentStoreOperation, message, key: status == .invalidArgument ? "path" : nil,
            file: path)
    }
}
