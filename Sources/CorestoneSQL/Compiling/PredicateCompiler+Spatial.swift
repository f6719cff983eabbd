import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// The range to which the conjuncts of a predicate limit one attribute.
private struct SpatialRange {
    var lower: Double?
    var upper: Double?
    /// The index that `indexed:by:` names; nil if the store chooses.
    var index: String?

    /// Whether the range can select few rows. A range with only one limit may include most rows, so it counts as narrow
    /// only if `indexed:by:` requests an R-tree.
    var isNarrow: Bool { index != nil || lower != nil && upper != nil }
}

/// A range, and the R-tree columns with the bounds of the attribute.
private struct IndexedRange {
    let bounds: (least: String, greatest: String)
    let range: SpatialRange
    let path: String

    /// The conditions on the bounds in the tree.
    ///
    /// The bounds are 32-bit floats. A lower limit below the range of floats and an upper limit above it are left out,
    /// because the tree stores infinity there. A limit closer to zero than the least normal float is moved outwards to
    /// that float or to its negative. SQLite rounds values near zero incorrectly, so that one may be outside its own
    /// bounds.
    var conditions: [SQLFragment] {
        let (largest, smallest) = (Double(Float.greatestFiniteMagnitude), Double(Float.leastNormalMagnitude))
        var conditions: [SQLFragment] = []
        if let lower = range.lower, lower >= -largest {
            let bound = abs(lower) < smallest ? -smallest : lower
            conditions.append("\(identifier: bounds.greatest) >= \(bind: .real(bound))")
        }
        if let upper = range.upper, upper <= largest {
            let bound = abs(upper) < smallest ? smallest : upper
            conditions.append("\(identifier: bounds.least) <= \(bind: .real(bound))")
        }
        return conditions
    }
}

/// The condition by which R-trees narrow the rows of a predicate.
struct SpatialCondition {
    let sql: SQLFragment
    /// A statement that returns whether the tree finds few enough rows; nil if `indexed:by:` requests the tree. Above
    /// some share of the table, a scan is faster.
    let probe: SQLFragment?

    /// Builds the statement that decides between an R-tree and a scan.
    ///
    /// A row that a tree finds costs about as much as twenty rows of a scan. The probe counts at most 4,096 rows,
    /// because counting takes time too. A scan that stops at a limit reads few rows, so the tree must find fewer than
    /// 64.
    static func probe(_ rows: SQLFragment, of table: String, isLimited: Bool) -> SQLFragment {
        let part: SQLFragment =
            "(SELECT min(ifnull(max(\(identifier: "Z_PK")), 0) / 32 + 64, 4096) FROM \(identifier: table))"
        let most: SQLFragment = isLimited ? "64" : part
        return "SELECT (SELECT count(*) FROM (SELECT 1 \(rows) LIMIT \(most))) < \(most)"
    }
}

/// The ranges for which a statement uses R-trees.
package enum SpatialUse: Sendable {
    /// Ranges with `indexed:by:`, and other ranges if one of them in the same R-tree has two limits.
    case all
    /// Only ranges with `indexed:by:`.
    case named
}

extension PredicateCompiler {
    /// Returns a condition that finds candidate rows by R-trees, or nil if no R-tree is useful.
    ///
    /// The condition is added to the predicate's own, because a tree may find too many rows. A tree stores 32-bit
    /// bounds, rounded away from the value, and 0 for nil. SQLite reads every row that the tree finds before it
    /// evaluates other conditions. A range without `indexed:by:` therefore does not use the tree if another index finds
    /// the rows.
    ///
    /// - Parameters:
    ///   - use: The ranges for which R-trees are used.
    ///   - isLimited: Whether the statement stops at a limit and does not sort.
    mutating func spatialCondition(
        _ predicate: Predicate?, _ environment: Environment, _ use: SpatialUse, isLimited: Bool
    ) throws -> SpatialCondition? {
        let trees = environment.root.mapping.spatialIndexes
        guard !trees.isEmpty, let predicate else { return nil }
        var ranges: [String: SpatialRange] = [:]
        var isIndexed = false
        for case .comparison(let comparison) in predicate.conjuncts {
            try note(comparison, environment, in: &ranges)
            if !isIndexed { isIndexed = try self.isIndexed(comparison, environment) }
        }
        for (path, range) in ranges { if let index = range.index { servedNames.insert("\(path) \(index)") } }
        func served(by tree: SpatialMapping) -> [IndexedRange] {
            ranges.compactMap { path, range in
                guard range.index.map({ $0 == tree.name }) ?? true else { return nil }
                return tree.bounds[path].map { IndexedRange(bounds: $0, range: range, path: path) }
            }.sorted { $0.path < $1.path }
        }
        var found: SpatialCondition?
        // A tree that covers more of the ranges narrows the rows further.
        for tree in trees.sorted(by: { served(by: $0).count > served(by: $1).count }) {
            let served = served(by: tree)
            let isNamed = served.contains { $0.range.index != nil }
            let isPlain = use == .all && !isIndexed && found?.probe == nil && served.contains { $0.range.isNarrow }
            let bounds = served.flatMap(\.conditions)
            guard isNamed || isPlain, !bounds.isEmpty else { continue }
            for range in served { ranges[range.path] = nil }
            let rows: SQLFragment =
                "FROM \(identifier: tree.table) WHERE \(bounds.joined(separator: " AND "))"
            let condition: SQLFragment =
                "\(environment.root.alias, "Z_PK") IN (SELECT \(identifier: "Z_PK") \(rows))"
            let table = environment.root.mapping.table
            let probe: SQLFragment? =
                isNamed ? nil : SpatialCondition.probe(rows, of: table, isLimited: isLimited)
            found = SpatialCondition(
                sql: found.map { $0.sql + " AND " + condition } ?? condition, probe: found?.probe ?? probe)
        }
        return found
    }

