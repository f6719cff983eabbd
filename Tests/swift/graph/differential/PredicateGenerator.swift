import Corestone
import GraphSteps

/// Makes random predicates over the entities of a model, occasionally an ill-typed one.
struct PredicateGenerator {
    let model: Model
    let constants: Constants
    var dice: Dice
    /// The arguments of the format.
    private(set) var arguments: [PropertyValue] = []
    /// The variables of the enclosing subqueries, with their entities.
    private var variables: [(name: String, entity: Entity)] = []
    /// Whether an ill-typed comparison was made.
    private(set) var isIllTyped = false

    /// Values for comparisons, chosen so that some match.
    struct Constants {
        var numbers: [PropertyValue] = []
        var texts: [PropertyValue] = []
        var dates: [PropertyValue] = []
        var others: [AttributeType: [PropertyValue]] = [:]
        /// By the name of the root entity.
        var objects: [String: [PropertyValue]] = [:]
    }

    init(model: Model, constants: Constants, seed: UInt64) {
        self.model = model
        self.constants = constants
        dice = Dice(seed: seed)
    }

    mutating func make(_ entity: Entity) throws -> Predicate {
        (arguments, variables, isIllTyped) = ([], [], false)
        let text = predicate(entity, 3)
        // Numbers between control characters stand for arguments, which were not made in the order of the text.
        let parts = text.split(separator: "\u{1}", omittingEmptySubsequences: false)
        let isArgument = parts.indices.map { $0 % 2 == 1 }
        let format = zip(parts, isArgument).map { $1 ? "%@" : String($0) }.joined()
        let ordered = zip(parts, isArgument).compactMap { $1 ? arguments[Int($0) ?? 0] : nil }
        return try Predicate.parse(format, arguments: ordered)
    }

    mutating func sort(_ entity: Entity) -> [SortDescriptor] {
        variables = []
        return (0..<(1 + dice.below(3))).compactMap { _ in
            let kinds: [Kind] = [.number, .number, .text, .text, .date, .other(.uuid), .other(.boolean)]
            guard let path = path(entity, dice.pick(kinds))?.path else { return nil }
            return SortDescriptor(
                path: KeyPath(path), ascending: dice.chance(60), selector: dice.pick(SortDescriptor.Selector.allCases))
        }
    }

    // MARK: Predicates

    private mutating func predicate(_ entity: Entity, _ depth: Int) -> String {
        switch depth > 0 ? dice.below(10) : 9 {
        case 0: return "NOT (\(predicate(entity, depth - 1)))"
        case 1, 2, 3:
            let word = dice.pick([" AND ", " OR "])
            return (0..<(2 + dice.below(2))).map { _ in "(\(predicate(entity, depth - 1)))" }.joined(separator: word)
        default: return comparison(entity, depth)
        }
    }

    private mutating func comparison(_ entity: Entity, _ depth: Int) -> String {
        switch dice.below(20) {
        case 0...4: return numbers(entity, depth)
        case 5...9: return texts(entity, depth)
        case 10: return objects(entity)
        case 11...13: return quantified(entity, depth)
        case 14: return membership(entity, depth)
        case 15: return dates(entity)
        case 16: return others(entity)
        case 17: return subquery(entity, depth) ?? numbers(entity, depth)
        case 18: return presence(entity)
        default: return dice.chance(30) ? illTyped(entity) : texts(entity, depth)
        }
    }

    private mutating func order() -> String { dice.pick(["==", "!=", "<", "<=", ">", ">="]) }
    private mutating func options() -> String { dice.pick(["", "", "", "[c]", "[d]", "[cd]", "[n]", "[l]", "[cdl]"]) }

    private mutating func numbers(_ entity: Entity, _ depth: Int) -> String {
        let left = number(entity, depth)
        switch dice.below(8) {
        case 0: return "\(left) IN {\(number(entity, 0)), \(argument(dice.pick(constants.numbers))), nil}"
        case 1: return "\(left) BETWEEN {\(number(entity, 0)), \(number(entity, depth))}"
        case 2: return "\(left) IN \(list(constants.numbers))"
        case 3: return "nil \(order()) \(left)"
        default: return "\(left) \(order()) \(dice.chance(6) ? "nil" : number(entity, depth))"
        }
    }

