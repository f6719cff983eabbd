import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues
import XCTest

@testable import CorestoneSQLite

/// Foundation has a type of this name.
private typealias Order = CorestonePredicate.SortDescriptor

/// Predicates return the same objects in SQLite and in memory.
final class PredicateTests: StoreTestCase {
    private func filledContext() throws -> (Context, Zoo) {
        let zoo = try Zoo()
        let coordinator = try Coordinator(model: zoo.model)
        try coordinator.addSQLiteStore(at: path("zoo.sqlite"))
        let context = Context(coordinator: coordinator)
        func insert(_ entity: Entity, _ values: [String: PropertyValue]) throws -> ManagedObject {
            let object = try context.insert(entity)
            for (name, value) in values { try object.setValue(value, forKeyPath: name) }
            return object
        }
        var keepers: [ManagedObject] = []
        for (place, name) in ["Kim", "Ana", "Óscar", "kim"].enumerated() {
            keepers.append(try insert(zoo.keeper, ["name": .string(name), "badge": .int(Int64(place))]))
        }
        let cages = try (0..<4).map { try insert(zoo.cage, ["number": .int(Int64($0))]) }
        let names: [String?] = [
            "Ada", "ada", "ÁDA", "Bo", "bo%", "b_o", "Zoë", "ZOE\u{308}", "straße", "STRASSE", "", nil, "日本", "a\\b",
            "line\nbreak", "🦜",
        ]
        let cagesKey = try zoo.relationship(zoo.animal, "cages").key
        let friendsKey = try zoo.relationship(zoo.animal, "friends").key
        var animals: [ManagedObject] = []
        for (place, name) in names.enumerated() {
            var values: [String: PropertyValue] = [
                "name": name.map { .string($0) } ?? .null, "legs": place % 5 == 4 ? .null : .int(Int64(place % 4 * 2)),
            ]
            if place % 3 != 2 { values["keeper"] = .object(keepers[place % 4]) }
            if place % 2 == 1 { values["wingspan"] = .double(Double(place) / 4) }
            let object = try insert(place % 2 == 1 ? zoo.bird : zoo.animal, values)
            for cage in cages.prefix(place % 4) { _ = try object.addMember(cage, key: cagesKey) }
            if let last = animals.last, place % 3 == 0 { _ = try object.addMember(last, key: friendsKey) }
            animals.append(object)
        }
        try context.save()
        return (context, zoo)
    }

    static let animalPredicates = [
        "name == 'Ada'", "name ==[c] 'ada'", "name ==[d] 'Ada'", "name ==[cd] 'ada'", "name != 'Ada'", "name == nil",
        "name != nil",
        "name BEGINSWITH 'b'", "name BEGINSWITH[c] 'b'", "name ENDSWITH[cd] 'OE'", "name CONTAINS 'o'",
        "name CONTAINS[cd] 'ss'",
        "name CONTAINS '%'", "name CONTAINS '_'", "name LIKE 'b*'", "name LIKE[c] '?o'", "name LIKE '*\\\\*'",
        "name LIKE[cd] '*z*'",
        "name LIKE '??'", "name MATCHES '[A-Z].*'", "name MATCHES[c] 'a.a'", "name MATCHES 'line.break'",
        "name IN {'Ada', 'Bo'}",
        "NOT name IN {'Ada', 'Bo'}", "name > 'Z'", "name <[c] 'c'", "name BETWEEN {'A', 'b'}", "legs == 2", "legs != 2",
        "legs > 1.5", "legs == nil",
        "legs BETWEEN {2, 4}", "legs IN {0, 6}", "NOT (legs > 2)", "legs != nil AND legs + 2 == 4", "keeper == nil",
        "keeper != nil", "keeper.name == 'Kim'",
        "keeper.name ==[c] 'kim'", "keeper.name != 'Kim'", "keeper.badge > 1 AND legs < 5",
        "keeper.badge > 1 OR keeper == nil",
        "NOT keeper.name == 'Kim'", "ANY cages.number == 1", "ALL cages.number < 2", "NONE cages.number == 1",
        "ANY cages.number > 1 AND legs == 6",
        "cages.@count == 2", "cages.@count > 0", "friends.@count == 1", "friends.@count == 0",
        "ANY friends.name ==[c] 'ada'", "ANY friends.legs > 2",
        "SUBQUERY(cages, $c, $c.number > 0).@count > 1", "TRUEPREDICATE", "FALSEPREDICATE", "name CONTAINS ''",
        "name == ''", "'Ada' == name",
        "name == keeper.name", "legs < keeper.badge",
    ]

