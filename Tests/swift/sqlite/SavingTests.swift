import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneSQLite

final class SavingTests: StoreTestCase {
    private func slot(_ entity: Entity, _ name: String) throws -> Int {
        Int(try XCTUnwrap(entity.property(named: name)).slot)
    }

    /// Animals 1 to `count`, cages 1 to 3, keepers 1 and 2.
    private func filled(_ zoo: Zoo, _ name: String = "zoo.sqlite", count: Int64 = 5) throws -> SQLiteStore {
        let store = try open(name, zoo.model)
        var rows = Rows()
        try store.save { save in
            _ = try save.reservePrimaryKeys(of: zoo.animal, count: Int(count))
            _ = try save.reservePrimaryKeys(of: zoo.cage, count: 3)
            _ = try save.reservePrimaryKeys(of: zoo.keeper, count: 2)
            try save.insert(
                (1...count).map { rows.add(zoo.animal, $0, ["name": .string("A\($0)"), "legs": .int(4)]) },
                entity: zoo.animal)
            try save.insert((1...3).map { rows.add(zoo.cage, $0, ["number": .int($0)]) }, entity: zoo.cage)
            try save.insert((1...2).map { rows.add(zoo.keeper, $0, ["badge": .int($0)]) }, entity: zoo.keeper)
        }
        return store
    }

    func testUpdateWritesChangedColumnsOnly() throws {
        let zoo = try Zoo()
        let store = try filled(zoo)
        var rows = Rows()
        _ = try shell("zoo.sqlite", "UPDATE ZANIMAL SET ZLEGS = 3 WHERE Z_PK = 2")
        let name = try slot(zoo.animal, "name")
        let keeper = try slot(zoo.animal, "keeper")
        try store.save { save in
            let bea = rows.add(zoo.animal, 2, version: 2, ["name": .string("Bea"), "legs": .int(4)])
            let kept = rows.add(zoo.animal, 3, version: 2, [:], targets: ["keeper": (2, zoo.keeper)])
            let same = rows.add(zoo.animal, 4, version: 2, [:])
            for (record, slots) in [(bea, [name]), (kept, [name, keeper]), (same, [])] {
                let row = UpdatedRow(record: record, oldVersion: 1)
                XCTAssertEqual(try save.update([row], slots: slots, entity: zoo.animal), [])
            }
        }
        XCTAssertEqual(
            try shell("zoo.sqlite", "SELECT Z_PK, Z_OPT, ZNAME, ZLEGS, ZKEEPER FROM ZANIMAL"),
            "1|1|A1|4|\n2|2|Bea|3|\n3|2||4|2\n4|2|A4|4|\n5|1|A5|4|")
    }

    func testStaleVersionsAreReturnedByUpdateAndDelete() throws {
        let zoo = try Zoo()
        let store = try filled(zoo)
        var rows = Rows()
        _ = try shell("zoo.sqlite", "UPDATE ZANIMAL SET Z_OPT = 7 WHERE Z_PK = 2; DELETE FROM ZANIMAL WHERE Z_PK = 4")
        let name = try slot(zoo.animal, "name")
        struct Stop: Error {}
        XCTAssertThrowsError(
            try store.save { save in
                let changed = (1...5).map {
                    UpdatedRow(record: rows.add(zoo.animal, $0, version: 2, ["name": .string("x")]), oldVersion: 1)
                }
                XCTAssertEqual(try save.update(changed, slots: [name], entity: zoo.animal), [1, 3])
                XCTAssertEqual(try save.delete([(1, 2), (2, 1), (4, 1)], entity: zoo.animal), [1, 2])
                // The current rows, read inside the transaction.
                XCTAssertEqual(try store.rows(of: zoo.animal, primaryKeys: [2]).records.first?.version, 7)
                throw Stop()
            })
        XCTAssertEqual(
            try shell("zoo.sqlite", "SELECT group_concat(Z_PK || ZNAME || Z_OPT) FROM ZANIMAL"), "1A11,2A27,3A31,5A51")
    }

