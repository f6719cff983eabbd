import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Foundation
import CorestoneContainers
import XCTest

@testable import CorestoneSQLite

/// Stores whose model does not match their tables, and rows with invalid keys.
final class CheckTests: StoreTestCase {
    private func make() throws -> Model {
        for file in try files() { try FileManager.default.removeItem(atPath: path(file)) }
        let model = Model()
        let animal = try model.addEntity(named: "Animal")
        let bird = try model.addEntity(named: "Bird")
        let tag = try model.addEntity(named: "Tag")
        try bird.setParent(animal)
        try animal.addAttribute(named: "name", type: .string)
        try animal.addAttribute(named: "weight", type: .double)
        try animal.addUniqueConstraint(["name"])
        try tag.addAttribute(named: "label", type: .string)
        let tags = try animal.addRelationship(named: "tags", destination: tag, isToMany: true)
        try tags.setInverse(tag.addRelationship(named: "animals", destination: animal, isToMany: true))
        try model.freeze()
        let coordinator = try Coordinator(model: model)
        let store = try coordinator.addSQLiteStore(at: path("a.sqlite"))
        let context = Context(coordinator: coordinator)
        for number in 1...3 as ClosedRange<Int> {
            let animal = try context.insert(model.requireEntity(named: number == 3 ? "Bird" : "Animal"))
            try animal.setValue(.string("animal \(number)"), forKey: "name")
            try context.insert(model.requireEntity(named: "Tag")).setValue(.string("tag \(number)"), forKey: "label")
        }
        try context.save()
        try coordinator.remove(store)
        return model
    }

    private func report() throws -> StoreReport { try StoreReport(ofStoreAt: path("a.sqlite")) }

    private func replaceTags(_ declaration: String, _ more: String = "") throws {
        _ = try shell(
            "a.sqlite",
            "ALTER TABLE ZTAG RENAME TO T; CREATE TABLE ZTAG (\(declaration); INSERT INTO ZTAG SELECT * FROM T; "
                + "\(more); DROP TABLE T")
    }

    /// Returns the URIs of a fetch and the result of a count, by the entity's name.
    private func objects(of name: String) throws -> (uris: [String], count: Int) {
        let coordinator = try Coordinator.open(path("a.sqlite"))
        let context = Context(coordinator: coordinator)
        let request = FetchRequest(entity: try coordinator.model.requireEntity(named: name))
        return (try context.fetch(request).map(\.objectID.uri), try context.count(request))
    }

    func testIntactStoreHasNoProblems() throws {
        _ = try make()
        let report = try report()
        XCTAssertEqual(report.problems.map(\.message), [])
        XCTAssertEqual(report.modelSource, .cached)
    }

    func testCheckReportsAModelThatDoesNotMatchTheTables() throws {
        let losses: [(sql: String, entity: String, key: String?, name: String)] = [
            ("ALTER TABLE ZANIMAL DROP COLUMN ZWEIGHT", "Animal", "weight", "ZWEIGHT"),
            ("DELETE FROM Z_PRIMARYKEY", "Animal", nil, "does not have Animal, Bird"),
            (
                "ALTER TABLE ZTAG RENAME TO T; CREATE VIEW ZTAG AS SELECT * FROM T", "Tag", nil,
                "the table ZTAG for Tag"
            ),
            ("DROP TABLE Z_1TAGS", "Animal", "tags", "the table Z_1TAGS for Animal.tags"),
        ]
        for loss in losses {
            _ = try make()
            _ = try shell("a.sqlite", loss.sql)
            let shown = try XCTUnwrap(Coordinator.open(path("a.sqlite")).stores.first?.readOnlyReason)
            let report = try report()
            XCTAssertEqual(report.modelSource, .inferred)
            let problem = try XCTUnwrap(report.problems.first { $0.kind == .metadata }, loss.sql)
            XCTAssertEqual(problem.entity, loss.entity, loss.sql)
            XCTAssertEqual(problem.key, loss.key, loss.sql)
            XCTAssert(problem.message.contains(loss.name), problem.message)
            XCTAssert(problem.message.contains("inferred from the tables"), problem.message)
            let cause = try XCTUnwrap(problem.message.split(separator: ";").first)
            XCTAssert(shown.hasPrefix(cause), "\(shown): \(problem.message)")
        }
    }

