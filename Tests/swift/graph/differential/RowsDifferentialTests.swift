import Corestone
import GraphSteps
import XCTest

/// A request for dictionaries returns the same rows in SQL and in memory, including the types of the values.
///
/// CORESTONE_SEED chooses another sequence, CORESTONE_ROWS how many requests.
final class RowsDifferentialTests: XCTestCase {
    private let folder = NSTemporaryDirectory() + "corestone-\(UUID().uuidString)"
    private var context: Context!
    private var model: Model!
    /// The objects that contexts read before the stores were changed.
    private var former: [ManagedObject] = []

    override func setUpWithError() throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        model = try Menagerie.model()
    }

    override func tearDown() {
        (context, former) = (nil, [])
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// - Parameter stores: The number of stores. Each contains different objects.
    private func open(_ stores: Int, seed: UInt64) throws {
        var dice = Dice(seed: seed)
        for number in 0..<stores {
            let filling = try Coordinator(model: model)
            try filling.addSQLiteStore(at: "\(folder)/\(number).sqlite")
            let writer = Context(coordinator: filling)
            try Menagerie.fill(writer, &dice)
            try writer.save()
        }
        let coordinator = try Coordinator(model: model)
        for number in 0..<stores { try coordinator.addSQLiteStore(at: "\(folder)/\(number).sqlite") }
        context = Context(coordinator: coordinator)
    }

    func testSQLAndMemoryReturnTheSameRows() throws { try agree(stores: 1, share: 1) }

    /// The objects of the context were read before another one changed the store.
    func testDictionaryFetchIgnoresStaleObjectsOfTheContext() throws {
        try agree(stores: 1, share: 3, isStale: true)
        XCTAssertFalse(former.isEmpty)
    }

    /// An in-memory store returns the same columns as SQLite for the same objects.
    func testInMemoryStoreReturnsTheSameRowsAsSQLite() throws {
        var contexts: [Context] = []
        for isInMemory in [false, true] {
            let coordinator = try Coordinator(model: model)
            if isInMemory {
                try coordinator.addStore(.inMemory, at: "memory")
            } else {
                try coordinator.addSQLiteStore(at: "\(folder)/twin.sqlite")
            }
            var dice = Dice(seed: 11)
            let writer = Context(coordinator: coordinator)
            try Menagerie.fill(writer, &dice)
            try writer.save()
            contexts.append(Context(coordinator: coordinator))
            former += try Menagerie.readAll(contexts[contexts.count - 1])
            try Menagerie.change(writer, &dice)
            try writer.save()
        }
        var failures = 0
        for number in 0..<1000 where failures < 5 {
            var generator = RowsGenerator(model: model, dice: Dice(seed: 977 &+ UInt64(number) &* 7919))
            let request = try generator.make()
            context = contexts[0]
            let stored = answer(request)
            context = contexts[1]
            let computed = answer(request)
            guard !same(stored, computed, isOrdered: request.hasOrder) else { continue }
            failures += 1
            XCTFail("number \(number): \(generator.text)\nSQLite \(stored)\nin memory \(computed)")
        }
    }

    func testSeveralStoresReturnTheSameRowsAsMemory() throws { try agree(stores: 2, share: 4) }

    func testCountOverSeveralStoresMatchesTheFetch() throws {
        try open(2, seed: 1)
        let request = FetchRequest(entity: try model.requireEntity(named: "Item"))
        let all = try context.fetch(request).count
        XCTAssertEqual(all, 72)
        for (limit, offset) in [(0, 0), (5, 0), (0, 70), (5, 70), (5, 99)] {
            (request.limit, request.offset) = (limit, offset)
            let counter = Context(coordinator: context.coordinator)
            XCTAssertEqual(try counter.count(request), try context.fetch(request).count)
            XCTAssertTrue(counter.registeredObjects.isEmpty)
        }
    }

    private func agree(stores: Int, share: Int, isStale: Bool = false) throws {
        let environment = ProcessInfo.processInfo.environment
        let seed = UInt64(environment["CORESTONE_SEED"] ?? "") ?? 20_261_122
        let count = (Int(environment["CORESTONE_ROWS"] ?? "") ?? 3000) / share
        print("seed \(seed), \(count) requests over \(stores) stores")
        try open(stores, seed: seed)
        if isStale {
            former = try Menagerie.readAll(context)
            let writer = Context(coordinator: context.coordinator)
            var dice = Dice(seed: seed)
            try Menagerie.change(writer, &dice)
            try writer.save()
        }
        var (statements, groups, refused, failures) = (0, 0, 0, 0)
        for number in 0..<count where failures < 5 {
            var generator = RowsGenerator(model: model, dice: Dice(seed: seed &+ UInt64(number) &* 7919))
            let request = try generator.make()
            let stored = answer(request)
            request.computesRowsInMemory = true
            let computed = answer(request)
            request.computesRowsInMemory = false
            if case .rows(let rows) = stored, !rows.isEmpty { groups += request.propertiesToGroupBy.isEmpty ? 0 : 1 }
            if case .failure = computed { refused += 1 }
            if let sql = try? context.explainDictionaries(request).shares.first?.sql,
                !sql.hasPrefix("SELECT t0.Z_PK, t0.Z_OPT")
            {
                statements += 1
            }
            guard !same(stored, computed, isOrdered: request.hasOrder) else { continue }
            failures += 1
            let sql = (try? context.explainDictionaries(request).description) ?? "no statement"
            XCTFail(
                "seed \(seed) number \(number): \(generator.text)\nin the store \(stored)\nin memory \(computed)\n\(sql)"
            )
        }
        print(
            "\(count) requests agree, \(statements) by a statement of their own, \(groups) with groups, \(refused) refused by both"
        )
        XCTAssertGreaterThan(statements * 10, count * 8)
        XCTAssertLessThan(refused * 5, count)
    }

    private enum Answer { case rows([[PropertyValue]]), failure(String) }

    private func answer(_ request: FetchRequest) -> Answer {
        do { return .rows(try context.fetchDictionaries(request).rows) } catch { return .failure("\(error)") }
    }

    private func same(_ a: Answer, _ b: Answer, isOrdered: Bool) -> Bool {
        switch (a, b) {
        case (.failure, .failure): return true
        // SQL does not convert the values of rows that it omits.
        case (.rows, .failure(let message)): return message.contains("but its expression returns")
        case (.rows(let x), .rows(let y)):
            let (x, y) = (x.map { $0.map(written) }, y.map { $0.map(written) })
            return isOrdered ? x == y : x.map { "\($0)" }.sorted() == y.map { "\($0)" }.sorted()
        default: return false
        }
    }

    /// A value with its type. The last digits of a sum of doubles depend on the order of its terms.
    private func written(_ value: PropertyValue) -> String {
        switch value {
        // SQLite columns do not store negative zero.
        case .double(let number): "double " + String(format: "%.10g", number == 0 ? 0 : number)
        case .array(let values): "array \(values.map(written).sorted())"
        case .object(let object):
            "object \((object as? ObjectIDReference).map { "\($0.id.entity.name) \($0.id.reference)" } ?? object.valueDescription)"
        default: "\(value)"
        }
    }
}

