import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// The rows of those objects of a fetch that may show something else: where memory decides for the store, it decides by what the
/// store has, not by what an object of the context was read as.
final class FoundRows {
    /// What a fetch leaves to memory, as far as it concerns the choice between objects and rows.
    struct Rules {
        /// Whether key paths lead to other objects, which may be changed or old.
        let leadsOn: Bool
        /// Whether unsaved changes count.
        let includesPending: Bool
    }

    let rules: Rules
    private var rows: [ObjectIdentifier: StoredRow] = [:]

    init(_ rules: Rules) { self.rules = rules }

    /// - Parameter remainder: nil where each store has one of its own.
    init(_ request: FetchRequest, _ remainder: FetchRemainder? = nil, isSorted: Bool = false) {
        let predicate = remainder == nil ? request.effectivePredicate : remainder?.predicate
        let sortsOn = !isSorted && request.sortDescriptors.contains { $0.path.single == nil }
        rules = Rules(leadsOn: sortsOn || predicate?.leadsOn == true, includesPending: request.includesPendingChanges)
    }

    /// Takes in what was read of a store.
    /// - Parameter decided: objects that are judged by what contexts beneath have not saved.
    func add(
        _ objects: [ManagedObject], _ batch: RowBatch, of store: Store, in context: Context,
        except decided: [ObjectIdentifier: ManagedObject] = [:]
    ) {
        lazy var source = ContextRows(context, store)
        lazy var group = RowGroup(batch)
        for (place, object) in objects.enumerated() where needsRow(object, batch.records[place]) {
            if !decided.isEmpty, decided[ObjectIdentifier(object)] != nil { continue }
            rows[ObjectIdentifier(object)] = StoredRow(source, group, at: place)
        }
    }

    /// What to judge an object by; nil for the object itself.
    subscript(object: ManagedObject) -> StoredRow? { rows.isEmpty ? nil : rows[ObjectIdentifier(object)] }

    private func needsRow(_ object: ManagedObject, _ record: Record) -> Bool {
        if object.hasChanges { return !rules.includesPending }
        return rules.leadsOn || !object.shows(record)
    }
}

extension StoredRow {
    /// The values by which a fetch sorts the row.
    func sortKeys(_ descriptors: [SortDescriptor]) throws -> [PropertyValue] {
        try descriptors.map { try KeyPathEvaluation.value(of: .object(self), path: $0.path).withOriginals }
    }
}

extension ManagedObject {
    /// Whether the object has the row's values.
    fileprivate func shows(_ row: Record) -> Bool {
        record == row.start || record != nil && version == row.version && !state.contains(.nested)
    }
}
