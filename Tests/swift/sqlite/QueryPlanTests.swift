import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneSQL
import CorestoneValues
import XCTest

@testable import CorestoneSQLite

private typealias Predicate = CorestonePredicate.Predicate
private typealias Order = CorestonePredicate.SortDescriptor

/// Query plans of fetches, and the text that may become part of a statement.
final class QueryPlanTests: StoreTestCase {
    private var coordinators: [Coordinator] = []

    private func openStore() throws -> (store: SQLiteStore, model: Model) {
        let model = Model()
        let person = try model.addEntity(named: "Person")
        let team = try model.addEntity(named: "Team")
        for (name, type) in [
            ("name", AttributeType.string), ("age", .integer32), ("height", .double), ("born", .date), ("code", .uuid),
            ("note", .string),
        ] {
            try person.addAttribute(named: name, type: type)
            if name != "note" {
                try person.addIndex(FetchIndex(name: "by" + name, elements: [FetchIndex.Element(property: name)]))
            }
        }
        try team.addAttribute(named: "name", type: .string)
        try team.addIndex(FetchIndex(name: "byname", elements: [FetchIndex.Element(property: "name")]))
        let inTeam = try person.addRelationship(named: "team", destination: team)
        let members = try team.addRelationship(named: "members", destination: person, isToMany: true)
        try inTeam.setInverse(members)
        let coordinator = try Coordinator(model: model)
        coordinators.append(coordinator)
        let store = try coordinator.addSQLiteStore(at: path("plans.sqlite"))
        let context = Context(coordinator: coordinator)
        for place in 0..<400 {
            let object = try context.insert(person)
            try object.setValue(.string("name \(place)"), forKey: "name")
            try object.setValue(.int(Int64(place % 90)), forKey: "age")
        }
        try context.save()
        return (try XCTUnwrap(store.backing as? SQLiteStore), model)
    }

    private func query(
        _ store: SQLiteStore, _ entity: Entity, _ format: String?, _ arguments: [PropertyValue] = [], sort: [Order] = []
    ) throws -> SQLQuery {
        let predicate = try format.map { try Predicate.parse($0, arguments: arguments) }
        return try store.compiler.compile(
            StoreFetch(entity: entity, predicate: predicate, sortDescriptors: sort, allowsRemainder: false)
        ).query
    }

    private func plan(_ store: SQLiteStore, _ query: SQLQuery) throws -> String {
        try store.withFile { file in
            let statement = try file.connection.prepare(
                "EXPLAIN QUERY PLAN SELECT t0.Z_PK, t0.ZNAME\(query.text)", "explain")
            var lines: [String] = []
            while try statement.step("explain") {
                lines.append(String(cString: sqlite3_column_text(statement.handle, 3)))
            }
            return lines.joined(separator: "; ")
        }
    }