    private mutating func texts(_ entity: Entity, _ depth: Int) -> String {
        let left = text(entity, depth)
        switch dice.below(12) {
        case 0...3:
            let word = dice.pick(["BEGINSWITH", "ENDSWITH", "CONTAINS", "LIKE", "IN"])
            return "\(left) \(word)\(options()) \(dice.chance(5) ? "nil" : text(entity, 0))"
        case 4:
            let pattern = dice.pick([
                "*", "?", "a*", "*e", "A?*", "*s?r*", #"a\*b"#, #"a\*"#, #"a\\b"#, #"a\b*"#, "", "*é", "**", "st*ße",
            ])
            return "\(left) LIKE\(options()) \(argument(.string(pattern)))"
        case 5:
            let pattern = dice.pick(["[A-Z].*", ".", ".*e", "\\w*", "a|A", "", "(?i)STRASSE", ".{2}", "É", "^a$"])
            return "\(left) MATCHES\(dice.pick(["", "[c]", "[d]", "[cd]"])) \(argument(.string(pattern)))"
        case 6: return "\(left) IN \(list(constants.texts))"
        case 7: return "\(left) BETWEEN\(options()) {\(text(entity, 0)), \(text(entity, 0))}"
        case 8:
            return
                "\(argument(dice.pick(constants.texts))) \(dice.pick(["CONTAINS", "BEGINSWITH", "=="]))\(options()) \(left)"
        default: return "\(left) \(order())\(options()) \(dice.chance(6) ? "nil" : text(entity, depth))"
        }
    }

    private mutating func dates(_ entity: Entity) -> String {
        guard let path = path(entity, .date)?.path else { return numbers(entity, 0) }
        let constant = argument(dice.pick(constants.dates))
        let start = "startOf" + dice.pick(["Year", "Quarter", "Month", "Week", "Day", "Hour", "Minute"])
        switch dice.below(6) {
        case 5: return "\(start)(\(path)) \(order()) \(start)(\(constant))"
        case 0: return "\(path) IN \(list(constants.dates))"
        case 1: return "\(path) BETWEEN {\(constant), \(argument(dice.pick(constants.dates)))}"
        case 2: return "\(path) < CAST(\(number(entity, 0)), 'NSDate')"
        default: return "\(path) \(order()) \(dice.chance(20) ? "now()" : constant)"
        }
    }

    private mutating func others(_ entity: Entity) -> String {
        let type = dice.pick([AttributeType.uuid, .binary, .uri, .decimal, .boolean])
        guard let path = path(entity, .other(type))?.path, let values = constants.others[type] else {
            return numbers(entity, 0)
        }
        switch dice.below(4) {
        case 0: return "\(path) IN \(list(values))"
        case 1 where type != .uuid: return "\(path) \(order()) \(argument(dice.pick(values)))"
        default: return "\(path) \(dice.pick(["==", "!="])) \(dice.chance(20) ? "nil" : argument(dice.pick(values)))"
        }
    }

    private mutating func objects(_ entity: Entity) -> String {
        guard let (path, target) = path(entity, .object), let values = constants.objects[target.root.name] else {
            return dice.chance(50)
                ? "SELF == \(argument(dice.pick(constants.objects[entity.root.name] ?? [.null])))" : presence(entity)
        }
        switch dice.below(6) {
        case 0: return "\(path) IN \(list(values))"
        case 1: return "\(path) == nil"
        case 2: return "\(path).objectID \(dice.pick(["==", "!="])) \(argument(dice.pick(values)))"
        case 3: return "\(path) \(dice.pick(["==", "!="])) \(self.path(entity, .object)?.path ?? "SELF")"
        default: return "\(path) \(dice.pick(["==", "!="])) \(argument(dice.pick(values)))"
        }
    }

    private mutating func presence(_ entity: Entity) -> String {
        let kind = dice.pick([Kind.number, .text, .date, .object, .other(.uuid), .other(.binary), .other(.decimal)])
        return "\(path(entity, kind)?.path ?? "SELF") \(dice.pick(["==", "!="])) nil"
    }

    private mutating func quantified(_ entity: Entity, _ depth: Int) -> String {
        guard let (start, target) = collection(entity, depth) else { return numbers(entity, depth) }
        let word = dice.pick(["ANY", "ALL", "NONE", "SOME"])
        if dice.chance(20), start.first != "S", let further = collection(target, 0) {
            guard let leaf = path(further.entity, .text, from: "")?.path, variables.isEmpty else {
                return numbers(entity, 0)
            }
            return "\(word) \(start).\(further.path).\(leaf) \(order()) \(text(entity, 0))"
        }
        switch dice.below(6) {
        case 0: return "\(word) \(start) == \(argument(dice.pick(constants.objects[target.root.name] ?? [.null])))"
        case 1...2:
            guard let leaf = path(target, .number, from: "")?.path else { break }
            if dice.chance(20) {
                return "\(word) \(start).\(leaf) BETWEEN {\(number(entity, 0)), \(number(entity, 0))}"
            }
            return "\(word) \(start).\(leaf) \(order()) \(dice.chance(10) ? "nil" : number(entity, 0))"
        default:
            guard let leaf = path(target, .text, from: "")?.path else { break }
            let comparison = dice.pick(["==", "!=", "<", "BEGINSWITH", "CONTAINS", "LIKE"]) + options()
            return "\(word) \(start).\(leaf) \(comparison) \(dice.chance(10) ? "nil" : text(entity, 0))"
        }
        return "\(start).@count > 0"
    }

