import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Foundation
import CorestoneContainers
import XCTest

@testable import CorestoneSQLite

/// Saving a store under another path.
final class MigratingTests: StoreTestCase {
    /// Every way in which objects can be related, with a derived and an external attribute.
    private func model() throws -> Model {
        let model = Model()
        let book = try model.addEntity(named: "Book")
        try book.addAttribute(named: "title", type: .string)
        try book.addAttribute(named: "cover", type: .binary).setAllowsExternalStorage(true)
        let novel = try model.addEntity(named: "Novel")
        try novel.setParent(book)
        try novel.addAttribute(named: "year", type: .integer32)
        let author = try model.addEntity(named: "Author")
        try author.addAttribute(named: "name", type: .string)
        let tag = try model.addEntity(named: "Tag")
        try tag.addAttribute(named: "name", type: .string)
        let written = try book.addRelationship(named: "author", destination: author)
        let books = try author.addRelationship(named: "books", destination: book, isToMany: true, isOrdered: true)
        try written.setInverse(books)
        let tags = try book.addRelationship(named: "tags", destination: tag, isToMany: true, isOrdered: true)
        let tagged = try tag.addRelationship(named: "books", destination: book, isToMany: true)
        try tags.setInverse(tagged)
        let friends = try author.addRelationship(named: "friends", destination: author, isToMany: true)
        try friends.setInverse(friends)
        let spouse = try author.addRelationship(named: "spouse", destination: author)
        try spouse.setInverse(spouse)
        _ = try author.addRelationship(named: "reads", destination: book, isToMany: true)
        try author.addAttribute(named: "count", type: .integer64).setDerivation(
            Derivation(ExpressionText("books.@count")))
        return model
    }

    private let large = [UInt8](repeating: 9, count: 200_000)

    private func fill(_ context: Context) throws {
        func insert(_ entity: String, _ key: String, _ name: String) throws -> ManagedObject {
            let object = try context.insert(entity)
            try object.setValue(.string(name), forKey: key)
            return object
        }
        func members(_ objects: [ManagedObject]) -> PropertyValue { .array(objects.map { .object($0) }) }
        let gone = try insert("Tag", "name", "gone")
        try context.save()
        try context.delete(gone)
        let tags = try ["a", "b", "c"].map { try insert("Tag", "name", $0) }
        let books = try ["One", "Two", "Three"].map { try insert($0 == "Two" ? "Novel" : "Book", "title", $0) }
        try books[1].setValue(.int(1984), forKey: "year")
        try books[0].setValue(.bytes(Bytes(large)), forKey: "cover")
        try books[1].setValue(.bytes(Bytes([1, 2])), forKey: "cover")
        try books[0].setValue(members([tags[2], tags[0], tags[1]]), forKey: "tags")
        try books[2].setValue(members([tags[1], tags[2]]), forKey: "tags")
        let (ada, bob) = (try insert("Author", "name", "Ada"), try insert("Author", "name", "Bob"))
        try ada.setValue(members([books[2], books[0], books[1]]), forKey: "books")
        try ada.setValue(members([bob, ada]), forKey: "friends")
        try ada.setValue(.object(bob), forKey: "spouse")
        try bob.setValue(members([books[0], books[1]]), forKey: "reads")
        try context.save()
    }

    /// Returns all values of the objects of a coordinator as text.
    private func contents(_ coordinator: Coordinator) throws -> [String] {
        let context = Context(coordinator: coordinator)
        func name(_ value: PropertyValue) throws -> String {
            switch value {
            case .object(let object as ManagedObject):
                try "\(object.value(forKey: object.entity.property(named: "title") == nil ? "name" : "title"))"
            case .array(let members): try members.map(name).joined(separator: " ")
            case .set(let members): try members.map(name).sorted().joined(separator: " ")
            case .bytes(let bytes): "\(bytes.count) bytes"
            default: "\(value)"
            }
        }
        var lines: [String] = []
        for entity in coordinator.model.entities {
            let request = FetchRequest(entity: entity)
            request.includesSubentities = false
            for object in try context.fetch(request) {
                let values = try object.entity.properties.map { property in
                    let value = try name(object.value(forKey: property.name))
                    let isOrdered = (property as? Relationship)?.isOrdered ?? true
                    return isOrdered ? value : value.split(separator: " ").sorted().joined(separator: " ")
                }
                lines.append("\(entity.name) \(values)")
            }
        }
        return lines.sorted()
    }