    /// Whether a comparison by `==` or IN can use the primary key or an index of another kind.
    private func isIndexed(_ comparison: Comparison, _ environment: Environment) throws -> Bool {
        guard comparison.modifier == .direct, comparison.options.isBinary else { return false }
        let sides: [(key: Expression, value: Expression)]
        switch comparison.operator {
        case .equal: sides = [(comparison.left, comparison.right), (comparison.right, comparison.left)]
        case .in: sides = [(comparison.left, comparison.right)]
        default: return false
        }
        for (key, value) in sides where isIndexedKey(key, environment.root.mapping) {
            if let value = try constant(value, environment), !value.isNull { return true }
        }
        return false
    }

    private func isIndexedKey(_ key: Expression, _ mapping: TableMapping) -> Bool {
        if key == .selfObject { return true }
        guard let (path, index) = spatialKey(key), index == nil else { return false }
        if mapping.indexedKeys.contains(path) { return true }
        return ["self", "objectID"].contains(path) && mapping.entity.property(named: path) == nil
    }

    /// Adds the limits that a comparison sets for an attribute of the root entity.
    private func note(
        _ comparison: Comparison, _ environment: Environment, in ranges: inout [String: SpatialRange]
    ) throws {
        guard comparison.modifier == .direct else { return }
        var (left, right, operation) = (comparison.left, comparison.right, comparison.operator)
        if spatialKey(left) == nil {
            (left, right) = (right, left)
            switch operation {
            case .less: operation = .greater
            case .lessOrEqual: operation = .greaterOrEqual
            case .greater: operation = .less
            case .greaterOrEqual: operation = .lessOrEqual
            case .equal: break
            default: return
            }
        }
        guard let (path, index) = spatialKey(left),
            let attribute = environment.root.mapping.entity.property(named: path) as? Attribute
        else { return }
        func number(_ value: PropertyValue) -> Double? {
            if case .date(let date) = value { return attribute.type == .date && !date.isNaN ? date : nil }
            guard attribute.type != .date, let number = value.number, !number.isNaN else { return nil }
            return number
        }
        var (lower, upper): (Double?, Double?)
        if operation == .between {
            guard let limits = try twoLimits(right, environment) else { return }
            (lower, upper) = (number(limits[0]), number(limits[1]))
            if lower == nil || upper == nil { return }
        } else {
            guard let bound = try constant(right, environment).flatMap(number) else { return }
            switch operation {
            case .less, .lessOrEqual: upper = bound
            case .greater, .greaterOrEqual: lower = bound
            case .equal where index != nil: (lower, upper) = (bound, bound)
            default: return
            }
        }
        var range = ranges[path] ?? SpatialRange()
        if let lower { range.lower = max(range.lower ?? lower, lower) }
        if let upper { range.upper = min(range.upper ?? upper, upper) }
        range.index = range.index ?? index
        ranges[path] = range
    }

    private func twoLimits(_ list: Expression, _ environment: Environment) throws -> [PropertyValue]? {
        guard case .array(let limits)? = try constant(list, environment), limits.count == 2 else { return nil }
        return limits
    }