    func testCheckReportsAnUnreadableModel() throws {
        _ = try make()
        _ = try shell("a.sqlite", "UPDATE Z_MODELCACHE SET Z_CONTENT = x'ffffffffffff'")
        let report = try report()
        XCTAssertEqual(report.problems.map(\.kind), [.metadata])
        XCTAssertEqual(report.problems.first?.message.contains("cannot read the model"), true)
        XCTAssertEqual(report.problems.first?.message.contains("inferred from the tables"), true)
        // A store without a cached model is checked against a model that is inferred from its tables.
        _ = try shell("a.sqlite", "DELETE FROM Z_MODELCACHE")
        let bare = try self.report()
        XCTAssertEqual(bare.problems.map(\.message), [])
        XCTAssertEqual(bare.modelSource, .inferred)
    }

    /// Constraints of a mismatched model are still checked, except those on missing columns.
    func testCheckTestsConstraintsOfAMismatchedModel() throws {
        _ = try make()
        _ = try shell("a.sqlite", "ALTER TABLE ZANIMAL DROP COLUMN ZWEIGHT; DROP INDEX Z_Animal_UNIQUE_name")
        _ = try shell("a.sqlite", "UPDATE ZANIMAL SET ZNAME = 'same'")
        let kinds = try report().problems.map(\.kind)
        XCTAssertEqual(kinds, [.metadata, .constraint, .constraint])
        _ = try make()
        _ = try shell("a.sqlite", "DROP INDEX Z_Animal_UNIQUE_name; ALTER TABLE ZANIMAL DROP COLUMN ZNAME")
        XCTAssertEqual(try report().problems.map(\.kind), [.metadata])
    }

    func testCheckReportsAMismatchedAppleStore() throws {
        try Fixtures.require()
        let report = try StoreReport(ofStoreAt: Fixtures.folder + "/stores/coredataplus/SampleModel_V2.sqlite")
        let problem = try XCTUnwrap(report.problems.first)
        XCTAssertEqual(problem.kind, .metadata)
        XCTAssertNotNil(problem.entity)
        XCTAssertEqual(report.modelSource, .inferred)
    }

    func testCheckReportsKeysWithoutAnIntegerPrimaryKey() throws {
        let columns = "Z_ENT INTEGER, Z_OPT INTEGER, ZLABEL VARCHAR"
        let tables = [
            "Z_PK VARCHAR PRIMARY KEY, \(columns))", "Z_PK INTEGER, \(columns))",
            "Z_PK INTEGER PRIMARY KEY, \(columns)) WITHOUT ROWID", "Z_PK INT PRIMARY KEY, \(columns))",
            "Z_PK INTEGER, \(columns), PRIMARY KEY (Z_PK, Z_ENT))",
        ]
        for table in tables {
            let model = try make()
            try replaceTags(table)
            let store = try open("a.sqlite", model)
            XCTAssertEqual(store.readOnlyReason?.contains("ZTAG"), true, table)
            XCTAssertEqual(store.readOnlyReason?.contains("INTEGER PRIMARY KEY"), true, table)
            store.close()
            let problems = try report().problems.filter { $0.kind == .row && $0.message.contains("PRIMARY KEY") }
            XCTAssertEqual(problems.map(\.entity), ["Tag"], table)
        }
        _ = try make()
        try replaceTags(tables[0], "INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT) VALUES ('abc', 3, 1), (NULL, 3, 1)")
        XCTAssertEqual(try report().problems.filter { $0.message.contains("keys are integers from 1") }.count, 5)
        let texts = try objects(of: "Tag")
        XCTAssertEqual(texts.uris.count, texts.count)
        _ = try make()
        try replaceTags(tables[1], "INSERT INTO ZTAG SELECT * FROM T")
        XCTAssertEqual(try report().problems.filter { $0.message.contains("2 rows with the key") }.count, 3)
    }

    func testCheckReportsKeysBelowOne() throws {
        for key in ["0", "-5"] {
            _ = try make()
            _ = try shell("a.sqlite", "UPDATE ZTAG SET Z_PK = \(key) WHERE Z_PK = 1")
            let problem = try XCTUnwrap(report().problems.first)
            XCTAssertEqual(problem.kind, .row)
            XCTAssertEqual(problem.entity, "Tag")
            XCTAssert(problem.message.contains("the key \(key),"), problem.message)
            let (uris, count) = try objects(of: "Tag")
            XCTAssertEqual(uris.map { $0.split(separator: "/").last }, ["p2", "p3"])
            XCTAssertEqual(count, 2)
        }
    }

