import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneSQLite

final class HistoryTests: StoreTestCase {
    /// Two notes with a preserved title and a preserved, but external, picture.
    private func notebook() throws -> (model: Model, note: Entity) {
        let model = Model()
        let note = try model.addEntity(named: "Note")
        let memo = try model.addEntity(named: "Memo")
        try memo.setParent(note)
        try note.addAttribute(named: "title", type: .string).setPreservesValueInHistory(true)
        try note.addAttribute(named: "stamp", type: .date).setPreservesValueInHistory(true)
        try note.addAttribute(named: "count", type: .integer32)
        let picture = try note.addAttribute(named: "picture", type: .binary)
        try picture.setPreservesValueInHistory(true)
        try picture.setAllowsExternalStorage(true)
        try model.freeze()
        return (model, memo)
    }

    private var withHistory: StoreOptions {
        var options = StoreOptions()
        options.keepsHistory = true
        return options
    }

    /// Inserts two memos, changes one, deletes the other, each in a save of its own.
    private func write(_ store: SQLiteStore, _ memo: Entity) throws {
        var rows = Rows()
        let title = Int(try XCTUnwrap(memo.property(named: "title")).slot)
        try store.save { save in
            let key = try save.reservePrimaryKeys(of: memo.root, count: 2)
            try save.insert(
                [
                    rows.add(memo, key, ["title": .string("one"), "stamp": .date(5)]),
                    rows.add(memo, key + 1, ["title": .string("two")]),
                ], entity: memo)
        }
        try store.save { save in
            let row = UpdatedRow(record: rows.add(memo, 1, version: 2, ["title": .string("uno")]), oldVersion: 1)
            XCTAssertEqual(try save.update([row], slots: [title], entity: memo), [])
        }
        try store.save { save in XCTAssertEqual(try save.delete([(1, 2)], entity: memo), []) }
    }

    func testEachSaveIsWrittenDown() throws {
        let (model, memo) = try notebook()
        let store = try open("a.sqlite", model, options: withHistory)
        try write(store, memo)
        XCTAssertEqual(
            try shell(
                "a.sqlite",
                "SELECT Z_PK, Z_ENT, Z_OPT IS NULL, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID, hex(ZCOLUMNS), "
                    + "ZTOMBSTONE0, ZTOMBSTONE1 FROM ACHANGE"),
            """
            1|16001|1|0|2|1|1|||
            2|16001|1|0|2|2|1|||
            3|16001|1|1|2|1|2|04||
            4|16001|1|2|2|1|3||5|uno
            """)
        XCTAssertEqual(
            try shell(
                "a.sqlite",
                "SELECT t.Z_PK, t.Z_ENT, b.ZNAME = p.ZNAME, ZTIMESTAMP > 800000000, ZAUTHORTS IS NULL FROM ATRANSACTION t "
                    + "JOIN ATRANSACTIONSTRING b ON b.Z_PK = ZBUNDLEIDTS JOIN ATRANSACTIONSTRING p ON p.Z_PK = ZPROCESSIDTS"
            ), "1|16002|1|1|1\n2|16002|1|1|1\n3|16002|1|1|1")
        XCTAssertEqual(
            try shell("a.sqlite", "SELECT * FROM Z_PRIMARYKEY WHERE Z_ENT > 16000"),
            "16001|CHANGE|0|4\n16002|TRANSACTION|0|3\n16003|TRANSACTIONSTRING|0|1")
    }

    func testAContextSaysWhoSaves() throws {
        let (model, memo) = try notebook()
        let coordinator = try Coordinator(model: model)
        try coordinator.addSQLiteStore(at: path("a.sqlite"), options: withHistory)
        let context = Context(coordinator: coordinator)
        context.name = "import"
        for author in ["Ann", "Bob", "Ann"] {
            context.transactionAuthor = author
            _ = try context.insert(memo)
            try context.save()
        }
        XCTAssertEqual(
            try shell(
                "a.sqlite",
                "SELECT a.ZNAME, c.ZNAME FROM ATRANSACTION JOIN ATRANSACTIONSTRING a ON a.Z_PK = ZAUTHORTS "
                    + "JOIN ATRANSACTIONSTRING c ON c.Z_PK = ZCONTEXTNAMETS"), "Ann|import\nBob|import\nAnn|import")
        XCTAssertEqual(try shell("a.sqlite", "SELECT count(*) FROM ATRANSACTIONSTRING"), "4")
    }