    private mutating func membership(_ entity: Entity, _ depth: Int) -> String {
        guard let (start, target) = collection(entity, depth) else { return numbers(entity, depth) }
        switch dice.below(3) {
        case 0:
            let own = argument(dice.pick(constants.objects[target.root.name] ?? [.null]))
            return dice.chance(50) ? "\(own) IN \(start)" : "\(start) CONTAINS \(own)"
        case 1:
            guard let leaf = path(target, .number, from: "")?.path else { break }
            return "\(number(entity, 0)) IN \(start).\(leaf)"
        default:
            guard let leaf = path(target, .text, from: "")?.path else { break }
            let own = text(entity, 0)
            return dice.chance(50) ? "\(own) IN \(start).\(leaf)" : "\(start).\(leaf) CONTAINS \(own)"
        }
        return "\(start).@count == 1"
    }

    private mutating func subquery(_ entity: Entity, _ depth: Int) -> String? {
        guard let (start, target) = collection(entity, 0), depth > 0 else { return nil }
        let filtered = filtered(start, target, entity, depth)
        switch dice.below(6) {
        case 0: return "\(filtered)[SIZE] \(order()) \(dice.below(3))"
        case 1:
            guard let leaf = path(target, .number, from: "")?.path else { break }
            return "\(filtered).@\(dice.pick(["max", "min", "sum", "avg"])).\(leaf) \(order()) \(number(entity, 0))"
        default: break
        }
        return "\(filtered).@count \(order()) \(dice.below(3))"
    }

    private mutating func filtered(_ start: String, _ target: Entity, _ entity: Entity, _ depth: Int) -> String {
        let name = "v\(variables.count)"
        let outer = variables
        variables.append((name, target))
        defer { variables = outer }
        return "SUBQUERY(\(start), $\(name), \(predicate(entity, depth - 1)))"
    }

    private mutating func illTyped(_ entity: Entity) -> String {
        isIllTyped = true
        let path = path(entity, .text)?.path ?? "SELF"
        let number = self.path(entity, .number)?.path ?? "1"
        return dice.pick([
            "\(path) < 5", "\(number) CONTAINS 'a'", "\(number) BEGINSWITH 'x'", "\(path) + 1 > 2",
            "uppercase(\(number)) == 'A'",
            "sqrt(\(path)) > 1", "ANY \(path) == 'a'", "\(path).@count > 1", "nonesuch == 1", "\(path) BETWEEN 5",
            "\(number) > 'abc'", "5 IN \(path)",
        ])
    }

    // MARK: Expressions

    private mutating func argument(_ value: PropertyValue) -> String {
        arguments.append(value)
        return "\u{1}\(arguments.count - 1)\u{1}"
    }

    private mutating func list(_ values: [PropertyValue]) -> String {
        let count = dice.chance(20) ? 9 + dice.below(30) : 1 + dice.below(3)
        return argument(.array((0..<count).map { _ in dice.chance(4) ? .null : dice.pick(values) }))
    }

    private mutating func number(_ entity: Entity, _ depth: Int) -> String {
        if dice.chance(25) { return argument(dice.pick(constants.numbers)) }
        if depth <= 0 || dice.chance(50) { return path(entity, .number)?.path ?? "3" }
        switch dice.below(13) {
        case 12:
            let name = dice.pick([
                "year", "quarter", "month", "weekOfYear", "dayOfYear", "day", "weekday", "hour", "second",
            ])
            return path(entity, .date).map { "\(name)(\($0.path))" } ?? "3"
        case 0, 1:
            return "(\(number(entity, depth - 1)) \(dice.pick(["+", "-", "*", "/"])) \(number(entity, depth - 1)))"
        case 2: return "modulus:by:(\(number(entity, depth - 1)), \(argument(.int(Int64(dice.below(5))))))"
        case 3:
            let name = dice.pick(["abs", "floor", "ceiling", "trunc", "sqrt", "ln", "log"])
            return "\(name)(\(number(entity, depth - 1)))"
        case 4: return "-\(path(entity, .number)?.path ?? "3")"
        case 5: return "length(\(text(entity, depth - 1)))"
        case 6: return "TERNARY(\(comparison(entity, depth - 1)), \(number(entity, 0)), \(number(entity, 0)))"
        case 7:
            guard let path = path(entity, .other(.integer32))?.path else { return "3" }
            return "(\(path) \(dice.pick(["&", "|", "^", "<<", ">>"])) \(argument(.int(Int64(dice.below(9))))))"
        case 8:
            guard let (start, target) = collection(entity, depth), let leaf = path(target, .number, from: "")?.path
            else { return "2" }
            return dice.chance(30)
                ? "\(dice.pick(["sum", "max"])):(\(start).\(leaf))"
                : "\(start).@\(dice.pick(["sum", "min", "max", "avg"])).\(leaf)"
        case 9: return "raise:toPower:(\(number(entity, 0)), 2)"
        default:
            guard let (start, _) = collection(entity, depth) else { return "1" }
            return dice.pick(["\(start).@count", "(\(start))[SIZE]", "count:(\(start))"])
        }
    }