    /// Returns the path of the attribute that an expression reads, and the index that `indexed:by:` names.
    private func spatialKey(_ expression: Expression) -> (path: String, index: String?)? {
        switch expression {
        case .keyPath(let path), .path(.selfObject, let path): return (path.text, nil)
        case .function(.indexedBy, let arguments):
            guard arguments.count == 2, let (path, _) = spatialKey(arguments[0]),
                case .constant(.text(let name)) = arguments[1]
            else { return nil }
            return (path, name.string)
        default: return nil
        }
    }

    // MARK: indexed:by:

    /// Checks a call of `indexed:by:`, and logs a warning if it does not use its R-tree.
    ///
    /// - Throws: As `index(named:over:_:)`.
    @inline(never)
    func checkIndex(named name: Expression, over value: Expression, _ environment: Environment) throws {
        let (index, owner) = try index(named: name, over: value, environment)
        guard let (scope, keys) = path(value, environment),
            try schema.mapping(of: owner).spatialIndexes.contains(where: { $0.name == index.name })
        else { return }
        let path = keys.map(\.text).joined(separator: ".")
        if scope === environment.root, servedNames.contains("\(path) \(index.name)") { return }
        let entity = scope.mapping.entity.name
        let remedy =
            scope === environment.root
            ? "; compare an attribute of \(entity) with constants by ==, <, <=, >, >= or BETWEEN, and combine the comparison "
                + "with others only by AND"
            : " in a SUBQUERY; leave indexed:by: out"
        var hasher = Hasher()
        hasher.combine("indexed:by:")
        hasher.combine([entity, path, index.name])
        DebugLog.warnOnce(
            hasher.finalize(),
            "indexed:by:(\(path), \"\(index.name)\") of \(entity) has no effect\(remedy)")
    }

    /// Returns the index that `indexed:by:` names, and the entity whose objects it finds.
    ///
    /// - Throws: `.predicate` if the value is not an attribute of a single object, the entity does not have the index,
    ///   or the index does not cover the attribute.
    private func index(
        named name: Expression, over value: Expression, _ environment: Environment
    ) throws -> (index: FetchIndex, owner: Entity) {
        guard let (path, keys) = path(value, environment), !keys.isEmpty, case .constant(.text(let text)) = name
        else {
            throw CoreError(
                .predicate,
                "indexed:by: takes a key path and the name of an index, as in indexed:by:(latitude, \"byPlace\"), not "
                    + "\"indexed:by:(\(value.format), \(name.format))\"", entity: environment.root.mapping.entity.name,
                key: value.pathText ?? "indexed:by:",
                value: value.pathText == nil ? value.constantValue : name.constantValue)
        }
        var compiler = self
        let joins = path.state
        defer { path.state = joins }
        let resolved = try compiler.resolve(keys, path)
        guard case .attribute(let found) = resolved, found.rest.isEmpty else {
            let (entity, shown) = (path.mapping.entity.name, keys.map(\.text).joined(separator: "."))
            if case .toMany(let members) = resolved {
                let collection = keys.dropLast(members.rest.count).map(\.text).joined(separator: ".")
                throw CoreError(
                    .predicate,
                    "indexed:by: takes an attribute of a single object, but \(entity).\(collection) is a to-many "
                        + "relationship; leave indexed:by: out", entity: entity, key: shown)
            }
            throw CoreError(
                .predicate, "indexed:by: takes an attribute, but \(entity).\(shown) is not an attribute",
                entity: entity,
                key: shown)
        }
        let attribute = found.attribute
        let owner = keys.count == 1 ? path.mapping.entity : attribute.entity
        let indexes = sequence(first: owner, next: \.parent).flatMap(\.indexes)
        let shown = "\(attribute.entity.name).\(attribute.path)"
        guard let index = indexes.first(where: { $0.name == text.string }) else {
            let covering = indexes.filter { index in
                index.elements.contains { $0.expression == nil && $0.property == attribute.path }
            }
            let near = nearestName(to: text.string, among: covering.map(\.name)).map { "; did you mean \"\($0)\"?" }
            throw CoreError(
                .predicate,
                "\(owner.name) has no index \"\(text.string)\" that covers \(shown)"
                    + (near ?? "; add it to the model, or leave indexed:by: out"), entity: owner.name,
                key: attribute.path, value: .text(text))
        }
        guard index.elements.contains(where: { $0.expression == nil && $0.property == attribute.path }) else {
            throw CoreError(
                .predicate,
                "the index \"\(index.name)\" of \(owner.name) does not cover \(shown), only "
                    + "\(index.elements.map { "\"\($0.expression?.text ?? $0.property)\"" }.joined(separator: ", "))"
                    + "; name another index, or leave indexed:by: out",
                entity: owner.name, key: attribute.path, value: .text(text))
        }
        return (index, owner)
    }
}
