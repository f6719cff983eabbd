import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneSQLite

/// Stores with triggers of another tool that interfere with saves.
final class ForeignTriggerTests: StoreTestCase {
    private static let ignore = "BEGIN SELECT RAISE(IGNORE); END"
    private static let report = "SELECT NSCoreDataTriggerUpdateAffectedObjectValue('ZTAG', Z_ENT, Z_PK, 'text', ZTEXT)"

    /// Notes with tags, places, and a history.
    private func model() throws -> Model {
        let model = Model()
        let note = try model.addEntity(named: "Note")
        let tag = try model.addEntity(named: "Tag")
        try note.addAttribute(named: "title", type: .string)
        try tag.addAttribute(named: "text", type: .string)
        let tags = try note.addRelationship(named: "tags", destination: tag, isToMany: true)
        try tags.setInverse(tag.addRelationship(named: "notes", destination: note, isToMany: true))
        let related = try note.addRelationship(named: "related", destination: note, isToMany: true)
        try related.setInverse(related)
        try model.freeze()
        return model
    }

    private var withHistory: StoreOptions {
        var options = StoreOptions()
        options.keepsHistory = true
        return options
    }

    /// A store with a note and two tags, of which the note has one.
    private func make() throws -> Model {
        for file in try files() { try FileManager.default.removeItem(atPath: path(file)) }
        let model = try model()
        let coordinator = try Coordinator(model: model)
        let store = try coordinator.addSQLiteStore(at: path("a.sqlite"), options: withHistory)
        let context = Context(coordinator: coordinator)
        let note = try context.insert(model.requireEntity(named: "Note"))
        let tags = try (0..<2).map { _ in try context.insert(model.requireEntity(named: "Tag")) }
        try note.setValue(.set([.object(tags[0])]), forKey: "tags")
        try context.save()
        try coordinator.remove(store)
        return model
    }

    private func reason(_ model: Model) throws -> String? {
        let store = try open("a.sqlite", model)
        defer { store.close() }
        return store.readOnlyReason
    }

    // MARK: At opening

    func testStoreWithAForeignTriggerOpensReadOnly() throws {
        let cases: [(table: String, trigger: String, entity: String?)] = [
            ("ZTAG", "BEFORE INSERT ON ZTAG \(Self.ignore)", "Tag"),
            ("ztag", "BEFORE UPDATE ON ztag \(Self.ignore)", "Tag"),
            ("ZTAG", "AFTER INSERT ON ZTAG BEGIN UPDATE ZNOTE SET ZTITLE = 'x'; END", "Tag"),
            ("ZNOTE", "AFTER DELETE ON ZNOTE BEGIN DELETE FROM ZTAG; END", "Note"),
            ("Z_1TAGS", "BEFORE INSERT ON Z_1TAGS \(Self.ignore)", "Note"),
            ("Z_PRIMARYKEY", "BEFORE UPDATE ON Z_PRIMARYKEY \(Self.ignore)", nil),
            ("Z_METADATA", "AFTER UPDATE ON Z_METADATA BEGIN SELECT 1; END", nil),
            ("ACHANGE", "BEFORE INSERT ON ACHANGE \(Self.ignore)", nil),
        ]
        for (table, trigger, entity) in cases {
            let model = try make()
            _ = try shell("a.sqlite", "CREATE TRIGGER a \(trigger)")
            let text = try XCTUnwrap(reason(model), trigger)
            for word in ["table \(table)", "trigger \"a\"", "remove the trigger with DROP TRIGGER \"a\""] {
                XCTAssert(text.contains(word), "\(trigger): \(text)")
            }
            let report = try StoreReport(ofStoreAt: path("a.sqlite"))
            XCTAssertEqual(report.problems.map(\.message), [])
            XCTAssertEqual(report.warnings.map(\.kind), [.trigger])
            XCTAssertEqual(report.warnings.first?.entity, entity)
            XCTAssert(report.warnings.first?.message.contains("DROP TRIGGER \"a\"") == true, "\(report.warnings)")
            _ = try shell("a.sqlite", "DROP TRIGGER a")
            XCTAssertNil(try reason(model), trigger)
        }
    }

    func testManyForeignTriggersAreSummarised() throws {
        let model = try make()
        let triggers = (0..<40).map { "CREATE TRIGGER t\($0) AFTER INSERT ON ZTAG BEGIN SELECT 1; END; " }
        _ = try shell("a.sqlite", triggers.joined())
        let text = try XCTUnwrap(reason(model))
        XCTAssert(text.contains("trigger \"t0\""), text)
        XCTAssert(text.hasSuffix("; remove this trigger and 39 more that corestone check lists"), text)
        let warnings = try StoreReport(ofStoreAt: path("a.sqlite")).warnings
        XCTAssertEqual(warnings.count, StoreReport.limit + 1)
        XCTAssertEqual(warnings.last?.message, "\(40 - StoreReport.limit) more triggers do not belong to Core Data")
    }