    func testFetchesUseIndexes() throws {
        let (store, model) = try openStore()
        let person = try model.requireEntity(named: "Person")
        let team = try model.requireEntity(named: "Team")
        let long = PropertyValue.array((0..<3000).map { .string("name \($0)") })
        let dates = PropertyValue.array((0..<3000).map { .date(Double($0) + 0.1) })
        let table: [(entity: Entity, format: String, arguments: [PropertyValue], plan: String)] = [
            (person, "name == 'x'", [], "INDEX Z_Person_byname (ZNAME=?)"),
            (person, "age > 40 AND age <= 50", [], "INDEX Z_Person_byage (ZAGE>? AND ZAGE<?)"),
            (person, "age BETWEEN {40, 50}", [], "INDEX Z_Person_byage (ZAGE>? AND ZAGE<?)"),
            (person, "40 < age", [], "INDEX Z_Person_byage (ZAGE>?)"),
            (person, "height >= 1.5 AND note == 'x'", [], "INDEX Z_Person_byheight (ZHEIGHT>?)"),
            (person, "born < now()", [], "INDEX Z_Person_byborn (ZBORN<?)"),
            (person, "born IN %@", [dates], "INDEX Z_Person_byborn (ZBORN=?)"),
            (person, "name IN {'a', 'b'}", [], "INDEX Z_Person_byname (ZNAME=?)"),
            (person, "name IN %@", [long], "INDEX Z_Person_byname (ZNAME=?)"),
            (person, "name BEGINSWITH 'abc'", [], "INDEX Z_Person_byname (ZNAME>? AND ZNAME<?)"),
            (person, "name BEGINSWITH[n] 'né'", [], "INDEX Z_Person_byname (ZNAME>? AND ZNAME<?)"),
            (person, "name LIKE 'abc*'", [], "INDEX Z_Person_byname (ZNAME>? AND ZNAME<?)"),
            (person, "age == 3 OR name == 'x'", [], "MULTI-INDEX OR"),
            (person, "code == %@", [.uuid(UUIDValue(high: 1, low: 2))], "INDEX Z_Person_bycode (ZCODE=?)"),
            (person, "team == nil", [], "INDEX ZPERSON_ZTEAM_INDEX (ZTEAM=?)"),
            (
                person, "team.name == 'x'", [],
                "INDEX Z_Team_byname (ZNAME=?); SEARCH t0 USING INDEX ZPERSON_ZTEAM_INDEX (ZTEAM=?)"
            ),
            (team, "ANY members.age > 40", [], "USING INDEX ZPERSON_ZTEAM_INDEX (ZTEAM=?)"),
            (team, "SUBQUERY(members, $m, $m.age > 40).@count > 1", [], "USING INDEX ZPERSON_ZTEAM_INDEX (ZTEAM=?)"),
            (team, "members.@count > 1", [], "USING COVERING INDEX ZPERSON_ZTEAM_INDEX (ZTEAM=?)"),
        ]
        for (entity, format, arguments, expected) in table {
            let plan = try plan(store, try query(store, entity, format, arguments))
            XCTAssert(plan.contains(expected), "\(format): \(plan)")
        }
        // The selective table is read first, regardless of the order.
        let narrow = "team.name == 'x' AND SUBQUERY(team.members, $m, $m.age > 4).@count > 1"
        let joined = try plan(store, try query(store, person, narrow, sort: [Order("-height")]))
        XCTAssert(joined.hasPrefix("SEARCH t1"), joined)
        let ascending = try plan(store, try query(store, person, nil, sort: [Order("name")]))
        XCTAssert(ascending.contains("INDEX Z_Person_byname"), ascending)
        XCTAssertFalse(ascending.contains("TEMP B-TREE"), ascending)
        let descending = try plan(store, try query(store, person, nil, sort: [Order("-age")]))
        XCTAssert(descending.contains("INDEX Z_Person_byage"), descending)
        XCTAssertFalse(descending.contains("FOR ORDER BY"), "all rows are sorted: \(descending)")
    }

    /// Lists of thousands of values use one statement, regardless of their length.
    func testListsOfAnyLengthUseOneStatement() throws {
        let (store, model) = try openStore()
        let person = try model.requireEntity(named: "Person")
        let makers: [(String, (Int) -> PropertyValue)] = [
            ("name", { .string("it's \"\($0)\"\n\\\0") }), ("age", { .int(Int64($0)) }),
            ("height", { .double(Double($0) / 7) }),
            ("born", { .date(Double($0) / 7) }), ("code", { .uuid(UUIDValue(high: UInt64($0), low: 1)) }),
        ]
        for (name, make) in makers {
            let texts = try [9, 1000, 70_000].map { count in
                let query = try query(store, person, "\(name) IN %@", [.array((0..<count).map(make))])
                XCTAssertEqual(query.bindings.count, 1)
                return query.text
            }
            XCTAssertEqual(Set(texts).count, 1, "\(texts)")
        }
        let all = FetchRequest(entity: person)
        all.predicate = try Predicate.parse(
            "name IN %@", arguments: [.array((0..<50_000).map { .string("name \($0 * 2)") })])
        let coordinator = try Coordinator(model: model)
        try coordinator.addSQLiteStore(at: path("plans.sqlite"))
        XCTAssertEqual(try Context(coordinator: coordinator).count(all), 200)
    }

