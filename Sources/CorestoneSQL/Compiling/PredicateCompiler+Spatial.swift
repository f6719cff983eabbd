import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// What the conjuncts of a predicate say of one attribute.
private struct SpatialRange {
    var lower: Double?
    var upper: Double?
    /// The index that `indexed:by:` names; nil where it is for the store to choose.
    var index: String?

    /// Whether an R-tree is worth asking: a range with one end is most of the rows, unless the author knows better.
    var isNarrow: Bool { index != nil || lower != nil && upper != nil }
}

/// A range, and the columns of a tree that bound it.
private struct ServedRange {
    let bounds: (least: String, greatest: String)
    let range: SpatialRange
    let path: String

    /// Bounds beyond those of 32 bits say nothing: the tree has infinity there. Nor do bounds nearer to zero than normal numbers of 32
    /// bits: SQLite's rounding fails there, and a value may lie outside its own bounds.
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

/// What R-trees say of the rows that a predicate finds.
struct SpatialCondition {
    let sql: SQLFragment
    /// A statement that gives whether the tree finds few of the rows; nil where the author asked for it by name. Past some part of a
    /// table a scan is quicker.
    let probe: SQLFragment?

    /// A row that a tree finds costs as much as twenty that a scan passes, and the probe itself takes its time: it counts to 4,096 at
    /// most, whatever the size of the table. A scan that ends at a limit has few rows to pass.
    static func probe(_ rows: SQLFragment, of table: String, isLimited: Bool) -> SQLFragment {
        let part: SQLFragment =
            "(SELECT min(ifnull(max(\(identifier: "Z_PK")), 0) / 32 + 64, 4096) FROM \(identifier: table))"
        let most: SQLFragment = isLimited ? "64" : part
        return "SELECT (SELECT count(*) FROM (SELECT 1 \(rows) LIMIT \(most))) < \(most)"
    }
}

/// For which ranges a statement asks R-trees.
package enum SpatialUse: Sendable {
    /// Those for which `indexed:by:` asks for one, and plain ones that have two ends.
    case all
    case named
}

extension PredicateCompiler {
    /// A condition by which the store's R-trees find the rows that can satisfy a predicate; nil where none serves.
    ///
    /// It is meant to stand beside the predicate's own: an R-tree keeps bounds in 32 bits, rounded away from the value, and 0 where
    /// there is none, so that what it finds are all rows in a range, and perhaps a few beside. SQLite looks up all that the tree finds
    /// before it looks at anything else, so a plain range is left to it where another index finds the rows.
    ///
    /// - Parameters:
    ///   - use: which ranges are looked for.
    ///   - isLimited: whether the statement ends at a limit without a sort before.
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
        func served(by tree: SpatialMapping) -> [ServedRange] {
            ranges.compactMap { path, range in
                guard range.index.map({ $0 == tree.name }) ?? true else { return nil }
                return tree.bounds[path].map { ServedRange(bounds: $0, range: range, path: path) }
            }.sorted { $0.path < $1.path }
        }
        var found: SpatialCondition?
        // One that knows more of the ranges narrows more.
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

    /// Whether a comparison asks for a few values, or objects, that an index of another kind finds.
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

    private func isIndexedKey(_ key: Expression, _ mapping: EntityMapping) -> Bool {
        if key == .selfObject { return true }
        guard let (path, index) = spatialKey(key), index == nil else { return false }
        if mapping.indexedKeys.contains(path) { return true }
        return ["self", "objectID"].contains(path) && mapping.entity.property(named: path) == nil
    }

    /// Takes in what a comparison says of an attribute of the object itself.
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

    /// The attribute that an expression is the value of, and the index that it names for that.
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

    /// Looks at a call of `indexed:by:`, and tells the log of one by which an R-tree is not asked.
    ///
    /// - Throws: as `index(named:over:_:)`.
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
            "indexed:by:(\(path), \"\(index.name)\") has no effect\(remedy)")
    }

    /// The index that `indexed:by:` names, and the entity whose objects it finds.
    ///
    /// - Throws: `.predicate` for what is no attribute of one object, for an index that its entity does not have, and for one that is
    ///   not over it.
    private func index(
        named name: Expression, over value: Expression, _ environment: Environment
    ) throws -> (index: FetchIndex, owner: Entity) {
        guard let (path, keys) = path(value, environment), !keys.isEmpty, case .constant(.text(let text)) = name
        else {
            throw CoreError(
                .predicate,
                "indexed:by: takes a key path and the name of an index, as in indexed:by:(latitude, \"byPlace\"), not "
                    + "\(value.format) and \(name.format)", entity: environment.root.mapping.entity.name,
                key: "indexed:by:", value: name.constantValue)
        }
        var compiler = self
        let joins = path.state
        defer { path.state = joins }
        guard case .attribute(let found) = try compiler.resolve(keys, path), found.rest.isEmpty else {
            let (entity, shown) = (path.mapping.entity.name, keys.map(\.text).joined(separator: "."))
            throw CoreError(
                .predicate, "indexed:by: takes an attribute, but \(entity).\(shown) is not one", entity: entity,
                key: shown)
        }
        let attribute = found.attribute
        let owner = keys.count == 1 ? path.mapping.entity : attribute.entity
        let indexes = sequence(first: owner, next: \.parent).flatMap(\.indexes)
        let shown = "\(attribute.entity.name).\(attribute.path)"
        guard let index = indexes.first(where: { $0.name == text.string }) else {
            let near = nearestName(to: text.string, among: indexes.map(\.name)).map { "; did you mean \"\($0)\"?" }
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
                    + "\(index.elements.map { "\"\($0.property)\"" }.joined(separator: ", ")); name another index, or leave "
                    + "indexed:by: out",
                entity: owner.name, key: attribute.path, value: .text(text))
        }
        return (index, owner)
    }
}
