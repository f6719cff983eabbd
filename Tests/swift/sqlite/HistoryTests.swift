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

    /// Inserts two memos, changes one, deletes the other, each in a separate save.
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

    func testEverySaveIsRecordedInTheHistory() throws {
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
            3|16001|1|1|2|1|2|10||
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

    func testHistoryRecordsAuthorAndContextName() throws {
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

    func testFailedSaveIsNotRecordedInTheHistory() throws {
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

    func testExistingHistoryContinuesWithoutTheOption() throws {
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
    func testOlderHistoryDesignIsWritten() throws {
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

    func testStoreWithANewerHistoryDesignIsReadOnly() throws {
        let (model, memo) = try notebook()
        try open("a.sqlite", model, options: withHistory).close()
        _ = try shell("a.sqlite", "ALTER TABLE ACHANGE ADD COLUMN ZNOVELTY BLOB")
        let store = try open("a.sqlite", model)
        XCTAssert(store.isReadOnly)
        let error = failure { try store.save { try $0.insert([], entity: memo) } }
        XCTAssertEqual(error.status, .storeReadOnly)
        XCTAssert(error.message.contains("ACHANGE has a column ZNOVELTY"), error.message)
    }

    // MARK: Designs

    private static let changes: Set<String> = [
        "Z_PK", "Z_ENT", "Z_OPT", "ZCHANGETYPE", "ZENTITY", "ZENTITYPK", "ZTRANSACTIONID",
    ]
    private static let transactions: Set<String> = ["Z_PK", "Z_ENT", "Z_OPT", "ZTIMESTAMP"]
    private static let strings: Set<String> = ["Z_PK", "Z_ENT", "Z_OPT", "ZNAME"]

    private func design(
        _ changes: Set<String>? = HistoryTests.changes, _ transactions: Set<String>? = HistoryTests.transactions,
        _ strings: Set<String>? = nil
    ) throws -> HistorySchema? {
        var columns: [HistorySchema.Table: Set<String>] = [:]
        (columns[.change], columns[.transaction], columns[.string]) = (changes, transactions, strings)
        return try HistorySchema(columns: columns)
    }

    func testHistoryDesignReadsOptionalColumns() throws {
        XCTAssertNil(try design(nil, nil))
        let least = try XCTUnwrap(design())
        XCTAssertEqual(least.labels.count, 0)
        XCTAssertEqual(least.tombstoneCount, 0)
        XCTAssertFalse(least.hasColumns)
        let most = try XCTUnwrap(
            design(
                HistoryTests.changes.union(["ZCOLUMNS", "ZTOMBSTONE0", "ZTOMBSTONE1"]),
                HistoryTests.transactions.union(["ZAUTHOR", "ZAUTHORTS", "ZBUNDLEIDTS", "ZCONTEXTNAME", "ZQUERYGEN"]),
                HistoryTests.strings))
        XCTAssertEqual(most.tombstoneCount, 2)
        XCTAssertTrue(most.hasColumns)
        let labels = most.labels.map { "\($0.key.rawValue) \($0.value.column) \($0.value.isReference)" }
        XCTAssertEqual(
            labels.sorted(),
            ["ZAUTHOR ZAUTHORTS true", "ZBUNDLEID ZBUNDLEIDTS true", "ZCONTEXTNAME ZCONTEXTNAME false"])
        // Without the table of strings no column can refer to it.
        let names = try XCTUnwrap(
            design(HistoryTests.changes, HistoryTests.transactions.union(["ZAUTHOR", "ZAUTHORTS", "ZBUNDLEIDTS"])))
        XCTAssertEqual(
            names.labels.map { "\($0.key) \($0.value.column) \($0.value.isReference)" }, ["author ZAUTHOR false"])
    }

    func testUnknownHistoryDesignsAreRejectedWithAReason() {
        func reason(_ changes: Set<String>?, _ transactions: Set<String>?, _ strings: Set<String>? = nil) -> String? {
            do {
                _ = try design(changes, transactions, strings)
                return nil
            } catch { return (error as? HistoryRefusal)?.reason }
        }
        let (changes, transactions) = (HistoryTests.changes, HistoryTests.transactions)
        XCTAssertEqual(reason(changes, nil), "its persistent history does not have the table ATRANSACTION")
        XCTAssertEqual(reason(nil, transactions), "its persistent history does not have the table ACHANGE")
        XCTAssertEqual(
            reason(changes.union(["ZB", "ZA"]), transactions),
            "its persistent history has a newer format: ACHANGE has a column ZA")
        XCTAssertEqual(
            reason(changes, transactions.union(["ZOTHER"])),
            "its persistent history has a newer format: ATRANSACTION has a column ZOTHER")
        XCTAssertEqual(
            reason(changes, transactions, HistoryTests.strings.union(["ZOTHER"])),
            "its persistent history has a newer format: ATRANSACTIONSTRING has a column ZOTHER")
        for (table, columns) in [("ACHANGE", changes), ("ATRANSACTION", transactions)] {
            for column in columns {
                let rest = columns.subtracting([column])
                XCTAssertEqual(
                    table == "ACHANGE" ? reason(rest, transactions) : reason(changes, rest),
                    "its persistent history has an unknown format: \(table) does not have the column \(column)")
            }
        }
        XCTAssertEqual(
            reason(changes, transactions, ["Z_PK", "Z_ENT", "Z_OPT"]),
            "its persistent history has an unknown format: ATRANSACTIONSTRING does not have the column ZNAME")
        XCTAssertEqual(
            reason(changes.union(["ZTOMBSTONE1"]), transactions),
            "its persistent history has an unknown format: the columns ZTOMBSTONE of ACHANGE have gaps")
    }

    func testPreservedAttributesAreOrderedByName() throws {
        let (model, memo) = try notebook()
        XCTAssertEqual(HistorySchema.preservedAttributes(of: memo).map(\.name), ["stamp", "title"])
        let tables = HistorySchema.creationStatements(for: model)
        XCTAssert(tables[0].hasSuffix("ZCOLUMNS BLOB, ZTOMBSTONE0 BLOB, ZTOMBSTONE1 BLOB )"), tables[0])
        let plain = Model()
        try plain.addEntity(named: "Note")
        XCTAssert(HistorySchema.creationStatements(for: plain)[0].hasSuffix("ZTRANSACTIONID INTEGER, ZCOLUMNS BLOB )"))
    }

    /// The bits of a mask are in the order of the properties.
    ///
    /// To-one relationships with the entities of their targets come first, then sort keys, attributes and to-many
    /// relationships, those of a superentity before others. The first bit is the highest one of the first byte.
    func testMaskOfChangedPropertiesFollowsTheirOrder() throws {
        let model = Model()
        let item = try model.addEntity(named: "Item")
        let note = try model.addEntity(named: "Note")
        try note.setParent(item)
        let place = try model.addEntity(named: "Place")
        try model.addEntity(named: "Town").setParent(place)
        try item.addAttribute(named: "uuid", type: .uuid)
        for letter in "cba" { try note.addAttribute(named: String(letter), type: .integer16) }
        try note.addAttribute(named: "passing", type: .string, isTransient: true)
        try note.addRelationship(named: "place", destination: place)
        let book = try note.addRelationship(named: "book", destination: place)
        let notes = try place.addRelationship(named: "notes", destination: note, isToMany: true, isOrdered: true)
        try book.setInverse(notes)
        try item.addRelationship(named: "tags", destination: place, isToMany: true)
        try model.freeze()
        let slots = HistorySlots(of: note)
        XCTAssertEqual(
            slots.slots.map { "\($0.property.name) \($0.part)" },
            [
                "book value", "book targetEntity", "place value", "place targetEntity", "book order", "uuid value",
                "a value",
                "b value", "c value", "tags value",
            ])
        func mask(_ names: String...) throws -> [UInt8] {
            slots.mask(of: try names.map { try note.requireProperty(named: $0) })
        }
        XCTAssertEqual(try mask(), [0, 0])
        XCTAssertEqual(try mask("book"), [0xc0, 0])
        XCTAssertEqual(try mask("uuid", "c"), [0x04, 0x80])
        XCTAssertEqual(try mask("tags", "a"), [0x02, 0x40])
        XCTAssertEqual(slots.slots(in: [0x04, 0x80]).map(\.property.name), ["uuid", "c"])
        XCTAssertEqual(slots.slots(in: [0xff, 0xff, 0xff]).count, 10)
        XCTAssertEqual(HistorySlots(of: place).mask(of: []), [0])
    }

    func testSaveFailsWhenHistoryKeysAreExhausted() throws {
        let (model, memo) = try notebook()
        let store = try open("a.sqlite", model, options: withHistory)
        try write(store, memo)
        // Keys in use are respected even if Z_MAX is lower.
        _ = try shell("a.sqlite", "UPDATE Z_PRIMARYKEY SET Z_MAX = 0 WHERE Z_ENT > 16000")
        var rows = Rows()
        try store.save { try $0.insert([rows.add(memo, 5, [:])], entity: memo) }
        XCTAssertEqual(try shell("a.sqlite", "SELECT max(Z_PK) FROM ACHANGE"), "5")
        XCTAssertEqual(
            try shell("a.sqlite", "SELECT Z_NAME, Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT IN (16001, 16002)"),
            "CHANGE|5\nTRANSACTION|4")
        let most = Int64(1) << 62
        _ = try shell("a.sqlite", "UPDATE Z_PRIMARYKEY SET Z_MAX = \(most) WHERE Z_ENT = 16002")
        try store.save { try $0.insert([rows.add(memo, 6, [:])], entity: memo) }
        XCTAssertEqual(try shell("a.sqlite", "SELECT max(Z_PK) FROM ATRANSACTION"), "\(most + 1)")
        let error = failure { try store.save { try $0.insert([rows.add(memo, 7, [:])], entity: memo) } }
        XCTAssertEqual(error.status, .storeCorrupt)
        XCTAssertEqual(error.code, 134030)
        XCTAssertEqual(error.file, path("a.sqlite"))
        XCTAssertEqual(
            error.message,
            "the history of \(path("a.sqlite")) is damaged: the highest primary key of ATRANSACTION, in the table or "
                + "in Z_PRIMARYKEY, is \(most + 1), but the limit is \(most); restore the store from a backup")
        XCTAssertEqual(try shell("a.sqlite", "SELECT count(*) FROM ZNOTE WHERE Z_PK = 7"), "0")
    }
}