extension FetchRequest {
    /// Whether the order of the rows is defined. Groups are in the order of their keys.
    fileprivate var hasOrder: Bool { !sortDescriptors.isEmpty || !propertiesToGroupBy.isEmpty }
}

/// Random requests for dictionaries of the menagerie.
private struct RowsGenerator {
    let model: Model
    var dice: Dice
    private(set) var text = ""

    private static let numbers = [
        "small", "count", "large", "price", "weight", "ratio", "flag", "shelf.level", "box.weight", "box.price",
        "place.zip",
    ]
    private static let others = [
        "name", "note", "made", "code", "link", "shelf.name", "box.name", "place.city", "box.shelf.name",
    ]
    private static let computed = [
        "count + 1", "weight * 2", "count * small", "large + 1", "price + 1", "price * 2", "weight / 2", "count / 3",
        "-count", "abs(weight)", "length(name)", "tags.@count", "friends.@count", "tags.@sum.rank", "tags.@max.rank",
        "contents.@sum.count", "contents.@avg.weight", "TERNARY(flag == YES, count, 0)", "shelf.level + count",
        "name.length", "made.timeIntervalSince1970", "sum(tags.rank)", "shelf.items.@count", "ceiling(weight)",
        "modulus:by:(count, 3)", "price + weight", "TERNARY(count > 1, weight, count)", "contents.@min.price",
        "TERNARY(price > 1, price, weight)", "SUBQUERY(tags, $t, $t.rank > 1).@count", "count ** 2", "1 / count",
        "tags.@avg.rank", "max(contents.made)", "contents.@max.flag",
    ]
    private static let ofTwoKinds = [
        "sum:(tags.rank)", "sum(tags.rank)", "tags.@sum.rank", "TERNARY(count > 1, weight, count)",
        "TERNARY(price > 1, price, weight)",
    ]
    private static let texts = [
        "uppercase(name)", "canonical(note)", "name.uppercaseString", "link.absoluteString", "entity.name",
        "TERNARY(flag == YES, name, note)", "name.description", "CAST(count, \"NSString\")",
    ]
    private static let predicates = [
        "count > 0", "flag == YES", "price > 1 AND price + 1 > 2", "shelf.level > 1", "ANY tags.rank > 1",
        "name CONTAINS[cd] 'a'", "price * 2 > 1 OR count == 3", "made > CAST(0, 'NSDate')", "mood == nil AND count > 1",
        "box != nil", "weight > 1000000000", "large < 0 OR note != nil",
    ]

    init(model: Model, dice: Dice) { (self.model, self.dice) = (model, dice) }