    /// Counts exclude the same rows as fetches.
    func testCountExcludesRowsWithInvalidEntityNumbers() throws {
        for number in ["NULL", "3", "9", "9223372036854775807", "-1", "'x'"] {
            _ = try make()
            _ = try shell("a.sqlite", "UPDATE ZANIMAL SET Z_ENT = \(number) WHERE Z_PK = 1")
            let (uris, count) = try objects(of: "Animal")
            XCTAssertEqual(uris.count, 2, number)
            XCTAssertEqual(count, 2, number)
        }
    }

    // MARK: Complete findings

    /// Creates a store with every kind of property and a history, and returns the prefix of its URIs.
    private func makeWhole() throws -> String {
        let zoo = try Zoo()
        var options = StoreOptions()
        options.keepsHistory = true
        let store = try open("whole", zoo.model, options: options)
        var rows = Rows()
        try store.save { save in
            for entity in [zoo.animal, zoo.keeper, zoo.cage, zoo.everything] {
                _ = try save.reservePrimaryKeys(of: entity, count: 3)
            }
            try save.insert([rows.add(zoo.everything, 1, ["small": .int(1)])], entity: zoo.everything)
            try save.insert([rows.add(zoo.animal, 1, [:]), rows.add(zoo.animal, 2, [:])], entity: zoo.animal)
            try save.insert([rows.add(zoo.bird, 3, [:])], entity: zoo.bird)
            try save.insert(
                [rows.add(zoo.keeper, 1, ["badge": .int(1)], targets: ["favourite": (1, zoo.animal)])],
                entity: zoo.keeper)
            try save.insert([rows.add(zoo.cage, 1, [:])], entity: zoo.cage)
            try save.link(zoo.relationship(zoo.animal, "cages"), added: [Link(owner: 1, member: 1)], removed: [])
            try save.link(zoo.relationship(zoo.keeper, "watched"), added: [Link(owner: 1, member: 2)], removed: [])
        }
        store.close()
        return "x-coredata://\(store.identifier)/"
    }

    /// Returns the problems of a copy of the store after `sql`, with URIs that begin at the entity.
    private func findings(
        _ sql: String, _ prefix: String
    ) throws -> [(kind: StoreProblem.Kind, message: String, key: String?)] {
        try? FileManager.default.removeItem(atPath: path("a.sqlite"))
        try FileManager.default.copyItem(atPath: path("whole"), toPath: path("a.sqlite"))
        let connection = try Connection(path("a.sqlite"), path: "a.sqlite", flags: SQLITE_OPEN_READWRITE)
        try connection.execute("PRAGMA synchronous = OFF; \(sql)", "test")
        connection.close()
        return try report().problems.map {
            ($0.kind, $0.message.replacingOccurrences(of: prefix, with: ""), $0.key)
        }
    }