    func testPredicatesReturnTheSameObjectsInSQLiteAndMemory() throws {
        let (context, zoo) = try filledContext()
        for (entity, texts) in [
            (zoo.animal, PredicateTests.animalPredicates),
            (zoo.bird, PredicateTests.animalPredicates + ["wingspan > 1", "wingspan == 0.25"]),
            (
                zoo.keeper,
                [
                    "animals.@count > 2", "ANY animals.name == 'Ada'", "ANY animals.cages.number == 2",
                    "name IN {'Kim', 'Ana'}", "ALL animals.legs > 1", "animals.@max.legs > 4", "animals.@sum.legs > 4",
                ]
            ),
        ] {
            let all = try context.fetch(FetchRequest(entity: entity))
            for text in texts {
                let request = FetchRequest(entity: entity)
                request.includesPendingChanges = false
                request.predicate = try Predicate.parse(text)
                let expected = try all.filter { try request.predicate?.evaluate(with: .object($0)) == true }.map(
                    \.objectID.uri
                ).sorted()
                XCTAssertEqual(
                    try context.fetch(request).map(\.objectID.uri).sorted(), expected, "\(entity.name): \(text)")
                XCTAssertEqual(try context.count(request), expected.count, "\(entity.name): \(text)")
                XCTAssertEqual(try context.fetchIDs(request).map(\.uri).sorted(), expected, "\(entity.name): \(text)")
            }
        }
    }

    private func compare(_ a: ManagedObject, _ b: ManagedObject, by descriptor: Order) throws -> Int {
        try descriptor.compare(
            try a.value(forKeyPath: descriptor.keyPath), try b.value(forKeyPath: descriptor.keyPath))
    }

    func testOrderAndWindowAreAppliedInSQLite() throws {
        let (context, zoo) = try filledContext()
        let all = try context.fetch(FetchRequest(entity: zoo.animal))
        let orders: [[Order]] = [
            [Order("name")], [Order("name", ascending: false)], [Order("name", caseInsensitive: true), Order("legs")],
            [Order("legs", ascending: false), Order("name")], [Order("keeper.name"), Order("name")],
        ]
        for order in orders {
            let expected = try all.sorted { a, b in
                for descriptor in order {
                    let result = try compare(a, b, by: descriptor)
                    if result != 0 { return result < 0 }
                }
                return a.objectID.reference < b.objectID.reference
            }
            for (offset, limit) in [(0, 0), (0, 3), (2, 4), (14, 10), (5, 0), (99, 1)] {
                let request = FetchRequest(entity: zoo.animal)
                request.sortDescriptors = order
                request.offset = offset
                request.limit = limit
                let window = expected.dropFirst(offset).prefix(limit == 0 ? .max : limit)
                let found = try context.fetch(request)
                XCTAssertEqual(found.count, window.count)
                for (object, wanted) in zip(found, window) {
                    for descriptor in order {
                        XCTAssertEqual(
                            try compare(object, wanted, by: descriptor), 0, "\(order) \(offset) \(limit)")
                    }
                }
            }
        }
    }

    /// Errors of the library's SQL functions are rethrown unchanged.
    func testErrorsOfSQLFunctionsAreRethrown() throws {
        let (context, zoo) = try filledContext()
        let request = FetchRequest(entity: zoo.animal)
        request.includesPendingChanges = false
        request.predicate = try Predicate.parse("name MATCHES %@", arguments: [.string("(((")])
        let error = failure { _ = try context.fetch(request) }
        XCTAssertEqual(error.status, .predicate)
        request.predicate = try Predicate.parse("name == %@", arguments: [.string("x' OR 1=1 --\u{0}\"")])
        XCTAssertEqual(try context.fetch(request).count, 0)
    }
}