    func testMigrationCopiesAllObjectsAndValues() throws {
        let coordinator = try Coordinator(model: model())
        let old = try coordinator.addSQLiteStore(at: path("a.sqlite"))
        let context = Context(coordinator: coordinator)
        try fill(context)
        let before = try contents(coordinator)
        let new = try coordinator.migrateStore(old, to: .sqlite, at: path("b.sqlite"))
        XCTAssertEqual(coordinator.stores.map(\.path), [new.path])
        XCTAssertFalse(old.isOpen)
        XCTAssertNotEqual(old.identifier, new.identifier)
        XCTAssertEqual(try contents(coordinator), before)
        XCTAssertEqual(before.count, 8)
        for folder in [".a_SUPPORT", ".b_SUPPORT"] {
            XCTAssertEqual(
                try FileManager.default.contentsOfDirectory(atPath: path(folder + "/_EXTERNAL_DATA")).count, 1)
        }
        let fresh = Context(coordinator: coordinator)
        _ = try fresh.insert("Tag")
        try fresh.save()
        XCTAssertEqual(
            try fresh.count(FetchRequest(entity: coordinator.model.requireEntity(named: "Tag"))), 4)
        try coordinator.remove(new)
        XCTAssertNil(try StoreReport(ofStoreAt: path("b.sqlite"), model: nil).error(file: ""))
        // The old file is unchanged.
        try coordinator.addSQLiteStore(at: path("a.sqlite"))
        XCTAssertEqual(try contents(coordinator), before)
    }

    func testMigrationCopiesMetadataAndHistory() throws {
        let coordinator = try Coordinator(model: model())
        var options = StoreOptions()
        options.keepsHistory = true
        let old = try coordinator.addSQLiteStore(at: path("a.sqlite"), options: options)
        try fill(Context(coordinator: coordinator))
        let backing = try XCTUnwrap(old.backing as? SQLiteStore)
        try backing.save { try $0.setApplicationMetadata(["author": .string("Ada"), "n": .integer(3)]) }
        let new = try coordinator.migrateStore(old, to: .sqlite, at: path("b.sqlite"))
        try coordinator.remove(new)
        let metadata = try StoreMetadata(ofStoreAt: path("b.sqlite"))
        XCTAssertEqual(metadata.values["author"], .string("Ada"))
        XCTAssertEqual(metadata.values["n"], .integer(3))
        XCTAssertEqual(metadata.uuid.description, new.identifier)
        XCTAssertEqual(try shell("b.sqlite", "SELECT count(*) FROM ACHANGE"), "8")
    }

    func testFailedMigrationKeepsTheOldStoreOpen() throws {
        let coordinator = try Coordinator(model: model())
        let old = try coordinator.addSQLiteStore(at: path("a.sqlite"))
        try fill(Context(coordinator: coordinator))
        XCTAssertEqual(
            failure { try coordinator.migrateStore(old, to: .sqlite, at: path("a.sqlite")) }.status, .invalidArgument)
        let other = try Coordinator(model: model())
        let full = try other.addSQLiteStore(at: path("full.sqlite"))
        try fill(Context(coordinator: other))
        try other.remove(full)
        let error = failure { try coordinator.migrateStore(old, to: .sqlite, at: path("full.sqlite")) }
        XCTAssertTrue(
            error.message.contains("cst_coordinator_destroy_store (destroy_store, destroyStore) first"), error.message)
        XCTAssertEqual(
            failure { try coordinator.migrateStore(full, to: .sqlite, at: path("c.sqlite")) }.status, .invalidArgument)
        let lost = path(".a_SUPPORT/_EXTERNAL_DATA")
        for file in try FileManager.default.contentsOfDirectory(atPath: lost) {
            try FileManager.default.removeItem(atPath: lost + "/" + file)
        }
        let missing = failure { try coordinator.migrateStore(old, to: .sqlite, at: path("c.sqlite")) }
        XCTAssertEqual(missing.key, "cover")
        XCTAssertFalse(try files().contains { $0.hasPrefix("c.sqlite") })
        XCTAssertTrue(old.isOpen)
        XCTAssertFalse(old.isReadOnly)
        XCTAssertEqual(coordinator.stores.count, 1)
    }

