import CorestonePredicate
import CorestoneValues

/// How a fetch is answered: which SQL runs, by which indexes, and what is left to memory. Nothing was fetched for it.
public struct FetchExplanation: Sendable {
    /// One line of the store's own plan.
    public struct Step: Sendable, Hashable {
        /// Such as `SEARCH t0 USING INDEX …`.
        public let detail: String
        /// How many steps it is a part of.
        public let depth: Int

        package init(detail: String, depth: Int) {
            self.detail = detail
            self.depth = depth
        }
    }

    /// What one store does.
    public struct Share: Sendable {
        /// The store's file.
        public let path: String
        /// Empty where the store is no database.
        public let sql: String
        /// What is bound to the placeholders, in order, as the columns hold it: dates are numbers, objects primary keys.
        public let bindings: [PropertyValue]
        public let steps: [Step]
        /// The indexes that the steps use.
        public let indexes: [String]
        /// The part of the predicate that memory decides, for each row that the store finds; nil when the store decides all.
        public let remainder: Predicate?
        /// Whether rows are sorted in memory.
        public let isSortedInMemory: Bool
        /// Why memory has something left to do, one sentence for each part.
        public let reasons: [String]

        package init(
            path: String, sql: String, bindings: [PropertyValue], steps: [Step], indexes: [String],
            remainder: FetchRemainder?
        ) {
            self.path = path
            self.sql = sql
            self.bindings = bindings
            self.steps = steps
            self.indexes = indexes
            self.remainder = remainder?.predicate
            isSortedInMemory = remainder?.isUnordered ?? false
            var seen: Set<String> = []
            reasons = (remainder?.reasons ?? []).filter { seen.insert($0).inserted }
        }
    }

    /// The name of the entity.
    public let entity: String
    public let predicate: Predicate?
    /// One for each store that is asked.
    public let shares: [Share]
    /// How many objects with unsaved changes are matched, sorted and windowed in memory beside the rows.
    public let pendingObjects: Int
}

extension FetchExplanation: CustomStringConvertible {
    /// For people: several lines.
    public var description: String {
        var lines = ["fetch \(entity)\(predicate.map { " where \($0.format)" } ?? "")"]
        for share in shares {
            if shares.count > 1 { lines.append("in \(share.path)") }
            if !share.sql.isEmpty { lines.append("sql: \(share.sql)") }
            for (place, value) in share.bindings.enumerated() {
                lines.append("  bound \(place + 1): \(Expression.constant(value).format)")
            }
            lines.append("plan:")
            lines += share.steps.map { String(repeating: "  ", count: $0.depth + 1) + $0.detail }
            lines.append("indexes: \(share.indexes.isEmpty ? "none" : share.indexes.joined(separator: ", "))")
            if let remainder = share.remainder { lines.append("in memory: \(remainder.format)") }
            if share.isSortedInMemory { lines.append("in memory: sorting") }
            if share.remainder == nil, !share.isSortedInMemory { lines.append("in memory: nothing") }
            lines += share.reasons.map { "  because \($0)" }
        }
        if pendingObjects > 0 {
            let noun = pendingObjects == 1 ? "object" : "objects"
            lines.append("in memory: \(pendingObjects) \(noun) with unsaved changes, limit and offset")
        }
        return lines.joined(separator: "\n")
    }

    /// The same as data.
    package var report: PropertyValue {
        .dictionary([
            "entity": .string(entity), "predicate": text(predicate), "shares": .array(shares.map(\.report)),
            "pendingObjects": .int(Int64(pendingObjects)),
        ])
    }
}

extension FetchExplanation.Share {
    fileprivate var report: PropertyValue {
        .dictionary([
            "path": .string(path), "sql": .string(sql), "bindings": .array(bindings),
            "steps": .array(steps.map { .dictionary(["detail": .string($0.detail), "depth": .int(Int64($0.depth))]) }),
            "indexes": .array(indexes.map { .string($0) }), "remainder": text(remainder),
            "isSortedInMemory": .bool(isSortedInMemory), "reasons": .array(reasons.map { .string($0) }),
        ])
    }
}

private func text(_ predicate: Predicate?) -> PropertyValue { predicate.map { .string($0.format) } ?? .null }

extension Context {
    /// How a fetch would be answered now.
    ///
    /// - Throws: what the fetch would throw before it reads a row, such as `Status.predicate` for a wrong key.
    public func explain(_ request: FetchRequest) throws -> FetchExplanation {
        if request.resultType == .dictionaries { return try explainDictionaries(request) }
        return try preparedFetch(request) { try explanation(of: $0) }
    }

    private func explanation(of request: FetchRequest) throws -> FetchExplanation {
        let stores = try stores(for: request)
        // None that the request affects, or in the generation: such a fetch returns nothing.
        guard !stores.isEmpty || !coordinator.stores.isEmpty else { throw noStore(request) }
        let pending = pendingChanges(for: request)
        let isWindowed = stores.count == 1 && pending.isEmpty
        let shares = try stores.compactMap { store in
            try reading(store) { try $0.explain(request.storeFetch(.rows, windowed: isWindowed)) }
        }
        return FetchExplanation(
            entity: request.entity.name, predicate: request.predicate, shares: shares,
            pendingObjects: pending.inserted.count + pending.updated.count)
    }
}