    func testUniqueConstraintViolationNamesEntityAndKey() throws {
        let zoo = try Zoo()
        let store = try filled(zoo)
        var rows = Rows()
        let error = failure {
            try store.save { save in
                let key = try save.reservePrimaryKeys(of: zoo.keeper, count: 1)
                try save.insert(
                    [rows.add(zoo.keeper, key, ["badge": .int(2), "name": .string("Twin")])], entity: zoo.keeper)
            }
        }
        XCTAssertEqual(error.status, .conflict)
        XCTAssertEqual(error.code, 133021)
        XCTAssertEqual(error.entity, "Keeper")
        XCTAssertEqual(error.key, "badge")
        XCTAssertEqual(error.value, .int(2))
        XCTAssertEqual(error.sqliteCode, 2067)
        XCTAssert(error.message.contains("zoo.sqlite already has 2"), error.message)
        let badge = try slot(zoo.keeper, "badge")
        let update = failure {
            try store.save { save in
                let row = UpdatedRow(record: rows.add(zoo.keeper, 1, version: 2, ["badge": .int(2)]), oldVersion: 1)
                _ = try save.update([row], slots: [badge], entity: zoo.keeper)
            }
        }
        XCTAssertEqual(update.code, 133021)
        XCTAssertEqual(try shell("zoo.sqlite", "SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = 'Keeper'"), "2")
        XCTAssertEqual(try store.reservePrimaryKeys(of: zoo.keeper, count: 1), 3)
        let twice = failure { try store.save { try $0.insert([rows.add(zoo.cage, 1, [:])], entity: zoo.cage) } }
        XCTAssertEqual(twice.status, .conflict)
        XCTAssertEqual(twice.entity, "Cage")
    }

    func testReservedKeysAreAboveThoseInUse() throws {
        let zoo = try Zoo()
        let store = try filled(zoo)
        _ = try shell("zoo.sqlite", "INSERT INTO ZANIMAL (Z_PK, Z_ENT, Z_OPT) VALUES (90, 1, 1)")
        XCTAssertEqual(try store.reservePrimaryKeys(of: zoo.animal, count: 2), 91)
        XCTAssertEqual(try shell("zoo.sqlite", "SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = 1"), "92")
        _ = try shell("zoo.sqlite", "UPDATE Z_PRIMARYKEY SET Z_MAX = 9223372036854775807 WHERE Z_ENT = 1")
        XCTAssertEqual(failure { _ = try store.reservePrimaryKeys(of: zoo.animal, count: 1) }.status, .storeCorrupt)
    }

    func testInsertionFailsWhenThePrimaryKeyIsInUse() throws {
        let zoo = try Zoo()
        let store = try filled(zoo)
        var rows = Rows()
        let cage = rows.add(zoo.cage, 1, [:])
        let error = failure { try store.save { save in try save.insert([cage], entity: zoo.cage) } }
        XCTAssertEqual(error.status, .conflict)
        XCTAssertEqual(error.code, 134030)
        XCTAssertEqual(error.entity, "Cage")
        XCTAssertTrue(
            error.message.hasPrefix("the primary key 1 of a new Cage is already in use in "), error.message)
        XCTAssertEqual(error.value, .int(1))
    }

    func testKeyReservationFailsWhenKeysAreExhausted() throws {
        let zoo = try Zoo()
        let store = try filled(zoo)
        // A reservation of zero keys returns the next key and reserves nothing.
        XCTAssertEqual(try store.reservePrimaryKeys(of: zoo.cage, count: 0), 4)
        XCTAssertEqual(try store.reservePrimaryKeys(of: zoo.cage, count: 1), 4)
        let most = Int64.max
        for (highest, count) in [(most - 2, 2), (most - 1, 1), (most, 1), (5, -1)] {
            _ = try shell("zoo.sqlite", "UPDATE Z_PRIMARYKEY SET Z_MAX = \(highest) WHERE Z_NAME = 'Cage'")
            let error = failure { _ = try store.reservePrimaryKeys(of: zoo.cage, count: count) }
            XCTAssertEqual(error.status, .storeCorrupt)
            XCTAssertEqual(error.entity, "Cage")
            XCTAssertEqual(error.file, path("zoo.sqlite"))
            XCTAssertEqual(
                error.message,
                "\(path("zoo.sqlite")) has too few unused primary keys for \(count) new Cage "
                    + "\(count == 1 ? "object" : "objects"): the highest key is \(highest); restore the store from a "
                    + "backup")
            XCTAssertEqual(
                try shell("zoo.sqlite", "SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = 'Cage'"), "\(highest)")
        }
        _ = try shell("zoo.sqlite", "UPDATE Z_PRIMARYKEY SET Z_MAX = \(most - 3) WHERE Z_NAME = 'Cage'")
        XCTAssertEqual(try store.reservePrimaryKeys(of: zoo.cage, count: 2), most - 2)
    }

