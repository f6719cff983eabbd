import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneSQLite

final class ExternalDataTests: StoreTestCase {
    private let large = PropertyValue.bytes(Bytes(Array(repeating: 7, count: 200_000)))
    private let small = PropertyValue.bytes(Bytes([1, 2, 3]))

    private var externalFiles: [String] {
        let folder = path(".zoo_SUPPORT/_EXTERNAL_DATA")
        return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
    }

    /// What the column of the row begins with.
    private func column(_ key: Int) throws -> String {
        try shell(
            "zoo.sqlite",
            "SELECT hex(substr(ZLARGE, 1, 1)) || ' ' || length(ZLARGE) FROM ZEVERYTHING WHERE Z_PK = \(key)")
    }

    private func value(_ store: SQLiteStore, _ zoo: Zoo, _ key: Int64) throws -> PropertyValue {
        let rows = try store.rows(of: zoo.everything, primaryKeys: [key])
        return try withExtendedLifetime(rows) {
            zoo.everything.value("large", of: try XCTUnwrap(rows.records.first))
        }
    }

    func testLargeValuesLieInFiles() throws {
        let zoo = try Zoo()
        let store = try open("zoo.sqlite", zoo.model)
        var rows = Rows()
        let slot = Int(try XCTUnwrap(zoo.everything.property(named: "large")).slot)
        try store.save { save in
            _ = try save.reservePrimaryKeys(of: zoo.everything, count: 3)
            try save.insert(
                [
                    rows.add(zoo.everything, 1, ["large": large]), rows.add(zoo.everything, 2, ["large": small]),
                    rows.add(zoo.everything, 3, [:]),
                ], entity: zoo.everything)
        }
        XCTAssertEqual(try [column(1), column(2), column(3)], ["02 38", "01 4", ""])
        XCTAssertEqual(externalFiles.count, 1)
        XCTAssertEqual(
            try shell("zoo.sqlite", "SELECT substr(ZLARGE, 2, 36) FROM ZEVERYTHING WHERE Z_PK = 1"), externalFiles[0])
        XCTAssertEqual(try value(store, zoo, 1), large)
        XCTAssertEqual(try value(store, zoo, 2), small)

        func update(_ key: Int64, _ version: Int32, _ value: PropertyValue) throws {
            try store.save { save in
                let record = rows.add(zoo.everything, key, version: version + 1, ["large": value])
                let stale = try save.update(
                    [UpdatedRow(record: record, oldVersion: version, changedSlots: [slot])], entity: zoo.everything)
                XCTAssertEqual(stale, [])
            }
        }
        // Another file takes the place of the first; then none is needed; then two.
        let first = externalFiles
        try update(1, 1, large)
        XCTAssertEqual(externalFiles.count, 1)
        XCTAssertNotEqual(externalFiles, first)
        try update(1, 2, small)
        XCTAssertEqual(externalFiles, [])
        XCTAssertEqual(try value(store, zoo, 1), small)
        try update(1, 3, large)
        try update(2, 1, large)
        XCTAssertEqual(externalFiles.count, 2)
        try store.save { XCTAssertEqual(try $0.delete([(1, 4)], entity: zoo.everything), []) }
        XCTAssertEqual(externalFiles.count, 1)
        XCTAssertEqual(try value(store, zoo, 2), large)
    }

    func testASaveThatFailsLeavesTheFilesAsTheyWere() throws {
        let zoo = try Zoo()
        let store = try open("zoo.sqlite", zoo.model)
        var rows = Rows()
        try store.save { try $0.insert([rows.add(zoo.everything, 1, ["large": large])], entity: zoo.everything) }
        let before = externalFiles
        struct Stop: Error {}
        XCTAssertThrowsError(
            try store.save { save in
                try save.insert([rows.add(zoo.everything, 2, ["large": large])], entity: zoo.everything)
                _ = try save.delete([(1, 1)], entity: zoo.everything)
                throw Stop()
            })
        XCTAssertEqual(externalFiles, before)
        XCTAssertEqual(try value(store, zoo, 1), large)
    }