    func testNothingIsWrittenDownForASaveThatFails() throws {
        let (model, memo) = try notebook()
        let store = try open("a.sqlite", model, options: withHistory)
        try write(store, memo)
        struct Stop: Error {}
        var rows = Rows()
        XCTAssertThrowsError(
            try store.save { save in
                try save.insert([rows.add(memo, 9, [:])], entity: memo)
                throw Stop()
            })
        XCTAssertEqual(try shell("a.sqlite", "SELECT count(*) FROM ACHANGE"), "4")
        try store.save { _ in }
        XCTAssertEqual(try shell("a.sqlite", "SELECT count(*) FROM ATRANSACTION"), "3")
    }

    func testAHistoryGoesOnWithoutTheOption() throws {
        let (model, memo) = try notebook()
        let plain = try open("a.sqlite", model)
        plain.close()
        XCTAssertEqual(try shell("a.sqlite", "SELECT count(*) FROM sqlite_master WHERE name = 'ACHANGE'"), "0")
        try open("a.sqlite", model, options: withHistory).close()
        let store = try open("a.sqlite", model)
        XCTAssertNil(store.readOnlyReason)
        try write(store, memo)
        XCTAssertEqual(try shell("a.sqlite", "SELECT group_concat(ZCHANGETYPE) FROM ACHANGE"), "0,0,1,2")
    }

    /// Frameworks before 2018 wrote the names into the row of the transaction.
    func testTheOlderDesign() throws {
        let (model, memo) = try notebook()
        try open("a.sqlite", model).close()
        _ = try shell(
            "a.sqlite",
            """
            CREATE TABLE ACHANGE ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCHANGETYPE INTEGER,
            ZENTITY INTEGER, ZENTITYPK INTEGER, ZTRANSACTIONID INTEGER, ZTOMBSTONE0 BLOB );
            CREATE TABLE ATRANSACTION ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTIMESTAMP FLOAT,
            ZAUTHOR VARCHAR, ZBUNDLEID VARCHAR, ZCONTEXTNAME VARCHAR, ZPROCESSID VARCHAR );
            INSERT INTO ACHANGE (Z_PK) VALUES (7);
            INSERT INTO Z_PRIMARYKEY VALUES (16001, 'CHANGE', 0, 5), (16002, 'TRANSACTION', 0, 0);
            """)
        let store = try open("a.sqlite", model)
        try write(store, memo)
        XCTAssertEqual(
            try shell("a.sqlite", "SELECT Z_PK, ZCHANGETYPE, ZTOMBSTONE0 FROM ACHANGE WHERE Z_PK > 7"),
            "8|0|\n9|0|\n10|1|\n11|2|5")
        XCTAssertEqual(
            try shell(
                "a.sqlite", "SELECT count(*), min(length(ZBUNDLEID)) > 0, min(length(ZPROCESSID)) > 0 FROM ATRANSACTION"
            ),
            "3|1|1")
    }

    func testANewerDesignIsReadOnlyWithTheReason() throws {
        let (model, memo) = try notebook()
        try open("a.sqlite", model, options: withHistory).close()
        _ = try shell("a.sqlite", "ALTER TABLE ACHANGE ADD COLUMN ZNOVELTY BLOB")
        let store = try open("a.sqlite", model)
        XCTAssert(store.isReadOnly)
        let error = failure { try store.save { try $0.insert([], entity: memo) } }
        XCTAssertEqual(error.status, .storeReadOnly)
        XCTAssert(error.message.contains("ACHANGE has a column ZNOVELTY"), error.message)
    }
}
