import CorestoneModel
import CorestonePredicate
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneGraph
@testable import CorestoneSQLite

/// When values in backing files are read, how long they stay in memory, and getters whose file was removed.
final class ExternalReadingTests: StoreTestCase {
    private var model: Model!
    private var coordinator: Coordinator!
    private var context: Context!

    override func setUpWithError() throws {
        try super.setUpWithError()
        model = try ExternalReadingTests.albums()
        coordinator = try Coordinator(model: model)
        try coordinator.addSQLiteStore(at: path("album.sqlite"))
        context = Context(coordinator: coordinator)
    }

    private static func albums() throws -> Model {
        let model = Model()
        let album = try model.addEntity(named: "Album")
        try album.addAttribute(named: "name", type: .string)
        let photo = try model.addEntity(named: "Photo")
        try photo.addAttribute(named: "title", type: .string)
        try photo.addAttribute(named: "data", type: .binary).setAllowsExternalStorage(true)
        let photos = try album.addRelationship(named: "photos", destination: photo, isToMany: true)
        try photos.setInverse(try photo.addRelationship(named: "album", destination: album))
        return model
    }

    private func picture(_ byte: UInt8) -> PropertyValue { .bytes(Bytes(Array(repeating: byte, count: 150_000))) }

    /// Saves an album of `count` photos and opens the store again.
    private func save(_ count: Int) throws {
        let album = try context.insert("Album")
        for number in 0..<count {
            let photo = try context.insert("Photo")
            try photo.setValue(.text(Text("photo \(number)")), forKey: "title")
            try photo.setValue(picture(UInt8(number)), forKey: "data")
            try photo.setValue(.object(album), forKey: "album")
        }
        try context.save()
        context = Context(coordinator: coordinator)
    }

    private func photos(_ context: Context? = nil, _ predicate: String? = nil) throws -> [ManagedObject] {
        let request = FetchRequest(entity: try model.requireEntity(named: "Photo"))
        request.sortDescriptors = [SortDescriptor("title")]
        if let predicate { request.predicate = try Predicate.parse(predicate) }
        return try (context ?? self.context).fetch(request)
    }