    /// A row of the state that is being read names the file of the former value, which whoever saved another one removed.
    func testValuesThatOthersReplaceMeanwhileAreReadAsTheyAreNow() throws {
        let zoo = try Zoo()
        let (store, other) = (try open("zoo.sqlite", zoo.model), try open("zoo.sqlite", zoo.model))
        var rows = Rows()
        let keys = Array(Int64(1)...8)
        try store.save { save in
            _ = try save.reservePrimaryKeys(of: zoo.everything, count: keys.count)
            try save.insert(keys.map { rows.add(zoo.everything, $0, ["large": large]) }, entity: zoo.everything)
        }
        let cursor = try XCTUnwrap(try store.cursor(StoreFetch(entity: zoo.everything, includesSubentities: true)))
        let first = try cursor.next(1)
        withExtendedLifetime(first) { XCTAssertEqual(first.records.map(\.primaryKey), [1]) }
        // A read transaction is held when reads come in quick succession.
        for key in keys { XCTAssertEqual(try value(store, zoo, key), large) }

        let newer = PropertyValue.bytes(Bytes(Array(repeating: 9, count: 300_000)))
        let slot = Int(try XCTUnwrap(zoo.everything.property(named: "large")).slot)
        try other.save { save in
            let changes = keys.filter { $0 != 2 }.map {
                UpdatedRow(
                    record: rows.add(zoo.everything, $0, version: 2, ["large": newer]), oldVersion: 1,
                    changedSlots: [slot])
            }
            XCTAssertEqual(try save.update(changes, entity: zoo.everything), [])
            XCTAssertEqual(try save.delete([(2, 1)], entity: zoo.everything), [])
        }
        XCTAssertEqual(externalFiles.count, 7)
        XCTAssertEqual(try value(store, zoo, 1), newer)
        var found: [Int64: PropertyValue] = [:]
        while case let batch = try cursor.next(1), !batch.records.isEmpty {
            for record in batch.records { found[record.primaryKey] = zoo.everything.value("large", of: record) }
            withExtendedLifetime(batch) {}
        }
        XCTAssertEqual(found.keys.sorted(), Array(3...8))
        XCTAssertEqual(found.values.filter { $0 == newer }.count, 6)
        let many = try store.rows(of: zoo.everything, primaryKeys: keys)
        withExtendedLifetime(many) {
            XCTAssertEqual(
                many.records.map { zoo.everything.value("large", of: $0) }, Array(repeating: newer, count: 7))
        }
    }

    func testNoRoomForAFileIsAnErrorOfTheSave() throws {
        let zoo = try Zoo()
        let store = try open("zoo.sqlite", zoo.model)
        var rows = Rows()
        XCTAssert(FileManager.default.createFile(atPath: path(".zoo_SUPPORT"), contents: nil))
        let error = failure {
            try store.save { try $0.insert([rows.add(zoo.everything, 1, ["large": large])], entity: zoo.everything) }
        }
        XCTAssertEqual(error.status, .storeIO)
        XCTAssert(error.message.contains(".zoo_SUPPORT"), error.message)
        XCTAssertEqual(try shell("zoo.sqlite", "SELECT count(*) FROM ZEVERYTHING"), "0")
    }

    /// The value alone is lost: whoever asks for it is told which file is missing.
    func testMissingFilesAreNamedWhenTheValueIsAskedFor() throws {
        let zoo = try Zoo()
        let store = try open("zoo.sqlite", zoo.model)
        var rows = Rows()
        try store.save { save in
            _ = try save.reservePrimaryKeys(of: zoo.everything, count: 3)
            try save.insert(
                [
                    rows.add(zoo.everything, 1, ["large": large, "text": .text(Text("here"))]),
                    rows.add(zoo.everything, 2, ["large": small]), rows.add(zoo.everything, 3, [:]),
                ], entity: zoo.everything)
        }
        store.close()
        let file = path(".zoo_SUPPORT/_EXTERNAL_DATA/") + externalFiles[0]
        try FileManager.default.removeItem(atPath: file)
        let coordinator = try Coordinator.open(path("zoo.sqlite"))
        let context = Context(coordinator: coordinator)
        let everything = try coordinator.model.requireEntity(named: "Everything")
        let key = try everything.requireProperty(named: "large").key
        var objects: [Int64: ManagedObject] = [:]
        for object in try context.fetch(FetchRequest(entity: everything)) {
            objects[object.objectID.uri.last?.wholeNumberValue.map(Int64.init) ?? 0] = object
        }
        let lost = try XCTUnwrap(objects[1])
        XCTAssertEqual(try lost.value(forKey: "text"), .text(Text("here")))
        let error = failure { _ = try lost.value(forKey: "large") }
        XCTAssertEqual(error.status, .storeIO)
        XCTAssertEqual([error.entity, error.key, error.file], ["Everything", "large", file])
        XCTAssertEqual(error.objectURI, lost.objectID.uri)
        XCTAssertEqual(failure { _ = try lost.committedValue(key: key) }.file, file)
        XCTAssertEqual(try objects[2]?.value(forKey: "large"), small)
        XCTAssertEqual(try objects[3]?.value(forKey: "large"), .null)
        // Setting it is the way out.
        try lost.set(small, key: key)
        XCTAssertEqual(try lost.value(forKey: "large"), small)
    }
}
