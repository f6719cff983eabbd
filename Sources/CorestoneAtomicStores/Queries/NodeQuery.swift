import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// The execution plan of a fetch in an atomic store.
///
/// It consists of the rows to be examined, the conditions, and the remainder for the context.
struct NodeQuery {
    let fetch: StoreFetch
    let rows: NodeRows
    /// The primary keys of the rows that may match; nil for all.
    let candidates: NodeCandidates?
    /// The conditions that the store evaluates for each row: first the quick tests, then `condition`.
    private let quick: [QuickTest]
    private let condition: Predicate?
    let remainder: FetchRemainder?
    private let isUnordered: Bool
    private let entities: Set<UInt32>?
    /// Whether the scan may stop at the end of the window. If false, the predicate may fail for a later row, and that
    /// error must be reported.
    private let stopsEarly: Bool

    /// Plans a fetch.
    ///
    /// - Parameter isChecked: Whether the predicate cannot fail for any row.
    init(_ fetch: StoreFetch, isChecked: Bool, _ store: NodeStore, _ rows: NodeRows) throws {
        (self.fetch, self.rows, stopsEarly) = (fetch, rows, isChecked)
        let nodes = store.nodes
        var (own, left, reasons) = ([Predicate](), [Predicate](), [String]())
        for conjunct in fetch.predicate?.conjuncts ?? [] {
            let needs = HostNeeds(store.hostNames, of: conjunct).reasons
            if needs.isEmpty { own.append(conjunct) } else { left.append(conjunct) }
            reasons += needs.filter { !reasons.contains($0) }
        }
        let sortNeeds = HostNeeds(store.hostNames, of: fetch.sortDescriptors).reasons
        reasons += sortNeeds.filter { !reasons.contains($0) }
        isUnordered = !sortNeeds.isEmpty
        if left.isEmpty && !isUnordered {
            remainder = nil
        } else {
            remainder = FetchRemainder(
                predicate: try left.count > 1 ? .and(left) : left.first, isUnordered: isUnordered, reasons: reasons)
            if !fetch.allowsRemainder {
                throw CoreError(
                    .unsupported,
                    "\(Coordinator.shown(store.path)) cannot evaluate the whole fetch of \(fetch.entity.name): "
                        + "\(reasons.joined(separator: ", ")); change the request, or set CST_FETCH_ALLOWS_SPLIT "
                        + "(split, allowsSplit)",
                    entity: fetch.entity.name, file: store.path)
            }
        }
        let root = fetch.entity.root.withDescendants.count
        let wanted = fetch.includesSubentities ? fetch.entity.withDescendants.map(\.index) : [fetch.entity.index]
        entities = wanted.count == root ? nil : Set(wanted)
        candidates = NodeCandidates(own, fetch.entity, nodes, rows)
        // All candidates satisfy this conjunct.
        if let place = candidates?.decided { own.remove(at: place) }
        quick = own.compactMap { QuickTest($0, fetch.entity) }
        let rest = own.filter { QuickTest($0, fetch.entity) == nil }
        condition = try rest.count > 1 ? .and(rest) : rest.first
    }

    // MARK: Running

    /// Returns the matching rows, sorted and limited unless the context does that.
    ///
    /// - Parameter clock: Checks periodically whether the request was cancelled.
    func run(_ nodes: Nodes, _ clock: NodeClock) throws -> ContiguousArray<Record> {
        let isWindowed = remainder == nil
        let isSorted = !fetch.sortDescriptors.isEmpty && !isUnordered && fetch.result != .count
        let (offset, limit) = isWindowed ? (max(fetch.offset, 0), max(fetch.limit, 0)) : (0, 0)
        // Rows are in the order of primary keys, so without sort descriptors the first matches are the window.
        let end = limit == 0 || offset.addingReportingOverflow(limit).overflow ? .max : offset + limit
        let enough = isSorted || !stopsEarly ? .max : end
        var found: ContiguousArray<Record> = []
        let isWhole = candidates == nil && condition == nil && quick.isEmpty && entities == nil
        if isWhole { found.reserveCapacity(min(enough, nodes.tree(of: fetch.entity).count)) }
        var row = StoredRow(rows, fetch.entity)
        func append(_ record: Record) throws -> Bool {
            try clock.tick()
            if let entities, !entities.contains(record.header.pointee.entity) { return true }
            for test in quick where !test.holds(record) { return true }
            if let condition {
                // If the predicate kept a reference to the row, for instance in an error, that row must not change.
                if !isKnownUniquelyReferenced(&row) { row = StoredRow(rows, fetch.entity) }
                row.setRow(record)
                if try !condition.evaluate(with: row, arithmetic: .nilPropagating) { return true }
            }
            found.append(record)
            return found.count < enough
        }
        if let candidates {
            for key in candidates.keys {
                guard let node = nodes.node(fetch.entity.root, key) else { continue }
                if try !append(node.record) { break }
            }
        } else {
            try nodes.tree(of: fetch.entity).forEach(append)
        }
        if isSorted {
            let order = try NodeOrder(fetch.sortDescriptors, found, rows, clock)
            found = try order.sorted(first: end)
        }
        if offset > 0 { found = ContiguousArray(found.dropFirst(offset)) }
        if limit > 0, found.count > limit { found = ContiguousArray(found.prefix(limit)) }
        return found
    }
}

extension Predicate {
    /// The conjuncts of the predicate. Nested AND predicates are flattened.
    var conjuncts: [Predicate] {
        guard case .compound(let compound) = self, compound.type == .and else { return [self] }
        return compound.parts.flatMap(\.conjuncts)
    }
}

/// A clock that calls the application's interrupt check at intervals of at least 5 milliseconds.
final class NodeClock {
    private let check: (() -> Bool)?
    private let purpose: String
    private let entity: String
    private let path: String
    private var ticks = 0
    private var lastCheck: UInt64

    private static let patience: UInt64 = 5_000_000

    /// Creates a clock.
    ///
    /// - Parameter purpose: The verb for error messages, as in "cannot fetch Person".
    init(_ check: (() -> Bool)?, _ purpose: String, _ entity: String, _ path: String) {
        (self.check, self.purpose, self.entity, self.path) = (check, purpose, entity, path)
        lastCheck = check == nil ? 0 : monotonicNanoseconds()
    }

    @inline(__always)
    func tick() throws {
        if check == nil { return }
        ticks &+= 1
        if ticks & 63 == 0 { try checkInterrupt() }
    }

    private func checkInterrupt() throws {
        let now = monotonicNanoseconds()
        if now - lastCheck < NodeClock.patience { return }
        lastCheck = now
        guard check?() == true else { return }
        throw CoreError(
            .cancelled, code: .persistentStoreOperation, "cannot \(purpose) \(entity): cancelled by the application",
            entity: entity, file: path)
    }
}