    func testCheckReportsInvalidAttributeValues() throws {
        let prefix = try makeWhole()
        let cases: [(key: String, value: String, shown: String?, type: String)] = [
            ("small", "32767", nil, ""), ("small", "-32768", nil, ""),
            ("small", "32768", "integer 32768", "Integer 16 (-32768 to 32767)"),
            ("small", "-32769", "integer -32769", "Integer 16 (-32768 to 32767)"),
            ("small", "'x'", "text \"x\"", "Integer 16"), ("middle", "2147483647", nil, ""),
            ("middle", "2147483648", "integer 2147483648", "Integer 32 (-2147483648 to 2147483647)"),
            ("middle", "-2147483648", nil, ""),
            ("middle", "-2147483649", "integer -2147483649", "Integer 32 (-2147483648 to 2147483647)"),
            ("wide", "9223372036854775807", nil, ""), ("wide", "-9223372036854775808", nil, ""),
            ("wide", "'x'", "text \"x\"", "Integer 64"),
            ("wide", "1e19", "real 1.0e+19", "Integer 64 (-9223372036854775808 to 9223372036854775807)"),
            ("flag", "0", nil, ""), ("flag", "1", nil, ""),
            ("flag", "2", "integer 2", "Boolean (0 or 1)"), ("real", "1", nil, ""),
            ("real", "x'00'", "blob of 1 byte", "Double"),
            ("single", "'x'", "text \"x\"", "Float"), ("moment", "'x'", "text \"x\"", "Date"), ("moment", "5", nil, ""),
            ("price", "1e165", nil, ""), ("price", "1e166", "real 1.0e+166", "Decimal (-1e165 to 1e165)"),
            ("price", "'x'", "text \"x\"", "Decimal"), ("text", "x'00'", "blob of 1 byte", "String"),
            ("text", "'x'", nil, ""),
            ("link", "x'00'", "blob of 1 byte", "URI"), ("uid", "zeroblob(16)", nil, ""),
            ("uid", "zeroblob(15)", "blob of 15 bytes", "UUID (16 bytes)"),
            ("uid", "5", "integer 5", "UUID"), ("data", "5", nil, ""), ("small", "NULL", nil, ""),
        ]
        for (key, value, shown, type) in cases {
            let found = try findings("UPDATE ZEVERYTHING SET Z\(key.uppercased()) = \(value)", prefix)
            let expected = shown.map {
                "Everything.\(key) of Everything/p1 is \($0.hasPrefix("blob") ? "a" : "the") \($0), but its type is \(type)"
            }
            XCTAssertEqual(found.map(\.message), expected.map { [$0] } ?? [], "\(key) = \(value)")
            XCTAssertEqual(found.map(\.kind), expected == nil ? [] : [.row])
            XCTAssertEqual(found.map(\.key), expected == nil ? [] : [key])
        }
    }

    func testCheckReportsInvalidRowsReferencesAndPairs() throws {
        let prefix = try makeWhole()
        let cases: [(sql: String, kind: StoreProblem.Kind, key: String?, message: String)] = [
            ("UPDATE ZCAGE SET Z_OPT = 0", .row, nil, "Cage/p1 has the version 0 (Z_OPT), but the first version is 1"),
            (
                "UPDATE ZCAGE SET Z_OPT = NULL", .row, nil,
                "Cage/p1 does not have a version (Z_OPT), but the first version is 1"
            ),
            (
                "UPDATE ZCAGE SET Z_ENT = NULL", .row, nil,
                "row 1 of ZCAGE does not have an entity number (Z_ENT)"
            ),
            (
                "UPDATE ZCAGE SET Z_ENT = 1", .row, nil,
                "row 1 of ZCAGE has entity number 1, which does not belong to the table"
            ),
            (
                "UPDATE ZKEEPER SET ZFAVOURITE = 9", .reference, "favourite",
                "Keeper/p1 refers by \"favourite\" to row 9 of ZANIMAL, which does not exist"
            ),
            (
                "UPDATE ZKEEPER SET Z1_FAVOURITE = 2", .reference, "favourite",
                "Keeper/p1 stores entity number 2 for the target of \"favourite\", whose entity number is 1"
            ),
            (
                "UPDATE ZKEEPER SET Z1_FAVOURITE = NULL", .reference, "favourite",
                "Keeper/p1 does not store an entity number for the target of \"favourite\", whose entity number is 1"
            ),
            (
                "UPDATE ZANIMAL SET Z5WATCHED = 7 WHERE Z_PK = 2", .reference, "watched",
                "Animal/p2 refers by Keeper.watched to row 7 of ZKEEPER, which does not exist"
            ),
            (
                "INSERT INTO Z_1CAGES (Z_1INHABITANTS, Z_3CAGES) VALUES (8, 1)", .pair, "cages",
                "Z_1CAGES pairs row 1 with row 8 of ZANIMAL, which does not exist"
            ),
            (
                "INSERT INTO Z_1CAGES (Z_1INHABITANTS, Z_3CAGES) VALUES (2, 8)", .pair, "cages",
                "Z_1CAGES pairs row 2 with row 8 of ZCAGE, which does not exist"
            ),
            (
                "UPDATE Z_PRIMARYKEY SET Z_MAX = 2 WHERE Z_NAME = 'Animal'", .primaryKey, nil,
                "ZANIMAL has a row with the key 3, but the highest key in Z_PRIMARYKEY (Z_MAX) is 2"
            ),
            (
                "UPDATE Z_PRIMARYKEY SET Z_SUPER = 3 WHERE Z_NAME = 'Bird'", .primaryKey, nil,
                "Z_PRIMARYKEY lists entity number 3 as the superentity of Bird, not 1"
            ),
            (
                "UPDATE ZEVERYTHING SET ZLARGE = x'026E6F'", .externalData, "large",
                "Everything.large of Everything/p1 has a damaged backing file name"
            ),
        ]
        for (sql, kind, key, message) in cases {
            let found = try findings(sql, prefix)
            XCTAssertEqual(found.map(\.message), [message], sql)
            XCTAssertEqual(found.map(\.kind), [kind], sql)
            XCTAssertEqual(found.map(\.key), [key], sql)
        }
        // Reserved keys and null references are not problems.
        for sql in [
            "UPDATE Z_PRIMARYKEY SET Z_MAX = 3 WHERE Z_NAME = 'Animal'",
            "UPDATE ZKEEPER SET ZFAVOURITE = NULL, Z1_FAVOURITE = NULL", "UPDATE ZANIMAL SET Z5WATCHED = 0",
        ] {
            XCTAssertEqual(try findings(sql, prefix).map(\.message), [], sql)
        }
    }

