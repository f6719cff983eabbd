import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneSQLite

/// Files in the folder of external data that no row refers to.
final class LeftoverTests: StoreTestCase {
    private var folderOfFiles: String { path(".zoo_SUPPORT/_EXTERNAL_DATA") }
    private var names: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folderOfFiles)) ?? []).sorted()
    }

    /// Creates a store with `count` values in files, which are an hour old.
    private func makeStore(_ count: Int = 3, model: Model? = nil, options: StoreOptions = StoreOptions()) throws {
        let zoo = try Zoo()
        let coordinator = try Coordinator(model: model ?? zoo.model)
        try coordinator.addSQLiteStore(at: path("zoo.sqlite"), options: options)
        let context = Context(coordinator: coordinator)
        for number in 0..<count {
            let bytes = Bytes(Array(repeating: UInt8(number), count: 120_000))
            try context.insert("Everything").setValue(.bytes(bytes), forKey: "large")
        }
        try context.save()
        for store in coordinator.stores { try coordinator.remove(store) }
        for name in names { try age(folderOfFiles + "/" + name) }
    }

    private func age(_ file: String, minutes: Double = 60) throws {
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -minutes * 60)], ofItemAtPath: file)
    }

    /// Creates an unreferenced file, as a crash leaves it.
    private func leave(_ name: String = UUID().uuidString, bytes: Int = 1000, minutes: Double = 60) throws -> String {
        let file = folderOfFiles + "/" + name
        XCTAssert(FileManager.default.createFile(atPath: file, contents: Data(count: bytes)))
        try age(file, minutes: minutes)
        return name
    }

    func testIntactStoreHasNoLeftovers() throws {
        try makeStore()
        let leftovers = try StoreLeftovers(ofStoreAt: path("zoo.sqlite"))
        XCTAssertEqual(leftovers.names, [])
        XCTAssertEqual(leftovers.bytes, 0)
        XCTAssertNil(leftovers.sharer)
        XCTAssertEqual(try StoreLeftovers.remove(fromStoreAt: path("zoo.sqlite")).names, [])
        XCTAssertEqual(names.count, 3)
    }

    func testOldUnreferencedFilesAreFoundAndRemoved() throws {
        try makeStore()
        let used = names
        let left = [try leave(bytes: 1000), try leave(bytes: 24)].sorted()
        let young = try leave(minutes: 5)
        let others = [try leave("notes.txt"), try leave("." + UUID().uuidString)]
        try FileManager.default.createDirectory(
            atPath: folderOfFiles + "/" + UUID().uuidString, withIntermediateDirectories: false)
        let before = names
        let found = try StoreLeftovers(ofStoreAt: path("zoo.sqlite"))
        XCTAssertEqual(found.names, left)
        XCTAssertEqual(found.bytes, 1024)
        XCTAssert(found.folder.hasSuffix("/.zoo_SUPPORT/_EXTERNAL_DATA"), found.folder)
        XCTAssertEqual(names, before)
        let removed = try StoreLeftovers.remove(fromStoreAt: path("zoo.sqlite"))
        XCTAssertEqual([removed.names, [String(removed.bytes)]], [left, ["1024"]])
        XCTAssertEqual(names, before.filter { !left.contains($0) })
        XCTAssert(names.contains(young))
        XCTAssert(Set(used + others).isSubset(of: names))
        XCTAssertEqual(try StoreReport(ofStoreAt: path("zoo.sqlite")).problems.map(\.message), [])
    }

    /// References are read from rows, not from the model: a store without a model has no attributes with external data.
    func testLeftoversAreFoundWithoutAModel() throws {
        try makeStore()
        _ = try shell("zoo.sqlite", "DROP TABLE Z_MODELCACHE")
        let left = try leave()
        XCTAssertEqual(try StoreLeftovers.remove(fromStoreAt: path("zoo.sqlite")).names, [left])
        XCTAssertEqual(names.count, 3)
    }

    /// Committed rows are respected even if they are only in the live log of another connection.
    func testRowsInALiveLogKeepTheirFiles() throws {
        try makeStore(0)
        let coordinator = try Coordinator(model: try Zoo().model)
        try coordinator.addSQLiteStore(at: path("zoo.sqlite"))
        let context = Context(coordinator: coordinator)
        let bytes = Bytes(Array(repeating: 1, count: 120_000))
        try context.insert("Everything").setValue(.bytes(bytes), forKey: "large")
        try context.save()
        for name in names { try age(folderOfFiles + "/" + name) }
        let (used, left) = (names, try leave())
        XCTAssertEqual(try StoreLeftovers(ofStoreAt: path("zoo.sqlite")).names, [left])
        XCTAssertEqual(try StoreLeftovers.remove(fromStoreAt: path("zoo.sqlite")).names, [left])
        XCTAssertEqual(names, used)
        try context.insert("Everything").setValue(.bytes(bytes), forKey: "large")
        try context.save()
        XCTAssertEqual(names.count, 2)
    }

    func testRemovalWaitsForAWriter() throws {
        try makeStore()
        let left = try leave()
        let store = try open("zoo.sqlite", try Zoo().model)
        let isInside = DispatchSemaphore(value: 0)
        let end = DispatchSemaphore(value: 0)
        let writer = Thread {
            try? store.save { _ in
                isInside.signal()
                end.wait()
            }
            end.signal()
        }
        writer.start()
        isInside.wait()
        DispatchQueue.global().asyncAfter(deadline: .now() + 0.3) { end.signal() }
        XCTAssertEqual(try StoreLeftovers.remove(fromStoreAt: path("zoo.sqlite")).names, [left])
        end.wait()
    }

    /// The folder's name omits the extension of the store, so two stores may share a folder.
    func testFilesOfAFolderThatTwoStoresShareAreKept() throws {
        try makeStore()
        try FileManager.default.copyItem(atPath: path("zoo.sqlite"), toPath: path("zoo.backup"))
        let left = try leave()
        let found = try StoreLeftovers(ofStoreAt: path("zoo.sqlite"))
        XCTAssertEqual(found.names, [])
        XCTAssertEqual(found.sharer.map { ($0 as NSString).lastPathComponent }, "zoo.backup")
        let error = failure { _ = try StoreLeftovers.remove(fromStoreAt: path("zoo.sqlite")) }
        XCTAssertEqual(error.status, .unsupported)
        XCTAssert(error.message.contains("zoo.backup"), error.message)
        try FileManager.default.removeItem(atPath: path("zoo.backup"))
        try Data("no database".utf8).write(to: URL(fileURLWithPath: path("zoo.txt")))
        XCTAssertEqual(try StoreLeftovers.remove(fromStoreAt: path("zoo.sqlite")).names, [left])
    }

    /// Rows that are only in the log may refer to any file.
    func testDamagedLogKeepsAllFiles() throws {
        try makeStore(0)
        let store = try open("zoo.sqlite", try Zoo().model)
        var rows = Rows()
        let zoo = try Zoo()
        for key in 1...3 {
            try store.save { save in
                _ = try save.reservePrimaryKeys(of: zoo.everything, count: 1)
                try save.insert(
                    [rows.add(zoo.everything, Int64(key), ["text": .text(Text("row"))])], entity: zoo.everything)
            }
        }
        try FileManager.default.createDirectory(atPath: folderOfFiles, withIntermediateDirectories: true)
        let left = try leave()
        var log = try Data(contentsOf: URL(fileURLWithPath: path("zoo.sqlite-wal")))
        let whole = try Data(contentsOf: URL(fileURLWithPath: path("zoo.sqlite")))
        store.close()
        log[32 + 24 + 200] ^= 4
        try log.write(to: URL(fileURLWithPath: path("zoo.sqlite-wal")))
        try whole.write(to: URL(fileURLWithPath: path("zoo.sqlite")))
        XCTAssertThrowsError(try StoreLeftovers.remove(fromStoreAt: path("zoo.sqlite")))
        XCTAssertEqual(names, [left])
    }

    func testDamagedStoreKeepsAllFiles() throws {
        try makeStore(40)
        let left = try leave()
        // The second half of the pages, rows among them.
        let handle = try XCTUnwrap(FileHandle(forUpdatingAtPath: path("zoo.sqlite")))
        let size = try handle.seekToEnd()
        try handle.truncate(atOffset: size / 2)
        try handle.close()
        XCTAssertThrowsError(try StoreLeftovers.remove(fromStoreAt: path("zoo.sqlite")))
        XCTAssertEqual(names.count, 41)
        XCTAssert(names.contains(left))
        XCTAssertThrowsError(try StoreLeftovers(ofStoreAt: path("missing.sqlite")))
    }
}