    /// The indexes of stale rows in a batch are returned, and all other rows are written.
    func testStaleRowsAreReportedByIndex() throws {
        let zoo = try Zoo()
        let store = try filled(zoo)
        var rows = Rows()
        let legs = try slot(zoo.animal, "legs")
        try store.save { save in
            let updated = [(1, 1), (2, 7), (3, 1), (99, 1)].map { key, version in
                UpdatedRow(
                    record: rows.add(zoo.animal, Int64(key), version: 2, ["legs": .int(9)]), oldVersion: Int32(version))
            }
            XCTAssertEqual(try save.update(updated, slots: [legs], entity: zoo.animal), [1, 3])
            XCTAssertEqual(try save.delete([(2, 1), (3, 1), (98, 1), (4, 1)], entity: zoo.animal), [1, 2])
        }
        XCTAssertEqual(
            try shell("zoo.sqlite", "SELECT Z_PK, Z_OPT, ZLEGS, ZNAME FROM ZANIMAL"), "1|2|9|A1\n3|2|9|A3\n5|1|4|A5")
        // A row without a version has version 0.
        _ = try shell("zoo.sqlite", "UPDATE ZANIMAL SET Z_OPT = NULL WHERE Z_PK = 5")
        try store.save { save in
            XCTAssertTrue(try save.isCurrent(5, version: 0, entity: zoo.animal))
            XCTAssertFalse(try save.isCurrent(5, version: 1, entity: zoo.animal))
            XCTAssertFalse(try save.isCurrent(98, version: 1, entity: zoo.animal))
            XCTAssertEqual(try save.delete([(5, 0)], entity: zoo.animal), [])
        }
        XCTAssertEqual(try shell("zoo.sqlite", "SELECT count(*) FROM ZANIMAL"), "2")
    }
    func testPairsOfAManyToManyRelationshipAreAddedAndRemoved() throws {
        let zoo = try Zoo()
        let store = try filled(zoo)
        let cages = try zoo.relationship(zoo.animal, "cages")
        let inhabitants = try zoo.relationship(zoo.cage, "inhabitants")
        try store.save { save in
            try save.link(
                cages, added: [Link(owner: 1, member: 1), Link(owner: 2, member: 1), Link(owner: 1, member: 1)],
                removed: [])
            try save.link(
                inhabitants, added: [Link(owner: 1, member: 3), Link(owner: 2, member: 3)],
                removed: [Link(owner: 3, member: 9)])
            try save.setOrder(inhabitants, owners: [(1, [3, 1, 2])])
        }
        XCTAssertEqual(
            try shell("zoo.sqlite", "SELECT Z_1INHABITANTS, Z_3CAGES, Z_FOK_1INHABITANTS FROM Z_1CAGES ORDER BY 1, 2"),
            "1|1|3072\n2|1|4096\n3|1|2048\n3|2|")
        XCTAssertEqual(
            try store.members(of: inhabitants, owners: [1], includingRows: false).members.map(\.primaryKey), [3, 1, 2])
        let caged = try store.members(of: cages, owners: [3], includingRows: true)
        XCTAssertEqual(caged.batch.records.map(\.primaryKey), [1, 2])
        withExtendedLifetime(caged) {}
        let many = try store.members(of: inhabitants, owners: [1, 2, 3, 4, 5, 6], includingRows: true)
        XCTAssertEqual(many.members.filter { $0.owner == 1 }.map(\.primaryKey), [3, 1, 2])
        XCTAssertEqual(many.members.count, 4)
        try store.save { save in
            try save.link(cages, added: [], removed: [Link(owner: 1, member: 1)])
            try save.setOrder(inhabitants, owners: [(1, [2, 3])])
            XCTAssertEqual(try save.delete([(3, 1)], entity: zoo.animal), [])
        }
        XCTAssertEqual(try shell("zoo.sqlite", "SELECT Z_1INHABITANTS, Z_3CAGES FROM Z_1CAGES"), "2|1")
    }