    private mutating func text(_ entity: Entity, _ depth: Int) -> String {
        if dice.chance(35) { return argument(dice.pick(constants.texts)) }
        if depth <= 0 || dice.chance(70) { return path(entity, .text)?.path ?? "'x'" }
        switch dice.below(6) {
        case 5:
            let own = variables.last.map { "$\($0.name)." } ?? ""
            return dice.chance(80) ? "\(own)entity.name" : "\(path(entity, .object)?.path ?? "SELF").entity.name"
        case 0: return "uppercase(\(text(entity, 0)))"
        case 1: return "lowercase(\(text(entity, 0)))"
        case 2: return "canonical(\(text(entity, 0)))"
        case 3: return "TERNARY(\(comparison(entity, depth - 1)), \(text(entity, 0)), nil)"
        default:
            guard let (start, target) = collection(entity, 0), let leaf = path(target, .text, from: "")?.path else {
                return "'e'"
            }
            return "\(start).@\(dice.pick(["min", "max"])).\(leaf)"
        }
    }

    // MARK: Paths

    enum Kind: Equatable {
        case number, text, date, object
        case other(AttributeType)

        func suits(_ type: AttributeType) -> Bool {
            switch self {
            case .number: [.integer16, .integer32, .integer64, .double, .float, .boolean].contains(type)
            case .text: type == .string
            case .date: type == .date
            case .object: false
            case .other(let other): type == other
            }
        }
    }

    /// A path from the object or a variable through to-one relationships to a property of the wanted kind.
    ///
    /// Properties of subentities are included.
    private mutating func path(_ entity: Entity, _ kind: Kind, from start: String? = nil) -> (
        path: String, entity: Entity
    )? {
        var (prefix, current) = (start ?? "", entity)
        if start == nil, let variable = variables.last, dice.chance(60) {
            (prefix, current) = ("$\(variable.name).", variable.entity)
        }
        while dice.chance(30), let hop = relationship(of: current, isToMany: false) {
            prefix += hop.name + "."
            current = hop.destination
        }
        if kind == .object {
            guard let hop = relationship(of: current, isToMany: false) else { return nil }
            return (prefix + hop.name, hop.destination)
        }
        let own = current.attributes + (dice.chance(20) ? current.withDescendants.flatMap(\.attributes) : [])
        let attributes = own.flatMap { $0.type == .composite ? $0.elements : [$0] }.filter {
            !$0.isTransient && kind.suits($0.type)
        }
        return attributes.isEmpty ? nil : (prefix + dice.pick(attributes).path, current)
    }

    /// A path to a to-many relationship, occasionally over another one or filtered by a subquery.
    private mutating func collection(_ entity: Entity, _ depth: Int) -> (path: String, entity: Entity)? {
        var (prefix, current) = ("", entity)
        if let variable = variables.last, dice.chance(60) {
            (prefix, current) = ("$\(variable.name).", variable.entity)
        }
        if dice.chance(25), let hop = relationship(of: current, isToMany: false) {
            prefix += hop.name + "."
            current = hop.destination
        }
        guard var members = relationship(of: current, isToMany: true) else { return nil }
        var path = prefix + members.name
        if dice.chance(10), let further = relationship(of: members.destination, isToMany: true) {
            members = further
            path += "." + further.name
        }
        if depth > 1, dice.chance(12) { return (filtered(path, members.destination, entity, 1), members.destination) }
        return (path, members.destination)
    }

    private mutating func relationship(of entity: Entity, isToMany: Bool) -> Relationship? {
        let all = entity.relationships.filter { $0.isToMany == isToMany && !$0.isTransient }
        return all.isEmpty ? nil : dice.pick(all)
    }
}
