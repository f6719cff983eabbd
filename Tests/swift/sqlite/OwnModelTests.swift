import CSQLite
import CorestoneContainers
import CorestoneFormats
import CorestoneGraph
import CorestoneModel
@testable import CorestoneSQLite
import CorestoneValues
import Foundation
import XCTest

/// Stores that are opened without a model.
final class OwnModelTests: StoreTestCase {
    /// Every store of the fixtures opens, each object is read, and nothing on disk changes.
    func testAppleStoresOpenWithTheirOwnModel() throws {
        try Fixtures.require()
        let root = Fixtures.folder + "/stores"
        let stores = try XCTUnwrap(FileManager.default.enumerator(atPath: root)).allObjects.compactMap { $0 as? String }
        var counts: [ModelSource: Int] = [:]
        var objects = 0
        for name in stores.sorted() {
            var isFolder: ObjCBool = false
            let path = root + "/" + name
            _ = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
            if isFolder.boolValue { continue }
            do {
                let coordinator = try Coordinator.open(path)
                let store = try XCTUnwrap(coordinator.stores.first)
                counts[store.modelSource, default: 0] += 1
                XCTAssert(store.isReadOnly)
                XCTAssertEqual(try StoreMetadata(ofStoreAt: path).uuid.description, store.identifier, name)
                let context = Context(coordinator: coordinator)
                for entity in coordinator.model.entities where entity.parent == nil {
                    objects += try context.fetch(FetchRequest(entity: entity)).count
                }
            } catch { XCTFail("\(name): \(error)") }
        }
        print("\(counts[.cached] ?? 0) stores by the model they carry, \(counts[.inferred] ?? 0) by one inferred,")
        print("\(objects) objects read")
        XCTAssertEqual(counts.values.reduce(0, +), 41)
    }

    func testModelIsInferredFromTheTables() throws {
        let zoo = try Zoo()
        let writer = try open("zoo.sqlite", zoo.model)
        var rows = Rows()
        try writer.save { save in
            try save.insert([rows.add(zoo.keeper, 1, ["name": .text("Ada")])], entity: zoo.keeper)
            try save.insert(
                [rows.add(zoo.bird, 1, ["wingspan": .double(2)], targets: ["keeper": (1, zoo.keeper)])],
                entity: zoo.bird)
            try save.insert([rows.add(zoo.cage, 1, ["number": .int(5)])], entity: zoo.cage)
            try save.link(zoo.relationship(zoo.cage, "inhabitants"), added: [Link(owner: 1, member: 1)], removed: [])
        }
        writer.close()
        _ = try shell("zoo.sqlite", "DROP TABLE Z_MODELCACHE")
        var options = StoreOptions()
        for isReadOnly in [true, false] {
            options.isReadOnly = isReadOnly
            let coordinator = try Coordinator.open(path("zoo.sqlite"), options: options)
            let store = try XCTUnwrap(coordinator.stores.first)
            XCTAssertEqual(store.modelSource, .inferred)
            XCTAssert(store.isReadOnly)
            XCTAssertEqual(store.readOnlyReason?.contains("inferred"), true)
            let model = coordinator.model
            let animal = try model.requireEntity(named: "Animal")
            XCTAssert(model.entity(named: "Bird")?.parent === animal)
            let keeper = try XCTUnwrap(animal.property(named: "keeper") as? Relationship)
            XCTAssertEqual(keeper.destination.name, "Keeper")
            let friends = try XCTUnwrap(animal.property(named: "friends") as? Relationship)
            XCTAssert(friends.inverse === friends)
            let cages = try XCTUnwrap(animal.property(named: "cages") as? Relationship)
            XCTAssertEqual(cages.inverse?.name, "inhabitants")
            XCTAssertEqual(cages.inverse?.isOrdered, true)
            // Without inverse: the column in the members' table names the owner's entity.
            let watched = try XCTUnwrap(model.entity(named: "Keeper")?.property(named: "watched") as? Relationship)
            XCTAssert(watched.destination === animal && watched.isToMany)
            let favourite = try XCTUnwrap(model.entity(named: "Keeper")?.property(named: "favourite") as? Relationship)
            XCTAssert(favourite.destination === animal)
            let everything = try model.requireEntity(named: "Everything")
            XCTAssertEqual((everything.property(named: "moment") as? Attribute)?.type, .date)
            XCTAssertEqual((everything.property(named: "wide") as? Attribute)?.type, .integer64)
            let context = Context(coordinator: coordinator)
            let bird = try XCTUnwrap(context.fetch(FetchRequest(entity: animal)).first)
            XCTAssertEqual(bird.objectID.entity.name, "Bird")
        }
    }

    func testInferenceFailsWhenASuperentityHasNoName() throws {
        let zoo = try Zoo()
        try open("zoo.sqlite", zoo.model).close()
        _ = try shell(
            "zoo.sqlite", "DROP TABLE Z_MODELCACHE; UPDATE Z_PRIMARYKEY SET Z_NAME = NULL WHERE Z_NAME = 'Animal'")
        let error = failure { _ = try Coordinator.open(path("zoo.sqlite")) }
        XCTAssertEqual(error.status, .storeCorrupt)
        XCTAssertEqual(error.entity, "Bird")
        XCTAssertTrue(
            error.message.contains(
                "\"Bird\" inherits from entity number 1, for which Z_PRIMARYKEY does not contain a name"),
            error.message)
    }