    func testPairsOfASelfInverseRelationshipAreFoundFromEitherSide() throws {
        let zoo = try Zoo()
        let store = try filled(zoo)
        let friends = try zoo.relationship(zoo.animal, "friends")
        try store.save { save in
            try save.link(
                friends, added: [Link(owner: 1, member: 2), Link(owner: 1, member: 1), Link(owner: 3, member: 1)],
                removed: [])
        }
        // A pair that a foreign writer wrote in one order only.
        _ = try shell("zoo.sqlite", "INSERT INTO Z_1FRIENDS VALUES (4, 5)")
        func members(_ owner: Int64) throws -> [Int64] {
            try store.members(of: friends, owners: [owner], includingRows: false).members.map(\.primaryKey).sorted()
        }
        XCTAssertEqual(try members(1), [1, 2, 3])
        XCTAssertEqual(try members(2), [1])
        XCTAssertEqual(try members(4), [5])
        XCTAssertEqual(try members(5), [4])
        let all = try store.members(of: friends, owners: [1, 2, 3, 4, 5], includingRows: true)
        XCTAssertEqual(all.members.count, 7)
        try store.save { save in
            try save.link(friends, added: [], removed: [Link(owner: 2, member: 1)])
            XCTAssertEqual(try save.delete([(4, 1)], entity: zoo.animal), [])
        }
        XCTAssertEqual(try members(1), [1, 3])
        XCTAssertEqual(try members(2), [])
        XCTAssertEqual(try shell("zoo.sqlite", "SELECT count(*) FROM Z_1FRIENDS"), "3")
    }

    func testMembersOfARelationshipWithoutInverseAreWritten() throws {
        let zoo = try Zoo()
        let store = try filled(zoo)
        let watched = try zoo.relationship(zoo.keeper, "watched")
        try store.save {
            try $0.link(watched, added: [Link(owner: 1, member: 2), Link(owner: 1, member: 3)], removed: [])
        }
        // Moving a member: the new owner is stored in any order of the pairs.
        try store.save {
            try $0.link(watched, added: [Link(owner: 2, member: 3)], removed: [Link(owner: 1, member: 3)])
        }
        XCTAssertEqual(
            try shell("zoo.sqlite", "SELECT Z_PK, Z5WATCHED FROM ZANIMAL WHERE Z5WATCHED NOT NULL"), "2|1\n3|2")
        let found = try store.members(of: watched, owners: [1, 2], includingRows: false)
        XCTAssertEqual(found.members.map { [$0.owner, $0.primaryKey] }.sorted { $0[0] < $1[0] }, [[1, 2], [2, 3]])
        try store.save { XCTAssertEqual(try $0.delete([(1, 1)], entity: zoo.keeper), []) }
        XCTAssertEqual(try shell("zoo.sqlite", "SELECT Z_PK FROM ZANIMAL WHERE Z5WATCHED NOT NULL"), "3")
    }

