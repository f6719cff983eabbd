import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// The rows of those fetched objects whose values may differ from the store.
///
/// Conditions that are evaluated in memory instead of by the store use these rows, not the values of the objects.
final class FetchedRowMatcher {
    /// The properties of a fetch that determine whether objects or rows are evaluated.
    struct Rules {
        /// Whether key paths contain relationships to other objects, which may be changed or stale.
        let refersToOtherObjects: Bool
        /// Whether unsaved changes are included.
        let includesPending: Bool
    }

    let rules: Rules
    private var rows: [ObjectIdentifier: StoredRow] = [:]

    init(_ rules: Rules) { self.rules = rules }

    /// Creates the matcher of a request.
    ///
    /// - Parameter remainder: The conditions to be evaluated in memory; nil if they differ between stores.
    init(_ request: FetchRequest, _ remainder: FetchRemainder? = nil, isSorted: Bool = false) {
        let predicate = remainder == nil ? request.effectivePredicate : remainder?.predicate
        let sortsOn = !isSorted && request.sortDescriptors.contains { $0.path.single == nil }
        rules = Rules(
            refersToOtherObjects: sortsOn || predicate?.refersToOtherObjects == true,
            includesPending: request.includesPendingChanges)
    }

    /// Adds rows that were read from a store.
    ///
    /// - Parameter decided: The objects that are skipped, because they are evaluated with the unsaved changes of
    ///   ancestor contexts.
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

    /// Returns the row to be evaluated for an object; nil if the object itself is evaluated.
    subscript(object: ManagedObject) -> StoredRow? { rows.isEmpty ? nil : rows[ObjectIdentifier(object)] }

    private func needsRow(_ object: ManagedObject, _ record: Record) -> Bool {
        if object.hasChanges { return !rules.includesPending }
        return rules.refersToOtherObjects || !object.shows(record)
    }
}

extension StoredRow {
    /// Returns the values by which a fetch sorts the row.
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
