import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneSQLite

/// Stores that lack an index or a trigger which the model requires, because another tool dropped it.
final class SchemaDriftTests: StoreTestCase {
    /// Shops in places with visitors: a unique constraint, derived attributes, an R-tree and a fetch index.
    private func model() throws -> Model {
        let model = Model()
        let place = try model.addEntity(named: "Place")
        let shop = try model.addEntity(named: "Shop")
        let visit = try model.addEntity(named: "Visit")
        try shop.setParent(place)
        for name in ["code", "title"] { try place.addAttribute(named: name, type: .string) }
        for name in ["latitude", "longitude"] { try place.addAttribute(named: name, type: .double) }
        try place.addUniqueConstraint(["code", "title"])
        try place.addIndex(FetchIndex(name: "byTitle", elements: [FetchIndex.Element(property: "title")]))
        try place.addIndex(
            FetchIndex(
                name: "where",
                elements: ["latitude", "longitude"].map { FetchIndex.Element(property: $0, collation: .rTree) }))
        try visit.addAttribute(named: "paid", type: .double)
        let visits = try shop.addRelationship(named: "visits", destination: visit, isToMany: true)
        try visits.setInverse(visit.addRelationship(named: "shop", destination: shop))
        try shop.addAttribute(named: "visitCount", type: .integer32).setDerivation(
            Derivation(ExpressionText("visits.@count")))
        try visit.addAttribute(named: "shopTitle", type: .string).setDerivation(
            Derivation(ExpressionText("shop.title")))
        try model.freeze()
        return model
    }

    /// The check opens the file with an untrusted schema, unlike a writer.
    func testRTreeIsAcceptedWithAnUntrustedSchema() throws {
        let model = try make()
        let check = try AppleCheck(storeAt: path("a.sqlite"), model: model)
        XCTAssertFalse(check.extrapolations.contains { $0.text.contains("is not supported") })
        XCTAssertEqual(check.problems, [])
    }

    private func make(_ name: String = "a.sqlite") throws -> Model {
        let model = try model()
        for file in try files() { try FileManager.default.removeItem(atPath: path(file)) }
        let coordinator = try Coordinator(model: model)
        let store = try coordinator.addSQLiteStore(at: path(name))
        let context = Context(coordinator: coordinator)
        for number in 1...3 as ClosedRange<Int64> {
            let shop = try context.insert(model.requireEntity(named: "Shop"))
            try shop.setValue(.string("shop \(number)"), forKey: "title")
            try shop.setValue(.string("S\(number)"), forKey: "code")
            try shop.setValue(.double(Double(number)), forKey: "latitude")
            try shop.setValue(.double(1), forKey: "longitude")
            for _ in 0..<number {
                try context.insert(model.requireEntity(named: "Visit")).setValue(.object(shop), forKey: "shop")
            }
        }
        try context.save()
        try coordinator.remove(store)
        return model
    }

    private func reason(_ model: Model) throws -> String? {
        let store = try open("a.sqlite", model)
        defer { store.close() }
        return store.readOnlyReason
    }

    private static let losses: [(sql: String, entity: String, key: String, name: String)] = [
        ("DROP INDEX Z_Place_UNIQUE_code_title", "Place", "code", "Z_Place_UNIQUE_code_title"),
        (
            "DROP INDEX Z_Place_UNIQUE_code_title; CREATE INDEX Z_Place_UNIQUE_code_title ON ZPLACE (ZCODE, ZTITLE)",
            "Place",
            "code", "Z_Place_UNIQUE_code_title"
        ),
        (
            "DROP INDEX Z_Place_UNIQUE_code_title; CREATE UNIQUE INDEX U ON ZPLACE (ZCODE, ZTITLE) WHERE Z_PK > 9",
            "Place",
            "code", "Z_Place_UNIQUE_code_title"
        ),
        (
            "DROP TRIGGER Z_DA_ZVISIT_Shop_visitCount_PARAMETER_DELETE", "Shop", "visitCount",
            "Z_DA_ZVISIT_Shop_visitCount_PARAMETER_DELETE"
        ),
        (
            "DROP TRIGGER Z_DA_ZPLACE_Visit_shopTitle_PARAMETER_UPDATE; CREATE TRIGGER "
                + "Z_DA_ZPLACE_Visit_shopTitle_PARAMETER_UPDATE AFTER UPDATE ON ZPLACE BEGIN SELECT 1; END", "Visit",
            "shopTitle", "a modified version"
        ),
        ("DROP TRIGGER Z_RT_Place_where_UPDATE", "Place", "latitude", "Z_RT_Place_where_UPDATE"),
        (
            "DROP TRIGGER Z_RT_Place_where_UPDATE; DROP TRIGGER Z_RT_Place_where_INSERT; "
                + "DROP TRIGGER Z_RT_Place_where_DELETE; DROP TABLE Z_RT_Place_where", "Place", "latitude",
            "the R-tree index Z_RT_Place_where"
        ),
    ]