    func testS239_CoordinatorReportsTheReplacementOfAStore() throws {
        let model = Model()
        let person = try model.addEntity(named: "Person")
        try person.addAttribute(named: "firstName", type: .string)
        try person.addAttribute(named: "lastName", type: .string)
        let coordinator = try Coordinator(model: model)
        var heard: [String] = []
        var replacement: StoreReplacement?
        func name(_ store: Store) -> String { String(store.path.suffix(8).prefix(1)) }
        let tokens = CoordinatorNotification.allCases.map { kind in
            coordinator.observe(kind) { _, changes in
                if kind == .willRemoveStore {
                    heard.append("will remove \(changes.removed.map(name)[0])")
                } else {
                    heard += changes.added.map { "added \(name($0))" } + changes.removed.map { "removed \(name($0))" }
                }
                guard let moved = changes.uuidChanged else { return }
                replacement = moved
                heard.append("UUID-changed \(name(moved.old)) \(name(moved.new))")
            }
        }
        let old = try coordinator.addSQLiteStore(at: path("A.sqlite"))
        let context = Context(coordinator: coordinator)
        let people = try ["Ada", "Bob"].map { name in
            let object = try context.insert("Person")
            try object.setValue(.string(name), forKey: "firstName")
            return object
        }
        try context.save()
        let ids = people.map(\.objectID)
        try context.reset()
        try coordinator.migrateStore(old, to: .sqlite, at: path("B.sqlite"))
        for store in coordinator.stores { try coordinator.remove(store) }
        XCTAssertEqual(
            heard,
            [
                "added A", "added B", "UUID-changed A B", "will remove A", "removed A", "will remove B", "removed B",
            ])
        let migrated = try XCTUnwrap(replacement).migratedIDs
        XCTAssertEqual(migrated.count, 4)
        XCTAssertEqual(Set([migrated[0], migrated[2]]), Set(ids))
        XCTAssertTrue([migrated[1], migrated[3]].allSatisfy { $0.store === replacement?.new })
        for token in tokens { token.cancel() }
    }

    func testObjectsOfTheOldStoreAreInvalidAfterMigration() throws {
        let coordinator = try Coordinator(model: model())
        let old = try coordinator.addSQLiteStore(at: path("a.sqlite"))
        let context = Context(coordinator: coordinator)
        try fill(context)
        let book = try XCTUnwrap(
            context.fetch(FetchRequest(entity: coordinator.model.requireEntity(named: "Novel"))).first)
        var renamed: [ObjectID: ObjectID] = [:]
        let token = coordinator.observe(.storesDidChange) { _, changes in
            guard let ids = changes.uuidChanged?.migratedIDs else { return }
            for place in stride(from: 0, to: ids.count, by: 2) { renamed[ids[place]] = ids[place + 1] }
        }
        // Saves into the old store would be lost.
        let late = coordinator.observe(.willRemoveStore) { _, changes in
            XCTAssertTrue(changes.removed[0].isReadOnly)
            XCTAssertTrue(changes.removed[0].readOnlyReason?.contains("migrated") ?? false)
        }
        try coordinator.migrateStore(old, to: .sqlite, at: path("b.sqlite"))
        XCTAssertTrue(book.isGone)
        XCTAssertThrowsError(try book.value(forKey: "title")) {
            XCTAssertEqual(($0 as? CoreError)?.status, .objectGone)
        }
        let id = try XCTUnwrap(renamed[book.objectID])
        XCTAssertEqual(try context.object(with: id).value(forKey: "title"), .string("Two"))
        withExtendedLifetime((token, late)) {}
    }
}