    func testOrderOfMembersIsWrittenInOneTransaction() throws {
        let zoo = try Zoo()
        let store = try filled(zoo, count: 200)
        let animals = try zoo.relationship(zoo.keeper, "animals")
        var rows = Rows()
        let keeper = try slot(zoo.animal, "keeper")
        var order = (1...200).map(Int64.init)
        try store.save { save in
            let changed = order.map {
                UpdatedRow(
                    record: rows.add(zoo.animal, $0, version: 2, [:], targets: ["keeper": (1, zoo.keeper)]),
                    oldVersion: 1)
            }
            XCTAssertEqual(try save.update(changed, slots: [keeper], entity: zoo.animal), [])
            try save.setOrder(animals, owners: [(1, order)])
        }
        var generator = SplitMix(state: 3)
        for _ in 0..<60 {
            if Bool.random(using: &generator) {
                let moved = order.remove(at: Int.random(in: 0..<order.count, using: &generator))
                order.insert(moved, at: Int.random(in: 0...order.count, using: &generator))
            } else {
                order.shuffle(using: &generator)
            }
            try store.save { try $0.setOrder(animals, owners: [(1, order)]) }
            XCTAssertEqual(
                try store.members(of: animals, owners: [1], includingRows: false).members.map(\.primaryKey), order)
        }
        // A row without an owner does not have an order key.
        try store.save { save in
            let row = UpdatedRow(record: rows.add(zoo.animal, 1, version: 3, [:]), oldVersion: 2)
            XCTAssertEqual(try save.update([row], slots: [keeper], entity: zoo.animal), [])
        }
        XCTAssertEqual(try shell("zoo.sqlite", "SELECT ZKEEPER, Z_FOK_KEEPER FROM ZANIMAL WHERE Z_PK = 1"), "|")
    }

    /// A failed save leaves the file unchanged, wherever it fails.
    func testFailedSaveLeavesTheFileUnchanged() throws {
        let zoo = try Zoo()
        let store = try filled(zoo)
        let before = try shell("zoo.sqlite", ".dump")
        var rows = Rows()
        struct Stop: Error {}
        XCTAssertThrowsError(
            try store.save { save in
                let key = try save.reservePrimaryKeys(of: zoo.cage, count: 1)
                try save.insert([rows.add(zoo.cage, key, [:])], entity: zoo.cage)
                try save.link(zoo.relationship(zoo.animal, "cages"), added: [Link(owner: 1, member: key)], removed: [])
                throw Stop()
            })
        // A full disk.
        try store.withFile { file in
            sqlite3_exec(file.connection.db, "PRAGMA max_page_count=1", nil, nil, nil)
            sqlite3_exec(file.connection.db, "PRAGMA cache_size=1", nil, nil, nil)
        }
        let big = PropertyValue.string(String(repeating: "x", count: 5_000_000))
        let full = failure {
            try store.save { save in
                let key = try save.reservePrimaryKeys(of: zoo.animal, count: 1)
                try save.insert([rows.add(zoo.animal, key, ["name": big])], entity: zoo.animal)
            }
        }
        XCTAssertEqual(full.status, .storeIO)
        XCTAssertEqual(full.sqliteCode & 0xff, SQLITE_FULL)
        XCTAssert(full.message.contains("space"), full.message)
        XCTAssertEqual(try shell("zoo.sqlite", ".dump"), before)
        XCTAssertEqual(try store.fetch(StoreFetch(entity: zoo.animal, result: .count)).count, 5)
    }

    func testInterruptCheckStopsAScan() throws {
        let zoo = try Zoo()
        let store = try filled(zoo, count: 2000)
        _ = try shell(
            "zoo.sqlite",
            "WITH RECURSIVE n(i) AS (SELECT 3000 UNION ALL SELECT i + 1 FROM n WHERE i < 400000) "
                + "INSERT INTO ZANIMAL (Z_PK, Z_ENT, Z_OPT, ZNAME) SELECT i, 1, 1, 'n' FROM n")
        var asked = 0
        store.setInterruptCheck {
            asked += 1
            return asked == 2
        }
        let error = failure { _ = try store.fetch(StoreFetch(entity: zoo.animal)) }
        XCTAssertEqual(error.status, .cancelled)
        XCTAssertEqual(asked, 2)
        store.setInterruptCheck(nil)
        XCTAssertEqual(try store.fetch(StoreFetch(entity: zoo.animal, limit: 3)).batch.records.count, 3)
        XCTAssertEqual(try store.fetch(StoreFetch(entity: zoo.animal, offset: 1990, result: .count)).count, 397_011)
    }