    /// Predicates that exceed the limits of a statement are evaluated in memory; other long predicates in SQL.
    func testPredicatesOfAnySizeAreEvaluated() throws {
        let (store, model) = try openStore()
        let person = try model.requireEntity(named: "Person")
        let context = Context(coordinator: coordinators[0])
        func count(_ predicate: Predicate) throws -> Int {
            let request = FetchRequest(entity: person)
            request.predicate = predicate
            return try context.count(request)
        }
        let ages = (0..<5000).map { Predicate.comparison(Comparison(.key("age"), .equal, .constant(.int(Int64($0))))) }
        let long = try Predicate.or(ages)
        XCTAssertEqual(try count(long), 400)
        XCTAssertNoThrow(
            try store.compiler.compile(StoreFetch(entity: person, predicate: long, allowsRemainder: false)))
        XCTAssertEqual(try count(.and(ages.map { try .not($0) })), 0)
        var deep = try Predicate.parse("age == 3 AND name != nil")
        for level in 0..<390 {
            deep = level % 2 == 0 ? try .not(deep) : try .or([deep, Predicate.parse("age == 200 OR name == 'x'")])
        }
        XCTAssertEqual(try count(deep), 395)
        let huge = try Predicate.or(
            (0..<60_000).map { .comparison(Comparison(.key("name"), .equal, .constant(.string("name \($0 * 2)")))) })
        XCTAssertEqual(try count(huge), 200)
    }

    // MARK: Injection

    private static let hostile = [
        "x'; DROP TABLE ZPERSON; --", "\" OR 1=1 --", "'); DELETE FROM ZPERSON; --", "/* */", "?", "?1", ":name", "@x",
        "$x", "\0",
        "ZNAME", "t0.ZNAME", "\\", "%", "_", "`", "[x]", "name) OR (1", "\u{2019}", "cst_compare(1,2,3)", "NULL",
    ]

    func testArgumentsNeverChangeTheStatement() throws {
        let (store, model) = try openStore()
        let person = try model.requireEntity(named: "Person")
        let formats = [
            "name == %@", "name != %@", "name < %@", "name ==[cd] %@", "name CONTAINS[c] %@", "name ENDSWITH %@",
            "name LIKE[c] %@",
            "%@ IN name", "name IN {%@, 'b'}", "uppercase(name) == %@", "TERNARY(name == %@, 1, 2) == age",
            "SUBQUERY(team.members, $m, $m.name == %@).@count > 0", "ANY team.members.name != %@",
            "note BETWEEN {%@, 'z'}",
        ]
        for format in formats {
            let benign = try query(store, person, format, [.string("benign")]).text
            // For ASCII texts, the database's own search runs first.
            for text in Self.hostile where text.utf8.allSatisfy({ $0 < 0x80 }) {
                XCTAssertEqual(try query(store, person, format, [.string(text)]).text, benign, "\(format) with \(text)")
            }
        }
        for text in Self.hostile {
            for predicate in [
                Predicate.comparison(Comparison(.key(text), .equal, .constant(.int(1)))),
                .comparison(
                    Comparison(
                        .path(.keyPath(CorestonePredicate.KeyPath("team")), CorestonePredicate.KeyPath(text)), .equal,
                        .constant(.int(1)))),
                .comparison(
                    Comparison(
                        .function(.length, [.message(receiver: .key("name"), selector: .string(text), arguments: [])]),
                        .equal, .constant(.int(1)))),
            ] {
                guard let compiled = try? store.compiler.compile(StoreFetch(entity: person, predicate: predicate))
                else { continue }
                assertKnownWords(compiled.query.text)
            }
            XCTAssertThrowsError(
                try store.compiler.compile(
                    StoreFetch(entity: person, sortDescriptors: [Order(path: CorestonePredicate.KeyPath(text))])), text)
        }
    }

