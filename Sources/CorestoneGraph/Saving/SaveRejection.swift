import CorestoneModel
import CorestoneValues

/// A reason why a transaction could not be written: a concurrent save, or objects of the same save.
package enum SaveRejection: Error {
    /// Rows were changed in the store since they were read.
    case stale
    /// Another row, or another object of the save, has the unique values of an object. The value is the store's error.
    case duplicateError(CoreError)
    /// A custom store reported the rows that have conflicts.
    case reported(ReportedRows)

    var reported: ReportedRows? { if case .reported(let rows) = self { rows } else { nil } }

    var duplicateError: CoreError? {
        switch self {
        case .stale: nil
        case .duplicateError(let error): error
        case .reported(let rows): rows.duplicateError
        }
    }
}

/// The rows of a save that a custom store reported as conflicts.
///
/// They have another version in the store or are deleted, or the reference of a new row already exists.
package struct ReportedRows {
    package let rows: [(entity: Entity, key: Int64)]
    /// The error for rows whose unique values other rows have; nil if there are no such rows.
    package let duplicateError: CoreError?

    /// The primary keys of the rows, by the index of the root entity.
    private let keys: [UInt32: Set<Int64>]

    package init(_ rows: [(entity: Entity, key: Int64)], duplicateError: CoreError?) {
        (self.rows, self.duplicateError) = (rows, duplicateError)
        var keys: [UInt32: Set<Int64>] = [:]
        for row in rows { keys[row.entity.rootIndex, default: []].insert(row.key) }
        self.keys = keys
    }

    /// Whether the row of a key is among the reported rows.
    func names(_ entity: Entity, _ key: Int64) -> Bool { keys[entity.rootIndex]?.contains(key) ?? false }

    /// Returns one error for all rows, with a detail for each row.
    ///
    /// - Parameters:
    ///   - conflicts: The conflicts of these rows, if they are known. They replace the details.
    ///   - areOfObjects: Whether the rows are those of a context's objects. The details then have a remedy.
    func error(
        _ head: String, _ remedy: String, _ conflicts: [SaveConflict] = [], of store: any PersistentStore,
        areOfObjects: Bool = true
    ) -> CoreError {
        var faults: [String] = []
        var details = rows.map { row in
            let uri = ObjectID.uri(ofKey: row.key, entity: row.entity, in: store.references, store: store.identifier)
            let fault =
                "\(uri) was changed or deleted in the store since it was read, or is new and already has a row there"
            faults.append(fault)
            return CoreError(
                .conflict, code: .managedObjectMerge,
                fault
                    + (areOfObjects
                        ? "; call cst_object_refresh (refresh) on the object, or use another reference if it is new, "
                            + "and save again" : ""),
                entity: row.entity.name, objectURI: uri, file: store.path)
        }
        if let duplicateError {
            details.append(duplicateError)
            faults.append(duplicateError.message)
        }
        let shown = 20
        var message = faults.prefix(shown).reduce("\(Coordinator.shown(store.path)) \(head):") { "\($0)\n  \($1)" }
        if details.count > shown { message += "\n  and \(details.count - shown) more" }
        return CoreError(
            .conflict, message + "\n  " + remedy,
            customCode: rows.isEmpty && duplicateError != nil
                ? duplicateError?.code : CocoaCode.managedObjectMerge.rawValue,
            entity: details.first?.entity,
            objectURI: details.first?.objectURI, children: conflicts.isEmpty ? details : conflicts.map(\.error),
            file: store.path, payload: conflicts.isEmpty ? nil : ConflictList(conflicts))
    }
}

extension PersistentStore {
    /// Saves like `save`, but throws an error for conflicts, because a merge policy cannot resolve them.
    ///
    /// - Parameter work: The operation, in the message after "could not".
    func saveUnmerged(
        _ work: String, by author: SaveAuthor = SaveAuthor(), _ body: (any SaveTransaction) throws -> Void
    ) throws {
        do { try save(by: author, body) } catch let rejection as SaveRejection {
            let reported = rejection.reported ?? ReportedRows([], duplicateError: rejection.duplicateError)
            // The error for equal unique values has its own remedy, and another attempt would fail too.
            throw reported.error(
                "reported conflicts and could not \(work)",
                reported.duplicateError == nil ? "nothing was written; try again" : "nothing was written", of: self,
                areOfObjects: false)
        }
    }
}
