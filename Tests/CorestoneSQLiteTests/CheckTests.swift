import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Foundation
import CorestoneStack
import XCTest

@testable import CorestoneSQLite

/// Stores whose model does not fit their tables, and rows whose keys are none.
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

    /// What fetches give and what counts say, by the entity's name.
    private func objects(of name: String) throws -> (uris: [String], count: Int) {
        let coordinator = try Coordinator.open(path("a.sqlite"))
        let context = Context(coordinator: coordinator)
        let request = FetchRequest(entity: try coordinator.model.requireEntity(named: name))
        return (try context.fetch(request).map(\.objectID.uri), try context.count(request))
    }

    func testWhole() throws {
        _ = try make()
        let report = try report()
        XCTAssertEqual(report.problems.map(\.message), [])
        XCTAssertEqual(report.modelSource, .cached)
    }

    func testModelThatDoesNotFit() throws {
        let losses: [(sql: String, entity: String, key: String?, name: String)] = [
            ("ALTER TABLE ZANIMAL DROP COLUMN ZWEIGHT", "Animal", "weight", "ZWEIGHT"),
            ("DELETE FROM Z_PRIMARYKEY", "Animal", nil, "does not know Animal, Bird"),
            (
                "ALTER TABLE ZTAG RENAME TO T; CREATE VIEW ZTAG AS SELECT * FROM T", "Tag", nil,
                "no table ZTAG for Tag"
            ),
            ("DROP TABLE Z_1TAGS", "Animal", "tags", "no table Z_1TAGS for Animal.tags"),
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
            XCTAssertEqual(shown.split(separator: ";").first, problem.message.split(separator: ";").first)
        }
    }

    func testUnreadableModel() throws {
        _ = try make()
        _ = try shell("a.sqlite", "UPDATE Z_MODELCACHE SET Z_CONTENT = x'ffffffffffff'")
        let report = try report()
        XCTAssertEqual(report.problems.map(\.kind), [.metadata])
        XCTAssertEqual(report.problems.first?.message.contains("cannot be read"), true)
        XCTAssertEqual(report.problems.first?.message.contains("inferred from the tables"), true)
        // A store that carries none is judged by what is there.
        _ = try shell("a.sqlite", "DELETE FROM Z_MODELCACHE")
        let bare = try self.report()
        XCTAssertEqual(bare.problems.map(\.message), [])
        XCTAssertEqual(bare.modelSource, .inferred)
    }

    /// The promises of a model that does not fit are still looked for, but not those about what is gone.
    func testPromisesOfAModelThatDoesNotFit() throws {
        _ = try make()
        _ = try shell("a.sqlite", "ALTER TABLE ZANIMAL DROP COLUMN ZWEIGHT; DROP INDEX Z_Animal_UNIQUE_name")
        _ = try shell("a.sqlite", "UPDATE ZANIMAL SET ZNAME = 'same'")
        let kinds = try report().problems.map(\.kind)
        XCTAssertEqual(kinds, [.metadata, .constraint, .constraint])
        _ = try make()
        _ = try shell("a.sqlite", "DROP INDEX Z_Animal_UNIQUE_name; ALTER TABLE ZANIMAL DROP COLUMN ZNAME")
        XCTAssertEqual(try report().problems.map(\.kind), [.metadata])
    }

    func testAppleStoreThatDoesNotFit() throws {
        try Fixtures.require()
        let report = try StoreReport(ofStoreAt: Fixtures.folder + "/stores/coredataplus/SampleModel_V2.sqlite")
        let problem = try XCTUnwrap(report.problems.first)
        XCTAssertEqual(problem.kind, .metadata)
        XCTAssertNotNil(problem.entity)
        XCTAssertEqual(report.modelSource, .inferred)
    }

    func testKeysThatNothingKeeps() throws {
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
        XCTAssertEqual(try report().problems.filter { $0.message.contains("which is none") }.count, 5)
        let texts = try objects(of: "Tag")
        XCTAssertEqual(texts.uris.count, texts.count)
        _ = try make()
        try replaceTags(tables[1], "INSERT INTO ZTAG SELECT * FROM T")
        XCTAssertEqual(try report().problems.filter { $0.message.contains("2 rows with the key") }.count, 3)
    }

    func testKeysBelowOne() throws {
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

    /// Rows that fetches leave out are not counted.
    func testCountsOfStrayRows() throws {
        for number in ["NULL", "3", "9", "9223372036854775807", "-1", "'x'"] {
            _ = try make()
            _ = try shell("a.sqlite", "UPDATE ZANIMAL SET Z_ENT = \(number) WHERE Z_PK = 1")
            let (uris, count) = try objects(of: "Animal")
            XCTAssertEqual(uris.count, 2, number)
            XCTAssertEqual(count, 2, number)
        }
    }
}