    /// Other entity numbers, another column order, quoted and altered tables: everything is found by name.
    func testMigratedStoreIsReadByName() throws {
        let zoo = try Zoo()
        let writer = try open("zoo.sqlite", zoo.model)
        var rows = Rows()
        try writer.save { save in
            try save.insert([rows.add(zoo.keeper, 1, ["name": .text("Ada")])], entity: zoo.keeper)
            try save.insert([rows.add(zoo.bird, 1, [:], targets: ["keeper": (1, zoo.keeper)])], entity: zoo.bird)
            try save.insert([rows.add(zoo.cage, 1, [:])], entity: zoo.cage)
            try save.link(zoo.relationship(zoo.cage, "inhabitants"), added: [Link(owner: 1, member: 1)], removed: [])
        }
        writer.close()
        _ = try shell(
            "zoo.sqlite",
            """
            UPDATE Z_PRIMARYKEY SET Z_ENT = Z_ENT + 20, Z_SUPER = CASE Z_SUPER WHEN 0 THEN 0 ELSE Z_SUPER + 20 END;
            UPDATE ZANIMAL SET Z_ENT = Z_ENT + 20; UPDATE ZKEEPER SET Z_ENT = Z_ENT + 20; UPDATE ZCAGE SET Z_ENT = Z_ENT + 20;
            ALTER TABLE Z_1CAGES RENAME TO "Z_21CAGES";
            ALTER TABLE "Z_21CAGES" RENAME COLUMN Z_1INHABITANTS TO Z_21INHABITANTS;
            ALTER TABLE ZCAGE DROP COLUMN ZNUMBER; ALTER TABLE ZCAGE ADD COLUMN ZNUMBER INTEGER;
            """)
        let coordinator = try Coordinator.open(path("zoo.sqlite"))
        let context = Context(coordinator: coordinator)
        let cage = try coordinator.model.requireEntity(named: "Cage")
        let inhabitants = try cage.requireProperty(named: "inhabitants").key
        let found = try XCTUnwrap(context.fetch(FetchRequest(entity: cage)).first)
        let members = try found.members(key: inhabitants)
        XCTAssertEqual(members.map(\.objectID.entity.name), ["Bird"])
    }

    func testMismatchedModelMakesTheStoreReadOnly() throws {
        let zoo = try Zoo()
        try open("zoo.sqlite", zoo.model).close()
        _ = try shell("zoo.sqlite", "ALTER TABLE ZCAGE DROP COLUMN ZNUMBER")
        func reason() throws -> String {
            let coordinator = try Coordinator.open(path("zoo.sqlite"))
            let store = try XCTUnwrap(coordinator.stores.first)
            XCTAssertEqual(store.modelSource, .inferred)
            let everything = try coordinator.model.requireEntity(named: "Everything")
            XCTAssertEqual(try Context(coordinator: coordinator).fetch(FetchRequest(entity: everything)).count, 0)
            return store.readOnlyReason ?? ""
        }
        XCTAssert(try reason().contains("the column ZNUMBER for Cage.number"))
        _ = try shell("zoo.sqlite", "UPDATE Z_MODELCACHE SET Z_CONTENT = x'0011'")
        XCTAssert(try reason().contains("cannot read the model in"))
    }

    /// Metadata of a newer or unfinished writer prevents writing, but not reading.
    func testMetadataOfOtherWritersMakesTheStoreReadOnly() throws {
        let zoo = try Zoo()
        for (key, value, text) in [
            (StoreMetadata.Key.deferredMigration, PropertyListValue.bool(true), "deferred migration"),
            (StoreMetadata.Key.frameworkVersion, .integer(99999), "newest supported version"),
            (StoreMetadata.Key.hashesVersion, .integer(4), "newest supported one"),
        ] {
            try open("zoo.sqlite", zoo.model).close()
            var metadata = try StoreMetadata(ofStoreAt: path("zoo.sqlite"))
            metadata.values[key] = value
            let hex = metadata.encoded().map { String(format: "%02x", $0) }.joined()
            _ = try shell("zoo.sqlite", "UPDATE Z_METADATA SET Z_PLIST = x'\(hex)'")
            // A read-only open reports the same reason, instead of advice to open the store for writing.
            for options in [StoreOptions(), .readOnly] {
                let coordinator = try Coordinator.open(path("zoo.sqlite"), options: options)
                let store = try XCTUnwrap(coordinator.stores.first)
                XCTAssertEqual(store.modelSource, .cached)
                XCTAssertEqual(store.readOnlyReason?.contains(text), true, store.readOnlyReason ?? "none")
                try coordinator.remove(store)
            }
            try FileManager.default.removeItem(atPath: path("zoo.sqlite"))
        }
    }
}
