import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Foundation
import CorestoneContainers
import XCTest

@testable import CorestoneSQLite

final class ExternalDataTests: StoreTestCase {
    private let large = PropertyValue.bytes(Bytes(Array(repeating: 7, count: 200_000)))
    private let small = PropertyValue.bytes(Bytes([1, 2, 3]))

    private var externalFiles: [String] {
        let folder = path(".zoo_SUPPORT/_EXTERNAL_DATA")
        return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
    }

    /// The first bytes of the column of the row.
    private func column(_ key: Int) throws -> String {
        try shell(
            "zoo.sqlite",
            "SELECT hex(substr(ZLARGE, 1, 1)) || ' ' || length(ZLARGE) FROM ZEVERYTHING WHERE Z_PK = \(key)")
    }

    private func value(_ store: SQLiteStore, _ zoo: Zoo, _ key: Int64) throws -> PropertyValue {
        let rows = try store.rows(of: zoo.everything, primaryKeys: [key])
        return try withExtendedLifetime(rows) {
            let record = try XCTUnwrap(rows.records.first)
            let slot = Int(try XCTUnwrap(zoo.everything.property(named: "large")).slot)
            guard let name = record.fileName(slot, zoo.everything.layout.slots[slot]) else {
                return zoo.everything.value("large", of: record)
            }
            guard case .bytes(let bytes) = store.externalValue(named: String(decoding: name, as: UTF8.self)) else {
                return .null
            }
            return .bytes(bytes)
        }
    }

    func testLargeValuesAreStoredInBackingFiles() throws {
        let zoo = try Zoo()
        let store = try open("zoo.sqlite", zoo.model)
        var rows = Rows()
        let slot = Int(try XCTUnwrap(zoo.everything.property(named: "large")).slot)
        try store.save { save in
            _ = try save.reservePrimaryKeys(of: zoo.everything, count: 3)
            try save.insert(
                [
                    rows.add(zoo.everything, 1, ["large": large], fileName: save.externalName),
                    rows.add(zoo.everything, 2, ["large": small]), rows.add(zoo.everything, 3, [:]),
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
                let record = try rows.add(
                    zoo.everything, key, version: version + 1, ["large": value], fileName: save.externalName)
                let row = UpdatedRow(record: record, oldVersion: version)
                XCTAssertEqual(try save.update([row], slots: [slot], entity: zoo.everything), [])
            }
        }
        // Another file replaces the first one; then no file is needed; then two files are.
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

    func testFailedSaveLeavesBackingFilesUnchanged() throws {
        let zoo = try Zoo()
        let store = try open("zoo.sqlite", zoo.model)
        var rows = Rows()
        try store.save { save in
            try save.insert(
                [rows.add(zoo.everything, 1, ["large": large], fileName: save.externalName)], entity: zoo.everything)
        }
        let before = externalFiles
        struct Stop: Error {}
        XCTAssertThrowsError(
            try store.save { save in
                try save.insert(
                    [rows.add(zoo.everything, 2, ["large": large], fileName: save.externalName)], entity: zoo.everything
                )
                _ = try save.delete([(1, 1)], entity: zoo.everything)
                throw Stop()
            })
        XCTAssertEqual(externalFiles, before)
        XCTAssertEqual(try value(store, zoo, 1), large)
    }

    func testSaveFailsWhenABackingFileCannotBeWritten() throws {
        let zoo = try Zoo()
        let store = try open("zoo.sqlite", zoo.model)
        var rows = Rows()
        XCTAssert(FileManager.default.createFile(atPath: path(".zoo_SUPPORT"), contents: nil))
        let error = failure {
            try store.save { save in
                try save.insert(
                    [rows.add(zoo.everything, 1, ["large": large], fileName: save.externalName)], entity: zoo.everything
                )
            }
        }
        XCTAssertEqual(error.status, .storeIO)
        XCTAssert(error.message.contains(".zoo_SUPPORT"), error.message)
        XCTAssertEqual(try shell("zoo.sqlite", "SELECT count(*) FROM ZEVERYTHING"), "0")
    }

    /// Only the value is lost: reading it fails with an error that names the missing file.
    func testReadingAValueFailsWhenItsBackingFileIsMissing() throws {
        let zoo = try Zoo()
        let store = try open("zoo.sqlite", zoo.model)
        var rows = Rows()
        try store.save { save in
            _ = try save.reservePrimaryKeys(of: zoo.everything, count: 3)
            try save.insert(
                [
                    rows.add(
                        zoo.everything, 1, ["large": large, "text": .text(Text("here"))], fileName: save.externalName),
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
        // Setting another value repairs the object.
        try lost.set(small, key: key)
        XCTAssertEqual(try lost.value(forKey: "large"), small)
    }
}