    func testStoreThatLacksARequiredIndexOrTriggerOpensReadOnly() throws {
        for loss in SchemaDriftTests.losses {
            let model = try make()
            XCTAssertNil(try reason(model))
            _ = try shell("a.sqlite", loss.sql)
            let text = try XCTUnwrap(reason(model), loss.sql)
            for word in [loss.entity, loss.name, "correct the schema with the statements that corestone check prints"] {
                XCTAssert(text.contains(word), "\(loss.sql): \(text)")
            }
            let store = try open("a.sqlite", model)
            XCTAssertEqual(failure { try store.save { _ in } }.status, .storeReadOnly)
            XCTAssertEqual(
                try store.fetch(StoreFetch(entity: model.requireEntity(named: "Shop"), result: .count)).count, 3)
            store.close()
        }
    }

    /// The statements that the check prints repair the store.
    func testStatementsOfTheCheckRepairTheStore() throws {
        for loss in SchemaDriftTests.losses {
            let model = try make()
            _ = try shell("a.sqlite", loss.sql)
            let connection = try Connection(path("a.sqlite"), path: "a", flags: 2)
            let lost = try SchemaDrift(StoreSchema(model: model), connection).all
            XCTAssertEqual(lost.map(\.entity), [loss.entity], loss.sql)
            XCTAssertEqual(lost.first?.key, loss.key)
            connection.close()
            if loss.sql.contains("CREATE INDEX") { _ = try shell("a.sqlite", "DROP INDEX Z_Place_UNIQUE_code_title") }
            try change("UPDATE ZPLACE SET ZLATITUDE = 50 WHERE Z_PK = 2")
            _ = try shell("a.sqlite", lost.flatMap(\.statements).joined(separator: "; "))
            XCTAssertNil(try reason(model), loss.sql)
            XCTAssertEqual(try problems().problems.map(\.message), [], loss.sql)
            XCTAssertEqual(try count(model, "latitude BETWEEN {49, 51}"), 1, loss.sql)
        }
    }

    /// Changes rows without running triggers, like a tool that lacks the functions of derived attributes.
    private func change(_ sql: String) throws {
        let (kept, names) = try (
            shell("a.sqlite", "SELECT sql || ';' FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'Z_DA%'"),
            shell("a.sqlite", "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'Z_DA%'")
        )
        let drops = names.split(separator: "\n").map { "DROP TRIGGER \($0); " }.joined()
        _ = try shell("a.sqlite", drops + sql + "; " + kept)
    }

    private func count(_ model: Model, _ predicate: String) throws -> Int {
        let store = try open("a.sqlite", model)
        defer { store.close() }
        let place = try model.requireEntity(named: "Place")
        return Int(
            try store.fetch(
                StoreFetch(entity: place, predicate: try CorestonePredicate.Predicate.parse(predicate), result: .count)
            ).count)
    }

    /// Changes of the schema that keep everything that the model requires.
    func testEquivalentSchemaChangesAreAccepted() throws {
        for sql in [
            "DROP INDEX Z_Place_UNIQUE_code_title; CREATE UNIQUE INDEX other ON ZPLACE (ZTITLE, ZCODE)",
            "DROP INDEX Z_Place_UNIQUE_code_title; CREATE UNIQUE INDEX other ON ZPLACE (ZCODE DESC)",
            "DROP INDEX Z_Place_byTitle; DROP INDEX ZVISIT_ZSHOP_INDEX",
            "ALTER TABLE ZVISIT RENAME TO temporary; ALTER TABLE temporary RENAME TO ZVISIT",
        ] {
            let model = try make()
            _ = try shell("a.sqlite", sql)
            XCTAssertNil(try reason(model), sql)
        }
    }

    /// Table constraints, as frameworks before 2016 wrote them.
    func testTableConstraintsAreAcceptedAsUniqueIndexes() throws {
        let model = try make()
        let old = try shell("a.sqlite", "SELECT sql FROM sqlite_master WHERE name = 'ZPLACE'")
        let new = String(old.dropLast()) + ", CONSTRAINT ZCODE_ZTITLE UNIQUE (ZCODE, ZTITLE) )"
        _ = try shell(
            "a.sqlite",
            "PRAGMA writable_schema = 1; DROP INDEX Z_Place_UNIQUE_code_title; "
                + "CREATE TABLE kept AS SELECT sql FROM sqlite_master WHERE tbl_name = 'ZPLACE' AND type <> 'table'; "
                + "PRAGMA legacy_alter_table = 1; ALTER TABLE ZPLACE RENAME TO former; \(new); "
                + "INSERT INTO ZPLACE SELECT * FROM former; DROP TABLE former")
        for statement in try shell("a.sqlite", "SELECT replace(sql, x'0a', ' ') FROM kept WHERE sql IS NOT NULL").split(
            separator: "\n")
        {
            _ = try shell("a.sqlite", String(statement))
        }
        XCTAssertEqual(
            try shell("a.sqlite", "SELECT count(*) FROM pragma_index_list('ZPLACE') WHERE origin = 'u'"), "1")
        XCTAssertNil(try reason(model))
    }