    // MARK: Held reads

    private func isHeld(_ store: SQLiteStore) throws -> Bool { try store.withFile { $0.openRead?.isOpen == true } }

    /// Waits until the held read transaction has ended automatically.
    private func waitUntilIdle(_ store: SQLiteStore, line: UInt = #line) throws {
        for _ in 0..<6000 {
            if try !isHeld(store) { return }
            usleep(10_000)
        }
        XCTFail("the read transaction did not end in time", line: line)
    }

    func testFaultsHoldOneReadTransaction() throws {
        let zoo = try Zoo()
        let store = try filled(zoo)
        // Writes faster than an idle read transaction ends.
        let other = try Connection(path("zoo.sqlite"), path: "zoo.sqlite", flags: SQLITE_OPEN_READWRITE)
        try other.execute("PRAGMA synchronous = OFF", "test")
        func setVersion(_ version: Int) throws {
            try other.execute("UPDATE ZANIMAL SET Z_OPT = \(version) WHERE Z_PK = 1", "test")
        }
        func version() throws -> Int32? { try store.rows(of: zoo.animal, primaryKeys: [1]).records.first?.version }
        func faults() throws { for _ in 0..<20 { _ = try version() } }
        usleep(5000)
        XCTAssertEqual(try version(), 1)
        XCTAssertFalse(try isHeld(store))
        try faults()
        XCTAssert(try isHeld(store))
        try setVersion(2)
        XCTAssertEqual(try version(), 1)
        store.endRead()
        XCTAssertFalse(try isHeld(store))
        XCTAssertEqual(try version(), 2)
        // A fetch reads the newest state immediately.
        try faults()
        try setVersion(3)
        let newest = try store.fetch(StoreFetch(entity: zoo.animal))
        XCTAssertEqual(newest.batch.records.first?.version, 3)
        withExtendedLifetime(newest) {}
        // Faults of its rows read the same state.
        XCTAssert(try isHeld(store))
        try setVersion(4)
        XCTAssertEqual(try version(), 3)
        try waitUntilIdle(store)
        XCTAssertEqual(try version(), 4)
        // Also later, when the thread has become idle.
        usleep(1_300_000)
        try faults()
        XCTAssert(try isHeld(store))
        try waitUntilIdle(store)
        try faults()
        var rows = Rows()
        try store.save { try $0.insert([rows.add(zoo.cage, 9, [:])], entity: zoo.cage) }
        XCTAssertFalse(try isHeld(store))
        try faults()
        other.close()
        store.close()
        XCTAssertEqual(try files(), ["zoo.sqlite"])
    }

    func testStoresWithARollbackJournalHoldNoReadTransaction() throws {
        let zoo = try Zoo()
        var options = StoreOptions()
        options.rollbackJournal = true
        let store = try open("zoo.sqlite", zoo.model, options: options)
        for _ in 0..<10 { _ = try store.rows(of: zoo.animal, primaryKeys: [1]) }
        XCTAssertFalse(try isHeld(store))
    }

    func testThreadsUseAStoreConcurrently() throws {
        let zoo = try Zoo()
        let store = try filled(zoo)
        let shared = Unchecked(zoo)
        DispatchQueue.concurrentPerform(iterations: 6) { thread in
            do {
                for round in 0..<60 {
                    let zoo = shared.value
                    switch (thread + round) % 4 {
                    case 0: XCTAssertEqual(try store.rows(of: zoo.animal, primaryKeys: [1, 2, 3]).records.count, 3)
                    case 1: XCTAssertEqual(try store.fetch(StoreFetch(entity: zoo.animal)).batch.records.count, 5)
                    case 2: _ = try store.reservePrimaryKeys(of: zoo.cage, count: 1)
                    default: store.endRead()
                    }
                }
            } catch { XCTFail("\(error)") }
        }
        XCTAssertEqual(try store.reservePrimaryKeys(of: zoo.cage, count: 1), 4 + 90)
    }
}

/// Passes a value to a concurrent closure that only reads it.
struct Unchecked<Value>: @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
}
