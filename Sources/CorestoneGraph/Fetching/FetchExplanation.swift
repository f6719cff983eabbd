import CorestonePredicate
import CorestoneValues

/// The plan of a fetch that was not executed.
///
/// It contains the SQL, the indexes that are used, and the work in memory.
public struct FetchExplanation: Sendable {
    /// One line of the store's query plan.
    public struct Step: Sendable, Hashable {
        /// The text, such as `SEARCH t0 USING INDEX …`.
        public let detail: String
        /// The nesting depth.
        public let depth: Int

        package init(detail: String, depth: Int) {
            self.detail = detail
            self.depth = depth
        }
    }

    /// The plan of one store.
    public struct Share: Sendable {
        /// The path of the store.
        public let path: String
        /// The SQL statement; empty if the store is not a database.
        public let sql: String
        /// The values that are bound to the placeholders, in their stored form.
        ///
        /// Dates are numbers, and objects are primary keys.
        public let bindings: [PropertyValue]
        public let steps: [Step]
        /// The indexes that the steps use.
        public let indexes: [String]
        /// The part of the predicate that is evaluated in memory, on the rows that the store returns.
        ///
        /// Nil if the store evaluates the whole predicate.
        public let remainder: Predicate?
        /// Whether rows are sorted in memory.
        public let isSortedInMemory: Bool
        /// The reasons for the work in memory, one clause each.
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
    /// The plans of the stores.
    public let shares: [Share]
    /// The number of objects with unsaved changes that are matched and sorted in memory, in addition to the rows.
    public let pendingObjects: Int
}

extension FetchExplanation: CustomStringConvertible {
    /// A readable text of several lines.
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

    /// The explanation as a dictionary, for bindings.
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
    /// Explains how a fetch would be executed now.
    ///
    /// - Throws: The errors that the fetch throws before it reads a row, such as `Status.predicate` for an unknown key.
    public func explain(_ request: FetchRequest) throws -> FetchExplanation {
        if request.resultType == .dictionaries { return try explainDictionaries(request) }
        return try fetchExecutor.prepare(request) { try explanation(of: $0) }
    }

    private func explanation(of request: FetchRequest) throws -> FetchExplanation {
        let stores = try fetchExecutor.stores(for: request)
        // If there are stores, but the request or the generation excludes all of them, the fetch has an empty result.
        guard !stores.isEmpty || !coordinator.stores.isEmpty else { throw fetchExecutor.noStore(request) }
        let pending = fetchExecutor.pendingChanges(for: request)
        let isWindowed = stores.count == 1 && pending.isEmpty
        let shares = try stores.compactMap { store in
            try reading(store) { try $0.explain(request.storeFetch(.rows, windowed: isWindowed)) }
        }
        return FetchExplanation(
            entity: request.entity.name, predicate: request.predicate, shares: shares,
            pendingObjects: pending.inserted.count + pending.updated.count)
    }
}