    mutating func make() throws -> FetchRequest {
        let entity = try model.requireEntity(named: dice.chance(80) ? "Item" : "Book")
        let request = FetchRequest(entity: entity)
        text = entity.name
        if dice.chance(45) { request.predicate = try parsed(dice.pick(Self.predicates), "where") }
        request.includesSubentities = dice.chance(85)
        try dice.chance(60) ? group(request) : plain(request)
        request.returnsDistinctResults = dice.chance(25)
        if request.hasOrder {
            if dice.chance(30) { request.limit = dice.below(6) }
            if dice.chance(20) { request.offset = dice.below(4) }
        }
        text += " distinct \(request.returnsDistinctResults) limit \(request.limit) offset \(request.offset)"
        text +=
            " subentities \(request.includesSubentities) sort \(request.sortDescriptors.map { "\($0.keyPath) \($0.ascending)" })"
        return request
    }

    private mutating func parsed(_ format: String, _ word: String) throws -> Predicate {
        text += " \(word) \(format)"
        return try Predicate.parse(format)
    }

    private mutating func column(_ name: String, _ format: String, _ types: [AttributeType]) throws -> FetchedColumn {
        let type = dice.chance(75) ? .undefined : dice.pick(types)
        text += " \(name) = \(format) as \(type)"
        return .expression(
            ExpressionDescription(name: name, expression: try Expression.parse(format), resultType: type))
    }

    private mutating func row(_ name: String) throws -> FetchedColumn {
        switch dice.below(10) {
        case 0..<5:
            let path = dice.pick(Self.numbers + Self.others + ["shelf", "box"])
            text += " \(path)"
            return .property(path)
        case 5: return try column(name, dice.pick(Self.texts), [.string])
        default: return try column(name, dice.pick(Self.computed), [.double, .integer64, .string, .decimal])
        }
    }

    private mutating func plain(_ request: FetchRequest) throws {
        for number in 0..<(1 + dice.below(3)) {
            let next = try row("c\(number)")
            if !request.propertiesToFetch.contains(where: { $0.name == next.name }) {
                request.propertiesToFetch.append(next)
            }
        }
        for _ in 0..<dice.below(3) {
            let names = request.propertiesToFetch.compactMap { if case .property(let path) = $0 { path } else { nil } }
            let computed = request.propertiesToFetch.map(\.name).filter { !names.contains($0) }
            let sortable =
                names.filter { $0 != "shelf" && $0 != "box" } + computed + computed + computed + Self.numbers
                + Self.others
            request.sortDescriptors.append(SortDescriptor(dice.pick(sortable), ascending: dice.chance(60)))
        }
    }

    private mutating func group(_ request: FetchRequest) throws {
        for number in 0..<dice.below(3) {
            let key = try row("k\(number)")
            // Equal numbers of different types form one group, which contains the value of any of its rows.
            if Self.ofTwoKinds.contains(key.computed.format) { continue }
            if request.propertiesToGroupBy.contains(key.name) { continue }
            request.propertiesToGroupBy.append(key.name)
            let isPath = if case .property = key { true } else { false }
            if !isPath || dice.chance(80) { request.propertiesToFetch.append(key) }
        }
        if !request.propertiesToGroupBy.isEmpty { text += " grouped by \(request.propertiesToGroupBy)" }
        for number in 0..<(1 + dice.below(3)) { request.propertiesToFetch.append(try statistic("s\(number)")) }
        if !request.propertiesToGroupBy.isEmpty, dice.chance(35) {
            let conditions = [
                "count:(self) > 1", "max:(weight) > 1", "s0 != nil", "sum:(count) >= 2 OR count:(name) == 1",
                "count:(price) > 0 AND min:(small) < 3", "median:(count) > 1",
            ]
            request.havingPredicate = try parsed(dice.pick(conditions), "having")
        }
        let sortable =
            request.propertiesToGroupBy.filter { $0 != "shelf" && $0 != "box" }
            + request.propertiesToFetch.map(\.name).filter { $0 != "shelf" && $0 != "box" }
        for _ in 0..<dice.below(3) {
            request.sortDescriptors.append(SortDescriptor(dice.pick(sortable), ascending: dice.chance(60)))
        }
    }

    private mutating func statistic(_ name: String) throws -> FetchedColumn {
        let types: [AttributeType] = [.double, .integer64, .string, .decimal]
        switch dice.below(10) {
        case 0: return try column(name, "count:(\(dice.pick(Self.others + ["self", "shelf"])))", [.integer32, .double])
        case 1: return try column(name, "\(dice.pick(["min", "max"])):(\(dice.pick(Self.others)))", [.undefined])
        case 2: return try column(name, "max:(count) - min:(count)", types)
        case 3:
            return try column(
                name, "\(dice.pick(["median", "stddev", "mode"])):(\(dice.pick(Self.numbers)))", [.undefined])
        case 4: return try column(name, "sum:(count) / count:(self)", types)
        case 5: return try column(name, dice.pick(["7", "median:(count) + 1", "average:(price) * 2"]), [.double])
        default:
            let function = dice.pick(["sum", "average", "min", "max", "count", "sum", "average"])
            let argument = dice.chance(70) ? dice.pick(Self.numbers) : dice.pick(Self.computed)
            return try column(name, "\(function):(\(argument))", argument.contains("made") ? [.undefined] : types)
        }
    }
}
