import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// The rows of a lazy fetch of dictionaries.
///
/// The rows are read in batches. The list contains the object IDs of all rows, and the batches that were used last. It
/// is used only on the queue of its context.
final class RowBatches: @unchecked Sendable {
    private let context: Context
    private let found: ObjectBatches.Found
    /// The request for one batch, whose predicate is replaced for each read.
    private let request: FetchRequest
    /// The index of the column with the object ID.
    private let identifier: Int
    private let width: Int
    let size: Int
    /// The batches in memory, in the order of their last use.
    private var held: [(number: Int, rows: [[PropertyValue]])] = []

    private static let maximumHeld = 4

    init(_ found: ObjectBatches.Found, _ fetch: DictionaryFetch, identifier: Int, _ context: Context) {
        (self.found, self.identifier, self.context) = (found, identifier, context)
        width = fetch.columns.count
        size = fetch.request.batchSize
        request = fetch.request.copy()
        (request.sortDescriptors, request.limit, request.offset, request.batchSize) = ([], 0, 0, 0)
        request.allowsSplit = true
    }

    var count: Int { found.entries.count }

    func row(at index: Int) throws -> [PropertyValue] {
        let number = index / size
        return try batch(number)[index - number * size]
    }

    func all() throws -> [[PropertyValue]] { try (0..<count).map(row) }

    private func batch(_ number: Int) throws -> [[PropertyValue]] {
        try context.checkQueue()
        if let last = held.last, last.number == number { return last.rows }
        if let place = held.firstIndex(where: { $0.number == number }) {
            held.append(held.remove(at: place))
            return held[held.count - 1].rows
        }
        let rows = try read(number)
        if held.count == RowBatches.maximumHeld { held.removeFirst() }
        held.append((number, rows))
        return rows
    }

    /// Reads a batch, in the order of the list. The row of a deleted object contains only the object ID.
    private func read(_ number: Int) throws -> [[PropertyValue]] {
        let first = number * size
        let references = (first..<min(first + size, count)).map { reference(at: $0) }
        request.predicate = .oneOf(references)
        let rows = try context.fetchDictionaries(request).rows
        let known = Dictionary(rows.map { ($0[identifier], $0) }) { first, _ in first }
        return references.map { known[$0] ?? missing($0) }
    }

    private func missing(_ reference: PropertyValue) -> [PropertyValue] {
        (0..<width).map { $0 == identifier ? reference : .null }
    }

    private func reference(at index: Int) -> PropertyValue {
        let entry = found.entries[index]
        return .object(
            ObjectIDReference(
                ObjectID(
                    store: found.stores[Int(entry.store)], entity: context.entity(at: entry.entity),
                    reference: entry.primaryKey)))
    }
}

extension Predicate {
    /// Returns a predicate that selects the objects of these references.
    static func oneOf(_ references: [PropertyValue]) -> Predicate {
        .comparison(Comparison(.selfObject, .in, .constant(.array(references))))
    }
}

extension DictionaryFetch {
    /// The index of the column with the object ID, which is required for reading in batches; nil without such a column.
    var identifierPlace: Int? {
        if isGrouped || request.returnsDistinctResults { return nil }
        return columns.firstIndex { column in
            guard [.undefined, .objectID].contains(column.resultType) else { return false }
            if case .keyPath(let path) = column.computed {
                return ["objectID", "self.objectID"].contains(path.text)
                    && request.entity.property(named: path.text) == nil
            }
            return column.computed == .selfObject
        }
    }

    /// Logs, once for each entity and list of columns, that the batch size has no effect.
    func warnOfBatchSize() {
        let names = columns.map(\.name)
        var hasher = Hasher()
        hasher.combine("batch size")
        hasher.combine(request.entity.name)
        hasher.combine(names)
        let reason =
            isGrouped || request.returnsDistinctResults
            ? "\(isGrouped ? "groups" : "distinct rows") are always read at once; leave the batch size out"
            : "rows without an object ID are read at once; add the column \"objectID\" (Python) or the expression SELF, or leave the "
                + "batch size out"
        DebugLog.warnOnce(
            hasher.finalize(),
            "the batch size \(request.batchSize) of a fetch of dictionaries of \(request.entity.name) "
                + "(\(names.abridged)) has no effect: \(reason)")
    }
}
