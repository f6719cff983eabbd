import CorestoneModel
import CorestoneValues

/// What other saves, or objects of this one, put in the way of a transaction.
package enum SaveObstacle: Error {
    /// Rows are no longer what they were read as.
    case stale
    /// Another row, or another object of the save, has the unique values of an object: what the store said.
    case taken(CoreError)
    /// A store of a host's own kind says which rows stand against what it has.
    case reported(ReportedRows)

    var reported: ReportedRows? { if case .reported(let rows) = self { rows } else { nil } }

    var taken: CoreError? {
        switch self {
        case .stale: nil
        case .taken(let error): error
        case .reported(let rows): rows.taken
        }
    }
}

/// Rows of a save that a host's store reports: they have another version there, or are gone; of new rows, there is one of that
/// reference already.
package struct ReportedRows {
    package let rows: [(entity: Entity, key: Int64)]
    /// What is said of the rows whose unique values others have; nil without such.
    package let taken: CoreError?

    /// By the index of the root.
    private let keys: [UInt32: Set<Int64>]

    package init(_ rows: [(entity: Entity, key: Int64)], taken: CoreError?) {
        (self.rows, self.taken) = (rows, taken)
        var keys: [UInt32: Set<Int64>] = [:]
        for row in rows { keys[row.entity.rootIndex, default: []].insert(row.key) }
        self.keys = keys
    }

    func names(_ entity: Entity, _ key: Int64) -> Bool { keys[entity.rootIndex]?.contains(key) ?? false }

    /// One error for all of the rows, with each of them as a detail.
    ///
    /// - Parameter conflicts: of those rows, where somebody asked what is in conflict.
    func error(
        _ head: String, _ remedy: String, _ conflicts: [SaveConflict] = [], of store: any PersistentStore
    ) -> CoreError {
        var faults: [String] = []
        var details = rows.map { row in
            let uri = ObjectID.uri(ofKey: row.key, entity: row.entity, in: store.references, store: store.identifier)
            let fault =
                "\(uri) was changed or deleted in the store since it was read, or is new and already has a row there"
            faults.append(fault)
            return CoreError(
                .conflict, code: .managedObjectMerge,
                "\(fault); refresh the object, or use another reference if it is new, and save again",
                entity: row.entity.name, objectURI: uri, file: store.path)
        }
        if let taken {
            details.append(taken)
            faults.append(taken.message)
        }
        let shown = 20
        var message = faults.prefix(shown).reduce("\(store.path) \(head):") { "\($0)\n  \($1)" }
        if details.count > shown { message += "\n  and \(details.count - shown) more" }
        return CoreError(
            .conflict, message + "\n  " + remedy,
            customCode: rows.isEmpty && taken != nil ? taken?.code : CocoaCode.managedObjectMerge.rawValue,
            entity: details.first?.entity,
            objectURI: details.first?.objectURI, children: conflicts.isEmpty ? details : conflicts.map(\.error),
            file: store.path, payload: conflicts.isEmpty ? nil : ConflictList(conflicts))
    }
}

extension PersistentStore {
    /// The same as `save` for work that no merge policy can settle: what stands against it is the error.
    ///
    /// - Parameter work: what is done, as in "it could not …".
    func saveUnmerged(
        _ work: String, by author: SaveAuthor = SaveAuthor(), _ body: (any SaveTransaction) throws -> Void
    ) throws {
        do { try save(by: author, body) } catch let obstacle as SaveObstacle {
            throw (obstacle.reported ?? ReportedRows([], taken: obstacle.taken)).error(
                "reported conflicts and could not \(work)",
                "nothing was written; try again", of: self)
        }
    }
}