    private var folderOfFiles: String { path(".album_SUPPORT/_EXTERNAL_DATA") }
    private var names: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folderOfFiles)) ?? []).sorted()
    }

    private func hide() throws { try FileManager.default.moveItem(atPath: folderOfFiles, toPath: path("hidden")) }
    private func unhide() throws { try FileManager.default.moveItem(atPath: path("hidden"), toPath: folderOfFiles) }

    /// Another process, as far as files and rows are concerned.
    private func changeInAnotherCoordinator(_ change: ([ManagedObject]) throws -> Void) throws {
        let coordinator = try Coordinator(model: model)
        try coordinator.addSQLiteStore(at: path("album.sqlite"))
        let context = Context(coordinator: coordinator)
        try change(try photos(context))
        try context.save()
        try withExtendedLifetime(coordinator) { for store in coordinator.stores { try coordinator.remove(store) } }
    }

    private func key(_ name: String, of object: ManagedObject) throws -> UInt32 {
        try object.entity.requireProperty(named: name).key
    }

    private func keptFiles(_ context: Context? = nil) -> Int {
        (context ?? self.context).faultState.fileValues.values.reduce(0) { $0 + $1.count }
    }

    // MARK: When

    func testFetchDoesNotReadBackingFiles() throws {
        try save(3)
        try hide()
        let photos = try photos()
        XCTAssertEqual(try photos.map { try $0.value(forKey: "title") }, (0..<3).map { .text(Text("photo \($0)")) })
        XCTAssertEqual(try self.photos(nil, "data != nil").count, 3)
        let first = try XCTUnwrap(photos.first)
        XCTAssertEqual(failure { _ = try first.value(forKey: "data") }.status, .storeIO)
        try unhide()
        XCTAssertEqual(try first.value(forKey: "data"), picture(0))
    }

    /// The first access reads, later ones do not, until a refresh.
    func testValueOfABackingFileIsReadOnce() throws {
        try save(2)
        let photos = try photos()
        let key = try key("data", of: photos[0])
        let view = try photos[0].view(key: key)
        XCTAssertEqual(view.bytes.count, 150_000)
        try hide()
        let again = try photos[0].view(key: key)
        XCTAssertEqual(view.low, again.low)
        XCTAssertEqual(try photos[0].committedView(key: key)?.low, view.low)
        XCTAssertEqual(try photos[0].value(forKey: "data"), picture(0))
        XCTAssertEqual(try photos[0].committedValue(key: key), picture(0))
        XCTAssertEqual(failure { _ = try photos[1].view(key: key) }.status, .storeIO)
        XCTAssertEqual(failure { _ = try photos[1].committedView(key: key) }.status, .storeIO)
        try context.refresh(photos[0], mergeChanges: false)
        XCTAssertEqual(keptFiles(), 0)
        XCTAssertEqual(failure { _ = try photos[0].view(key: key) }.status, .storeIO)
    }

    func testValueOfABackingFileIsReleasedWithItsObject() throws {
        try save(20)
        let request = FetchRequest(entity: try model.requireEntity(named: "Photo"))
        let cursor = try context.cursor(request, batchSize: 5)
        var seen = 0
        while case let batch = try cursor.next(), !batch.isEmpty {
            for photo in batch { XCTAssertEqual(try photo.view(key: key("data", of: photo)).bytes.count, 150_000) }
            seen += batch.count
            XCTAssertLessThanOrEqual(keptFiles(), 10)
        }
        XCTAssertEqual(seen, 20)
        XCTAssertEqual(keptFiles(), 0)
        let other = Context(coordinator: coordinator)
        let photos = try photos(other)
        for photo in photos { _ = try photo.view(key: key("data", of: photo)) }
        XCTAssertEqual(keptFiles(other), 20)
        try other.reset()
        XCTAssertEqual(keptFiles(other), 0)
    }

    /// In-memory predicates read the values that they compare without keeping them. Comparisons with nil read no file.
    func testInMemoryPredicatesReadBackingFilesOnlyToCompare() throws {
        try save(4)
        let photos = try photos()
        try photos[3].setValue(.text("changed"), forKey: "title")
        let predicate = try Predicate.parse("data == $data").substituting(["data": picture(2)])
        for context in [context, Context(coordinator: coordinator)] {
            let request = FetchRequest(entity: try model.requireEntity(named: "Photo"))
            request.predicate = predicate
            XCTAssertEqual(try context?.fetch(request).map { try $0.value(forKey: "title") }, [.text("photo 2")])
        }
        XCTAssertEqual(keptFiles(), 0)
        try hide()
        try photos[2].setValue(.null, forKey: "data")
        XCTAssertEqual(try self.photos(nil, "data != nil").count, 3)
        XCTAssertEqual(try self.photos(nil, "data == nil").count, 1)
        let failed = failure { _ = try context.fetch(request(predicate)) }
        XCTAssertEqual([failed.key, failed.entity], ["data", "Photo"])
    }

    private func request(_ predicate: CorestonePredicate.Predicate) throws -> FetchRequest {
        let request = FetchRequest(entity: try model.requireEntity(named: "Photo"))
        request.predicate = predicate
        return request
    }

    // MARK: Saving

    /// A save that leaves the value alone neither reads nor writes its file, nor loses a value whose file is missing.
    func testSaveOfAnotherPropertyKeepsTheBackingFile() throws {
        try save(2)
        let before = names
        let photos = try photos()
        try hide()
        try photos[0].setValue(.text("first"), forKey: "title")
        try context.save()
        XCTAssertEqual(failure { _ = try photos[0].value(forKey: "data") }.status, .storeIO)
        try context.refresh(photos[0], mergeChanges: false)
        XCTAssertEqual(failure { _ = try photos[0].value(forKey: "data") }.status, .storeIO)
        try unhide()
        XCTAssertEqual(names, before)
        XCTAssertEqual(try photos[0].value(forKey: "data"), picture(0))
        XCTAssertEqual(try photos[0].value(forKey: "title"), .text("first"))
        // A value that was read stays in memory after a save that does not change it.
        let view = try photos[0].view(key: key("data", of: photos[0]))
        try photos[0].setValue(.text("again"), forKey: "title")
        try context.save()
        XCTAssertEqual(try photos[0].view(key: key("data", of: photos[0])).low, view.low)
    }

    /// A value that was saved into a file is read from the file at the next access.
    func testSavedValuesOfBackingFilesAreNotKeptInMemory() throws {
        let photo = try context.insert("Photo")
        try photo.setValue(picture(9), forKey: "data")
        try context.save()
        let record = Record(try XCTUnwrap(photo.record))
        XCTAssertLessThan(record.header.pointee.size, 1000)
        XCTAssertEqual(try photo.value(forKey: "data"), picture(9))
        try photo.setValue(picture(8), forKey: "data")
        XCTAssertEqual(try photo.committedValue(key: key("data", of: photo)), picture(9))
        try context.save()
        XCTAssertEqual(keptFiles(), 0)
        XCTAssertEqual(names.count, 1)
        XCTAssertEqual(try photo.value(forKey: "data"), picture(8))
        try context.delete(photo)
        try context.save()
        XCTAssertEqual(names, [])
        XCTAssertEqual(keptFiles(), 0)
    }

    func testConflictNamesAnExternalValueWithoutReadingIt() throws {
        try save(1)
        let photo = try XCTUnwrap(try photos().first)
        try photo.setValue(.text("mine"), forKey: "title")
        try changeInAnotherCoordinator { try $0[0].setValue(picture(7), forKey: "data") }
        let before = names
        try hide()
        let error = failure { try context.save() }
        XCTAssertEqual([error.status, error.children.first?.status], [.conflict, .conflict])
        XCTAssertEqual(error.key, "data")
        XCTAssertEqual(error.children.map(\.key), ["data"])
        try unhide()
        XCTAssertEqual(names, before)
        try photo.setValue(picture(6), forKey: "data")
        XCTAssertEqual(failure { try context.save() }.status, .conflict)
        XCTAssertEqual(names, before)
        try context.refresh(photo, mergeChanges: true)
        XCTAssertEqual(try photo.committedValue(key: key("data", of: photo)), picture(7))
        try context.save()
        XCTAssertEqual(try photo.value(forKey: "data"), picture(6))
    }

    // MARK: Removed files

    /// Saving another value removes the backing file of the former one. A fault then loads the newest row; the getter
    /// of a loaded object fails with the advice to refresh.
    func testGetterFailsWhenItsBackingFileWasReplaced() throws {
        try save(3)
        let photos = try photos()
        XCTAssertEqual(try photos[0].value(forKey: "title"), .text("photo 0"))
        try changeInAnotherCoordinator { all in
            for photo in all.prefix(2) {
                try photo.setValue(picture(7), forKey: "data")
                try photo.setValue(.text(Text("newer \(try photo.value(forKey: "title").text)")), forKey: "title")
            }
            try XCTUnwrap(all[2].context).delete(all[2])
        }
        let error = failure { _ = try photos[0].value(forKey: "data") }
        XCTAssertEqual(error.status, .conflict)
        XCTAssertEqual([error.entity, error.key, error.objectURI], ["Photo", "data", photos[0].objectID.uri])
        XCTAssert(error.message.contains("refresh"), error.message)
        XCTAssertEqual(try photos[0].value(forKey: "title"), .text("photo 0"))
        try context.refresh(photos[0], mergeChanges: false)
        XCTAssertEqual(try photos[0].value(forKey: "data"), picture(7))
        // This object was a fault, so the former row was never read.
        XCTAssertTrue(photos[1].isFault)
        XCTAssertEqual(try photos[1].value(forKey: "data"), picture(7))
        XCTAssertEqual(try photos[1].value(forKey: "title"), .text("newer photo 1"))
        XCTAssertEqual(failure { _ = try photos[2].value(forKey: "data") }.status, .objectGone)
    }

    func testPrefetchedMembersReadReplacedFiles() throws {
        try save(3)
        let request = FetchRequest(entity: try model.requireEntity(named: "Album"))
        request.relationshipKeyPathsForPrefetching = ["photos"]
        let album = try XCTUnwrap(try context.fetch(request).first)
        try changeInAnotherCoordinator { for photo in $0 { try photo.setValue(picture(5), forKey: "data") } }
        guard case .array(let members) = try album.value(forKey: "photos") else { return XCTFail("no members") }
        XCTAssertEqual(members.count, 3)
        for case .object(let member as ManagedObject) in members {
            XCTAssertEqual(try member.value(forKey: "data"), picture(5))
        }
    }

    /// In a held read transaction and in the row cache, rows are older than the files.
    func testCachedRowsReadReplacedFiles() throws {
        try save(4)
        var ids: [ObjectID] = []
        for photo in try photos() { ids.append(photo.objectID) }
        let other = Context(coordinator: coordinator)
        for id in ids { _ = try other.object(with: id).value(forKey: "title") }
        try changeInAnotherCoordinator { for photo in $0 { try photo.setValue(picture(4), forKey: "data") } }
        let late = Context(coordinator: coordinator)
        for id in ids { XCTAssertEqual(try late.object(with: id).value(forKey: "data"), picture(4)) }
    }

    func testGetterFailsWhenItsBackingFileIsUnreadable() throws {
        try save(5)
        let photos = try photos()
        let paths = try photos.map { photo in
            let key = Int(try XCTUnwrap(photo.objectID.uri.split(separator: "p").last.flatMap { Int($0) }))
            return folderOfFiles + "/"
                + (try shell("album.sqlite", "SELECT substr(ZDATA, 2, 36) FROM ZPHOTO WHERE Z_PK = \(key)"))
        }
        for path in paths { try FileManager.default.removeItem(atPath: path) }
        try FileManager.default.createDirectory(atPath: paths[1], withIntermediateDirectories: false)
        XCTAssertEqual(mkfifo(paths[2], 0o644), 0)
        XCTAssert(FileManager.default.createFile(atPath: paths[3], contents: nil))
        XCTAssertEqual(truncate(paths[3], 1 << 31), 0)
        XCTAssertEqual(symlink("/etc/hostname", paths[4]), 0)
        let reasons = ["does not exist", "not a regular file", "not a regular file", "2147483647", "cannot be read"]
        for (place, photo) in photos.enumerated() {
            let error = failure { _ = try photo.value(forKey: "data") }
            XCTAssertEqual(error.status, .storeIO)
            XCTAssertEqual([error.entity, error.key, error.file], ["Photo", "data", paths[place]])
            XCTAssertEqual(error.objectURI, photo.objectID.uri)
            XCTAssert(error.message.contains(reasons[place]), error.message)
        }
        XCTAssertEqual(try self.photos(Context(coordinator: coordinator)).count, 5)
        // Setting another value repairs the objects.
        for photo in photos { try photo.setValue(picture(1), forKey: "data") }
        try context.save()
        XCTAssertEqual(try photos.map { try $0.value(forKey: "data") }, Array(repeating: picture(1), count: 5))
    }

    func testGetterFailsAfterTheStoreWasRemoved() throws {
        try save(2)
        let photos = try photos()
        for photo in photos { _ = try photo.value(forKey: "title") }
        try coordinator.remove(try XCTUnwrap(coordinator.stores.first))
        XCTAssertEqual(failure { _ = try photos[0].value(forKey: "data") }.status, .objectGone)
    }
}

extension PropertyValue {
    fileprivate var text: String { if case .text(let text) = self { text.string } else { "" } }
}