    /// Triggers of Apple, and triggers that do not run in a save.
    func testHarmlessTriggersAreAccepted() throws {
        for sql in [
            "CREATE TABLE log (t); CREATE TRIGGER a AFTER INSERT ON log BEGIN DELETE FROM log; END",
            "CREATE TRIGGER ZT_ZTAG_INSERT AFTER INSERT ON ZTAG BEGIN \(Self.report) FROM ZTAG; END",
            """
            CREATE VIRTUAL TABLE Z_RT_Note_where USING RTREE (Z_PK, A, B);
            CREATE TRIGGER Z_RT_Note_where_INSERT AFTER INSERT ON ZNOTE BEGIN SELECT 1; END;
            CREATE TRIGGER Z_RT_Note_where_UPDATE AFTER UPDATE ON ZNOTE BEGIN SELECT 1; END;
            CREATE TRIGGER Z_RT_Note_where_DELETE AFTER DELETE ON ZNOTE BEGIN SELECT 1; END;
            """,
        ] {
            let model = try make()
            _ = try shell("a.sqlite", sql)
            XCTAssertNil(try reason(model), sql)
        }
        // The name alone does not make a trigger one of Apple's.
        for name in ["ZT_ZTAG_INSERT", "Z_DA_ZTAG_INSERT", "Z_RT_Tag_where_INSERT"] {
            let model = try make()
            _ = try shell("a.sqlite", "CREATE TRIGGER \(name) AFTER INSERT ON ZTAG BEGIN SELECT 1; END")
            XCTAssert(try reason(model)?.contains(name) == true, name)
        }
    }

    func testContradictoryEntityNumbersMakeTheStoreReadOnly() throws {
        let model = try make()
        _ = try shell(
            "a.sqlite",
            "UPDATE Z_PRIMARYKEY SET Z_NAME = 'x' WHERE Z_NAME = 'Tag'; "
                + "UPDATE Z_PRIMARYKEY SET Z_NAME = 'Tag' WHERE Z_NAME = 'Note'; "
                + "UPDATE Z_PRIMARYKEY SET Z_NAME = 'Note' WHERE Z_NAME = 'x'")
        let text = try XCTUnwrap(reason(model))
        for word in ["Z_PRIMARYKEY", "ZNOTE", "entity Tag", "restore the store"] {
            XCTAssert(text.contains(word), text)
        }
    }

    // MARK: In a save

    /// The trigger is created after the store was opened.
    func testSaveIsRolledBackWhenATriggerIgnoresARow() throws {
        let cases: [(event: String, entity: String?)] = [
            ("INSERT ON ZTAG", "Tag"), ("INSERT ON Z_1TAGS", "Note"), ("INSERT ON Z_1RELATED", "Note"),
            ("UPDATE ON Z_PRIMARYKEY WHEN NEW.Z_ENT < 16000", nil),
            ("UPDATE ON Z_PRIMARYKEY WHEN NEW.Z_ENT > 16000", nil),
            ("INSERT ON ACHANGE WHEN NEW.ZCHANGETYPE = 0", nil), ("INSERT ON ACHANGE WHEN NEW.ZCHANGETYPE = 1", "Note"),
            ("INSERT ON ACHANGE WHEN NEW.ZCHANGETYPE = 2", "Tag"), ("INSERT ON ATRANSACTION", nil),
        ]
        for (event, entity) in cases {
            let model = try make()
            let coordinator = try Coordinator(model: model)
            let store = try coordinator.addSQLiteStore(at: path("a.sqlite"), options: withHistory)
            let context = Context(coordinator: coordinator)
            let note = try XCTUnwrap(context.fetch(FetchRequest(entity: model.requireEntity(named: "Note"))).first)
            let tags = try context.fetch(FetchRequest(entity: model.requireEntity(named: "Tag")))
            _ = try shell("a.sqlite", "CREATE TRIGGER a BEFORE \(event) \(Self.ignore)")
            let before = try shell("a.sqlite", ".dump")
            try context.delete(tags[1])
            let tag = try context.insert(model.requireEntity(named: "Tag"))
            try note.setValue(.set([.object(tags[0]), .object(tag)]), forKey: "tags")
            try note.setValue(.set([.object(note)]), forKey: "related")
            try note.setValue(.string("new"), forKey: "title")
            let error = failure { try context.save() }
            XCTAssertEqual(error.status, .storeCorrupt, event)
            XCTAssert(error.message.contains("SQLite did not write the row"), error.message)
            if let entity { XCTAssertEqual(error.entity, entity, event) }
            XCTAssertEqual(try shell("a.sqlite", ".dump"), before, event)
            XCTAssert(context.hasChanges)
            _ = try shell("a.sqlite", "DROP TRIGGER a")
            try context.save()
            try coordinator.remove(store)
            XCTAssertEqual(
                try shell("a.sqlite", "SELECT (SELECT count(*) FROM ZTAG), (SELECT count(*) FROM Z_1TAGS)"), "2|2",
                event)
        }
    }

    /// Another program wrote the pair meanwhile.
    func testExistingPairIsNotInsertedTwice() throws {
        let model = try make()
        let coordinator = try Coordinator(model: model)
        try coordinator.addSQLiteStore(at: path("a.sqlite"))
        let context = Context(coordinator: coordinator)
        let note = try XCTUnwrap(context.fetch(FetchRequest(entity: model.requireEntity(named: "Note"))).first)
        let tags = try context.fetch(FetchRequest(entity: model.requireEntity(named: "Tag")))
        _ = try note.value(forKey: "tags")
        _ = try shell(
            "a.sqlite", "INSERT OR IGNORE INTO Z_1TAGS SELECT n.Z_PK, t.Z_PK FROM ZNOTE n, ZTAG t")
        try note.setValue(.set(Set(tags.map { .object($0) })), forKey: "tags")
        try context.save()
        XCTAssertEqual(try shell("a.sqlite", "SELECT count(*) FROM Z_1TAGS"), "2")
    }
}