    func testCheckReportsProblemsOfTheHistory() throws {
        let prefix = try makeWhole()
        let cases: [(sql: String, message: String)] = [
            (
                "UPDATE ACHANGE SET ZTRANSACTIONID = 9 WHERE Z_PK = 1",
                "change 1 of the history belongs to transaction 9, which does not exist"
            ),
            (
                "UPDATE ACHANGE SET ZENTITY = 77 WHERE Z_PK = 2",
                "change 2 of the history has the unknown entity number 77"
            ),
            (
                "UPDATE ACHANGE SET ZENTITYPK = NULL, ZENTITY = 3 WHERE Z_PK = 2",
                "change 2 of the history does not have the primary key of its object and has the entity number 3"
            ),
            (
                "UPDATE ACHANGE SET ZCHANGETYPE = 3 WHERE Z_PK = 1",
                "change 1 of the history has the unknown kind 3"
            ),
            (
                "UPDATE ACHANGE SET ZCHANGETYPE = 1 WHERE Z_PK = 1",
                "change 1 of the history is an update without changed columns"
            ),
            (
                "UPDATE ACHANGE SET ZCOLUMNS = x'01' WHERE Z_PK = 1",
                "change 1 of the history lists changed columns but is not an update"
            ),
            (
                "UPDATE ATRANSACTION SET ZAUTHORTS = 9",
                "transaction 1 of the history refers to name 9 (ZAUTHORTS), which does not exist"
            ),
        ]
        for (sql, message) in cases {
            let found = try findings(sql, prefix)
            XCTAssertEqual(found.map(\.message), [message], sql)
            XCTAssertEqual(found.map(\.kind), [.history], sql)
        }
        for (table, number, key) in [
            ("ACHANGE", 16001, 6), ("ATRANSACTION", 16002, 1), ("ATRANSACTIONSTRING", 16003, 1),
        ] {
            let found = try findings("UPDATE Z_PRIMARYKEY SET Z_MAX = 0 WHERE Z_ENT = \(number)", prefix)
            XCTAssertEqual(
                found.map(\.message),
                ["\(table) has a row with the key \(key), but the highest key in Z_PRIMARYKEY (Z_MAX) is 0"])
            XCTAssertEqual(found.map(\.kind), [.primaryKey])
        }
    }

    /// Twenty problems of a kind are listed, and the rest is counted.
    func testCheckListsTwentyProblemsOfAKind() throws {
        let prefix = try makeWhole()
        func inserted(_ count: Int) -> String {
            "WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < \(9 + count)) INSERT INTO ZEVERYTHING "
                + "(Z_PK, Z_ENT, Z_OPT, ZFLAG) SELECT i, 4, 1, 5 FROM n; UPDATE Z_PRIMARYKEY SET Z_MAX = 100 WHERE Z_ENT < 100"
        }
        XCTAssertEqual(try findings(inserted(20), prefix).count, 20)
        let more = try findings(inserted(23), prefix)
        XCTAssertEqual(more.count, 21)
        XCTAssertEqual(more.last?.message, "3 more of this kind in Everything.flag")
        XCTAssertEqual(more.last?.key, "flag")
    }
}