    /// Every format that can be parsed becomes a read-only statement of the library's own keywords.
    ///
    /// The formats are random and have hostile parts.
    func testFormatsBecomeReadOnlyStatementsOfKnownWords() throws {
        let (store, model) = try openStore()
        let person = try model.requireEntity(named: "Person")
        try store.withFile { file in
            _ = sqlite3_set_authorizer(
                file.connection.db,
                { _, action, _, _, _, _ in
                    [SQLITE_SELECT, SQLITE_READ, SQLITE_FUNCTION].contains(action) ? SQLITE_OK : SQLITE_DENY
                }, nil)
        }
        var random = Seeded()
        let pieces =
            Self.hostile + [
                "name", "age", "team.name", "'x'", "\"y\"", "==", "!=", "<", "CONTAINS[cd]", "LIKE", "IN", "{1, 2}",
                "(", ")", "AND",
                "OR", "NOT", "ANY team.members.name", "SUBQUERY(team.members, $x, $x.age > 1).@count", "1", "2.5",
                "uppercase(name)",
                "+", "*", "nil", "'a; DROP TABLE ZPERSON'", "#like", "team.@count", "SELF", "now()",
                "CAST(1, 'NSDate')", "BETWEEN",
            ]
        var compiled = 0
        for round in 0..<6000 {
            let parts = (0..<(1 + round % 5)).map { _ in pieces.randomElement(using: &random) ?? "" }
            let operand = ["name", "age", "uppercase(name)", "team.name"].randomElement(using: &random) ?? "name"
            let literal =
                "'"
                + (Self.hostile.randomElement(using: &random) ?? "").map { "'\\".contains($0) ? "\\\($0)" : "\($0)" }
                .joined() + "'"
            for format in [
                parts.joined(separator: " "), "\(operand) == \(literal)",
                "\(operand) != \(literal) OR \(parts.joined(separator: " "))",
            ] {
                guard let predicate = try? Predicate.parse(format),
                    let query = try? store.compiler.compile(StoreFetch(entity: person, predicate: predicate)).query
                else { continue }
                compiled += 1
                assertKnownWords(query.text)
                // The authorizer allows a statement only to read.
                XCTAssertNoThrow(
                    try store.withFile { _ = try $0.connection.prepare("SELECT t0.Z_PK\(query.text)", "check") },
                    query.text)
            }
        }
        XCTAssertGreaterThan(compiled, 3000)
    }

    private func assertKnownWords(_ sql: String) {
        let words = sql.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init)
        let known: Set<String> = [
            "FROM", "WHERE", "AND", "OR", "NOT", "IS", "NULL", "TRUE", "IN", "SELECT", "EXISTS", "JOIN", "LEFT", "ON",
            "ORDER", "BY",
            "CASE", "WHEN", "THEN", "ELSE", "END", "BETWEEN", "COUNT", "CAST", "AS", "REAL", "MIN", "MAX", "TOTAL",
            "COALESCE",
            "COLLATE", "DESC", "LIMIT", "OFFSET", "abs", "instr", "value", "json_each",
        ]
        for word in words {
            let isOurs =
                known.contains(word) || word.hasPrefix("cst_") || word.hasPrefix("ZPERSON") || word.hasPrefix("ZTEAM")
                || ["Z_PK", "ZNAME", "ZAGE", "ZHEIGHT", "ZBORN", "ZCODE", "ZNOTE"].contains(word)
                || word.allSatisfy(\.isNumber) || word.first == "t" && word.dropFirst().allSatisfy(\.isNumber)
            XCTAssert(isOurs, "\(word) in \(sql)")
        }
        XCTAssertFalse(sql.contains { "'\";[]`\\:@$#".contains($0) } || sql.contains("--") || sql.contains("/*"), sql)
    }

    /// Names of a model become SQL identifiers, and the model rejects invalid names.
    func testHostileNamesAreRejectedByTheModel() throws {
        for text in Self.hostile where !["ZNAME", "NULL", "_"].contains(text) {
            let model = Model()
            XCTAssertThrowsError(try model.addEntity(named: text), text)
            let other = Model()
            let entity = try other.addEntity(named: "Fine")
            XCTAssertThrowsError(try entity.addAttribute(named: text, type: .string), text)
        }
        // Reserved words of SQL are valid names.
        let model = Model()
        let entity = try model.addEntity(named: "Select")
        for name in ["order", "group", "from", "null", "_pk", "where"] {
            try entity.addAttribute(named: name, type: .string)
        }
        let coordinator = try Coordinator(model: model)
        try coordinator.addSQLiteStore(at: path("words.sqlite"))
        let context = Context(coordinator: coordinator)
        try context.insert(entity).setValue(.string("x"), forKey: "order")
        try context.save()
        let request = FetchRequest(entity: entity)
        request.predicate = try Predicate.parse("order == 'x' AND group == nil AND #from == nil AND where != 'DROP'")
        request.sortDescriptors = [Order("order"), Order("-null")]
        XCTAssertEqual(try context.count(request), 1)
        XCTAssertEqual(try context.fetch(request).count, 1)
    }
}

/// A generator with the same sequence in every run.
private struct Seeded: RandomNumberGenerator {
    private var state: UInt64 = 20_261_122

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state ^ state >> 29
    }
}