    private func problems() throws -> StoreReport { try StoreReport(ofStoreAt: path("a.sqlite")) }

    func testCheckNamesTheMissingIndexOrTrigger() throws {
        for loss in SchemaDriftTests.losses {
            let model = try make()
            XCTAssertEqual(try problems().problems.map(\.message), [])
            XCTAssertEqual(try problems().warnings.map(\.message), [])
            _ = try shell("a.sqlite", loss.sql)
            let found = try problems().problems
            XCTAssertEqual(found.map(\.entity), [loss.entity], loss.sql)
            XCTAssertEqual(found.first?.key, loss.key)
            XCTAssert(found.first?.message.contains(". Correct the schema with: ") == true, "\(found)")
            let apple = try AppleCheck(storeAt: path("a.sqlite"), model: model)
            XCTAssertEqual(apple.problems.map(\.property), [loss.key], "\(apple.problems)")
        }
    }

    /// The check names the objects whose values became wrong without the index or trigger.
    func testCheckNamesObjectsWithWrongValues() throws {
        let cases: [(sql: String, kind: StoreProblem.Kind, count: Int, words: String)] = [
            (
                "DROP INDEX Z_Place_UNIQUE_code_title; UPDATE ZPLACE SET ZCODE = 'S', ZTITLE = 'shop'; "
                    + "UPDATE ZVISIT SET ZSHOPTITLE = 'shop'", .constraint, 1,
                "Shop/p1, "
            ),
            ("UPDATE ZPLACE SET ZVISITCOUNT = 7 WHERE Z_PK = 2", .derived, 1, "is 7, but \"count:(visits)\" is 2"),
            ("UPDATE ZPLACE SET ZVISITCOUNT = NULL", .derived, 3, "is null, but \"count:(visits)\" is"),
            ("UPDATE ZVISIT SET ZSHOPTITLE = 'x' WHERE Z_PK = 1", .derived, 1, "but \"shop.title\" is \"shop "),
            (
                "DROP TRIGGER Z_RT_Place_where_DELETE; DELETE FROM Z_RT_Place_where WHERE Z_PK = 3", .spatial, 1,
                "p3 is not in"
            ),
            (
                "DROP TRIGGER Z_RT_Place_where_UPDATE; UPDATE ZPLACE SET ZLATITUDE = NULL WHERE Z_PK = 2; "
                    + "UPDATE ZPLACE SET ZLONGITUDE = 1e-46 WHERE Z_PK = 3", .spatial, 2,
                "has values outside its bounds in the R-tree index Z_RT_Place_where"
            ),
        ]
        for (sql, kind, count, words) in cases {
            _ = try make()
            try change(sql)
            let found = try problems().problems.filter { $0.objectURI != nil }
            XCTAssertEqual(found.map(\.kind), Array(repeating: kind, count: count), sql)
            XCTAssert(found.allSatisfy { $0.message.contains(words) }, "\(sql): \(found.map(\.message))")
        }
    }

    func testMissingFetchIndexIsAWarning() throws {
        _ = try make()
        _ = try shell(
            "a.sqlite", "DROP INDEX Z_Place_byTitle; DROP INDEX ZVISIT_ZSHOP_INDEX; DROP INDEX ZPLACE_Z_ENT_INDEX")
        let report = try problems()
        XCTAssertEqual(report.problems.map(\.message), [])
        XCTAssertEqual(report.warnings.map(\.kind), [.speed, .speed, .speed])
        XCTAssertEqual(Set(report.warnings.map(\.key)), ["title", "shop", nil])
        XCTAssertEqual(report.error(file: "a")?.children.count, 3)
    }

    func testAppleStoresLackNoRequiredIndexOrTrigger() throws {
        try Fixtures.require()
        var (slow, stores) = ([String: [String]](), 0)
        for (file, _) in try Fixtures.storesWithModel() {
            let place = try StoreLocation(Fixtures.folder + "/" + file)
            let connection = try ReadOnlyFile(place).connection
            let examination = try StoreExamination(connection, model: nil, place: place)
            guard examination.source == .cached else { continue }
            stores += 1
            let drift = try SchemaDrift(examination.schema, connection)
            XCTAssertEqual(drift.all.map(\.text), [], file)
            let missing = drift.missingSpeedIndexes.map(\.text)
            if !missing.isEmpty { slow[file] = missing }
        }
        print("stores of Apple's that have lost no promise: \(stores); without some index: \(slow)")
    }
}
