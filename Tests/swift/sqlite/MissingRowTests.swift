import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneSQLite

/// Stores with references to rows that another tool deleted. An application can repair the problems that the check
/// reports.
final class MissingRowTests: StoreTestCase {
    /// Animals with a keeper, a passport, tags (unordered), cages (ordered on both sides) and friends. `rule` is the
    /// delete rule of an animal's relationships.
    private func model(_ rule: DeleteRule = .nullify) throws -> Model {
        let model = Model()
        let animal = try model.addEntity(named: "Animal")
        let others = try ["Cage", "Keeper", "Passport", "Tag"].map { try model.addEntity(named: $0) }
        for entity in [animal] + others { try entity.addAttribute(named: "name", type: .string) }
        @discardableResult
        func connect(
            _ name: String, _ other: Entity, many: Bool, manyBack: Bool, ordered: Bool = false
        ) throws -> Relationship {
            let there = try animal.addRelationship(
                named: name, destination: other, isToMany: many, isOrdered: many && ordered)
            try there.setDeleteRule(rule)
            let back = try other.addRelationship(
                named: manyBack ? "animals" : "animal", destination: animal, isToMany: manyBack,
                isOrdered: manyBack && ordered)
            try there.setInverse(back)
            return back
        }
        try connect("cages", others[0], many: true, manyBack: true, ordered: true)
        try connect("keeper", others[1], many: false, manyBack: true, ordered: true)
        try connect("passport", others[2], many: false, manyBack: false)
        let tagged = try connect("tags", others[3], many: true, manyBack: true)
        let friends = try animal.addRelationship(named: "friends", destination: animal, isToMany: true)
        try friends.setInverse(friends)
        // The counts of the model do not apply to the members of an object whose row is missing.
        try tagged.setCounts(minimum: 2, maximum: 0)
        try model.freeze()
        return model
    }

    /// Creates three animals and two objects of every other entity, each related to every animal. Only the first two
    /// animals have passports. Then applies `damage` to the file.
    private func damaged(by damage: String, _ rule: DeleteRule = .nullify, history: Bool = false) throws -> Context {
        for file in try files() { try FileManager.default.removeItem(atPath: path(file)) }
        let model = try model(rule)
        var options = StoreOptions()
        options.keepsHistory = history
        let coordinator = try Coordinator(model: model)
        let store = try coordinator.addSQLiteStore(at: path("a.sqlite"), options: options)
        let context = Context(coordinator: coordinator)
        let animals = try make(3, "Animal", context)
        let (cages, tags) = (try make(2, "Cage", context), try make(2, "Tag", context))
        let (keepers, passports) = (try make(2, "Keeper", context), try make(2, "Passport", context))
        for animal in animals {
            try animal.setValue(.object(keepers[0]), forKey: "keeper")
            try animal.setValue(.array(tags.map { .object($0) }), forKey: "tags")
            try animal.setValue(.array(cages.map { .object($0) }), forKey: "cages")
            try animal.setValue(.array(animals.filter { $0 !== animal }.map { .object($0) }), forKey: "friends")
        }
        for (animal, passport) in zip(animals, passports) { try animal.setValue(.object(passport), forKey: "passport") }
        try context.save()
        try coordinator.remove(store)
        _ = try shell("a.sqlite", damage)
        let again = try Coordinator(model: model)
        try again.addSQLiteStore(at: path("a.sqlite"), options: options)
        return Context(coordinator: again)
    }

    private func make(_ count: Int64, _ entity: String, _ context: Context) throws -> [ManagedObject] {
        let objects = try (1...count).map { number in
            let object = try context.insert(entity)
            try object.setValue(.string("\(entity) \(number)"), forKey: "name")
            return object
        }
        try context.obtainPermanentIDs(for: objects)
        return objects
    }

    private func object(_ entity: String, _ number: Int, _ context: Context) throws -> ManagedObject {
        let request = FetchRequest(entity: try context.coordinator.model.requireEntity(named: entity))
        let found = try context.fetch(request).first { try $0.value(forKey: "name") == .string("\(entity) \(number)") }
        return try XCTUnwrap(found)
    }

    private func problems() throws -> [String] {
        try StoreReport(ofStoreAt: path("a.sqlite")).problems.map(\.message)
    }

    /// Damages a store, checks that the damage is reported, runs `repair`, saves, and checks that no problem is left.
    private func assertRepaired(
        by damage: String, _ rule: DeleteRule = .nullify, line: UInt = #line, repair: (Context) throws -> Void
    ) throws {
        let context = try damaged(by: damage, rule)
        let before = try problems()
        XCTAssertFalse(before.isEmpty, damage, line: line)
        do {
            try repair(context)
            try context.save()
        } catch { return XCTFail("\(damage): \(error)", line: line) }
        XCTAssertFalse(context.hasChanges, line: line)
        for object in context.registeredObjects { XCTAssertFalse(object.hasChanges, line: line) }
        XCTAssertEqual(try problems(), [], damage, line: line)
        // No change remains for another save.
        try context.save()
    }

    private let noKeeper = "UPDATE ZANIMAL SET ZKEEPER = 99 WHERE Z_PK = 1"
    private let noPassport = "DELETE FROM ZPASSPORT WHERE Z_PK = 1"
    private let noTag = "DELETE FROM ZTAG WHERE Z_PK = 1"
    private let noCage = "DELETE FROM ZCAGE WHERE Z_PK = 1"
    private let noAnimal = "DELETE FROM ZANIMAL WHERE Z_PK = 1; UPDATE ZPASSPORT SET ZANIMAL = NULL WHERE ZANIMAL = 1"

    // MARK: Removing references

    func testDanglingToOneReferenceIsReplacedOrRemoved() throws {
        try assertRepaired(by: noKeeper) { try object("Animal", 1, $0).setValue(.null, forKey: "keeper") }
        XCTAssertEqual(
            try shell("a.sqlite", "SELECT Z_PK, Z_OPT, ZKEEPER FROM ZANIMAL; SELECT Z_PK, Z_OPT FROM ZKEEPER"),
            "1|2|\n2|1|1\n3|1|1\n1|1\n2|1")
        try assertRepaired(by: noKeeper) {
            try object("Animal", 1, $0).setValue(.object(object("Keeper", 2, $0)), forKey: "keeper")
        }
        XCTAssertEqual(
            try shell("a.sqlite", "SELECT Z_PK, Z_OPT, ZKEEPER FROM ZANIMAL; SELECT Z_PK, Z_OPT FROM ZKEEPER"),
            "1|2|2\n2|1|1\n3|1|1\n1|1\n2|2")
        // Set, restored, and finally removed.
        try assertRepaired(by: noKeeper) { context in
            let animal = try object("Animal", 1, context)
            let missing = try animal.value(forKey: "keeper")
            for target in [.object(try object("Keeper", 2, context)), missing, .null] {
                try animal.setValue(target, forKey: "keeper")
            }
        }
    }

    func testDanglingReferenceIsReplacedFromTheInverse() throws {
        try assertRepaired(by: noKeeper) { context in
            let (keeper, animal) = (try object("Keeper", 2, context), try object("Animal", 1, context))
            try keeper.setValue(.array([.object(animal)]), forKey: "animals")
        }
    }

    func testDanglingOneToOneReferenceIsReplacedOrRemoved() throws {
        try assertRepaired(by: noPassport) { try object("Animal", 1, $0).setValue(.null, forKey: "passport") }
        try assertRepaired(by: noPassport) {
            try object("Animal", 1, $0).setValue(.object(object("Passport", 2, $0)), forKey: "passport")
        }
        XCTAssertEqual(
            try shell(
                "a.sqlite", "SELECT Z_PK, ZPASSPORT FROM ZANIMAL ORDER BY 1; SELECT Z_PK, ZANIMAL FROM ZPASSPORT"),
            "1|2\n2|\n3|\n2|1")
        // The target of a one-to-one relationship is taken from an object whose row is missing.
        let missingAnimal = "DELETE FROM ZANIMAL WHERE Z_PK = 1; DELETE FROM Z_1CAGES; DELETE FROM Z_1FRIENDS; "
        try assertRepaired(by: missingAnimal + "DELETE FROM Z_1TAGS") {
            try object("Animal", 3, $0).setValue(.object(object("Passport", 1, $0)), forKey: "passport")
        }
    }

    func testRefreshRestoresTheDanglingReference() throws {
        let context = try damaged(by: noPassport)
        let animal = try object("Animal", 1, context)
        try animal.setValue(.object(object("Passport", 2, context)), forKey: "passport")
        try context.refresh(animal, mergeChanges: false)
        try context.save()
        XCTAssertEqual(
            try shell("a.sqlite", "SELECT ZPASSPORT FROM ZANIMAL ORDER BY Z_PK; SELECT Z_PK, ZANIMAL FROM ZPASSPORT"),
            "1\n\n\n2|")
    }

    func testDanglingMembersAreRemovedFromASet() throws {
        for repair: (Context) throws -> Void in [
            { for number in 1...3 { try self.object("Animal", number, $0).setValue(.array([]), forKey: "tags") } },
            { context in
                for number in 1...3 {
                    let animal = try self.object("Animal", number, context)
                    try self.removeMissing(from: animal, "tags", context)
                }
                XCTAssertEqual(
                    try self.object("Animal", 1, context).value(forKey: "tags"),
                    .array([.object(try self.object("Tag", 2, context))]))
            },
        ] { try assertRepaired(by: noTag, repair: repair) }
        XCTAssertEqual(try shell("a.sqlite", "SELECT * FROM Z_1TAGS ORDER BY 1"), "1|2\n2|2\n3|2")
        XCTAssertEqual(try shell("a.sqlite", "SELECT Z_OPT FROM ZANIMAL; SELECT Z_OPT FROM ZTAG"), "2\n2\n2\n1")
    }

    func testObjectWithMissingRowIsNotValidatedAgainstCounts() throws {
        let context = try damaged(by: noTag)
        for number in 1...2 { try removeMissing(from: object("Animal", number, context), "tags", context) }
        try context.save()
        XCTAssertEqual(try shell("a.sqlite", "SELECT * FROM Z_1TAGS ORDER BY 1, 2"), "1|2\n2|2\n3|1\n3|2")
        for number in 1...2 { try object("Animal", number, context).setValue(.null, forKey: "tags") }
        XCTAssertEqual(failure { try context.save() }.status, .validation)
    }

    /// The side that writes the pairs may be that of the missing row.
    func testMembersWithMissingRowsAreRemovedWhenTheirSideWritesThePairs() throws {
        let damage = noAnimal + "; DELETE FROM Z_1CAGES; DELETE FROM Z_1FRIENDS"
        try assertRepaired(by: damage) { context in
            for number in 1...2 { try removeMissing(from: object("Tag", number, context), "animals", context) }
        }
        XCTAssertEqual(try shell("a.sqlite", "SELECT count(*) FROM Z_1TAGS"), "4")
        XCTAssertEqual(try shell("a.sqlite", "SELECT Z_OPT FROM ZANIMAL; SELECT Z_OPT FROM ZTAG"), "1\n1\n2\n2")
    }

    func testDanglingMembersAreRemovedFromAnOrderedRelationship() throws {
        try assertRepaired(by: noCage) { context in
            for number in 1...3 { try removeMissing(from: object("Animal", number, context), "cages", context) }
        }
        XCTAssertEqual(try shell("a.sqlite", "SELECT count(*) FROM Z_1CAGES"), "3")
        try assertRepaired(by: noAnimal + "; DELETE FROM Z_1TAGS; DELETE FROM Z_1FRIENDS") { context in
            for number in 1...2 { try removeMissing(from: object("Cage", number, context), "animals", context) }
        }
        XCTAssertEqual(try shell("a.sqlite", "SELECT count(*) FROM Z_1CAGES"), "4")
    }

    func testDanglingMembersAreRemovedFromASelfInverseRelationship() throws {
        for key in [1, 3] {
            let damage =
                "DELETE FROM ZANIMAL WHERE Z_PK = \(key); DELETE FROM Z_1TAGS; DELETE FROM Z_1CAGES; "
                + "UPDATE ZPASSPORT SET ZANIMAL = NULL WHERE ZANIMAL = \(key)"
            try assertRepaired(by: damage) { context in
                for number in 1...3 where number != key {
                    try removeMissing(from: object("Animal", number, context), "friends", context)
                }
            }
        }
    }

    private func removeMissing(from owner: ManagedObject, _ name: String, _ context: Context) throws {
        let key = try owner.entity.requireRelationship(name).key
        for member in try owner.members(key: key) where try context.storedObject(with: member.objectID) == nil {
            if member.isFault {
                context.shouldDeleteInaccessibleFaults = false
                XCTAssertEqual(failure { _ = try member.value(forKey: "name") }.status, .objectGone)
            }
            // A member that was marked as deleted can be removed like any other.
            context.shouldDeleteInaccessibleFaults = true
            XCTAssertEqual(try member.value(forKey: "name"), .null)
            XCTAssertTrue(member.isDeleted)
            XCTAssertNil(try context.storedObject(with: member.objectID))
            XCTAssert(try owner.removeMember(member, key: key))
        }
    }

    // MARK: Deleting

    func testOwnerOfAMissingRowIsDeletedUnderEveryDeleteRule() throws {
        // Without a delete rule, other references become dangling, but the save succeeds.
        for damage in [noKeeper, noPassport, noTag, noCage] {
            let context = try damaged(by: damage, .noAction)
            try context.delete(object("Animal", 1, context))
            try context.save()
        }
        for rule in [DeleteRule.nullify, .cascade] {
            for damage in [noKeeper, noPassport] {
                try assertRepaired(by: damage, rule) { try $0.delete(object("Animal", 1, $0)) }
            }
            for damage in [noTag, noCage] {
                try assertRepaired(by: damage, rule) { context in
                    for number in 1...3 { try context.delete(object("Animal", number, context)) }
                }
            }
        }
    }

    func testDenyRuleIgnoresMissingRows() throws {
        let alone = "DELETE FROM Z_1FRIENDS; DELETE FROM Z_1CAGES; DELETE FROM Z_1TAGS; UPDATE ZANIMAL SET ZKEEPER = "
        let missing = "99; DELETE FROM ZPASSPORT; INSERT INTO Z_1TAGS VALUES (1, 77); "
        let rest = "UPDATE ZANIMAL SET ZKEEPER = NULL, ZPASSPORT = NULL WHERE Z_PK > 1"
        try assertRepaired(by: alone + missing + rest, .deny) { try $0.delete(object("Animal", 1, $0)) }
        let context = try damaged(by: noTag, .deny)
        try context.delete(object("Animal", 3, context))
        let error = failure { try context.save() }
        XCTAssertEqual(error.status, .validation)
        XCTAssert(error.children.contains { $0.key == "tags" && $0.message.contains("1 ") }, "\(error.children)")
    }

    func testRemovedObjectWithMissingRowIsNotFetched() throws {
        let context = try damaged(by: noTag)
        for number in 1...3 { try object("Animal", number, context).setValue(.null, forKey: "tags") }
        let request = FetchRequest(entity: try context.coordinator.model.requireEntity(named: "Tag"))
        XCTAssertEqual(try context.fetch(request).map(\.primaryKey), [2])
        request.sortDescriptors = [CorestonePredicate.SortDescriptor("name")]
        XCTAssertEqual(try context.fetch(request).map(\.primaryKey), [2])
        XCTAssertEqual(try context.count(request), 1)
    }

    func testHistoryRecordsOnlyChangesOfExistingRows() throws {
        let context = try damaged(by: noKeeper + "; " + noTag, history: true)
        _ = try shell("a.sqlite", "DELETE FROM ACHANGE")
        let animal = try object("Animal", 1, context)
        try animal.setValue(.null, forKey: "keeper")
        try animal.setValue(.array([]), forKey: "tags")
        let tag = try object("Tag", 2, context)
        try tag.setValue(.string("Tag"), forKey: "name")
        try context.save()
        XCTAssertEqual(
            try shell("a.sqlite", "SELECT ZCHANGETYPE, ZENTITY, ZENTITYPK FROM ACHANGE ORDER BY 2, 3"),
            "1|1|1\n1|5|2")
    }

    // MARK: Remaining conflicts

    func testReferenceToAMissingRowIsAConflict() throws {
        let context = try damaged(by: noKeeper + "; " + noTag)
        let (first, second) = (try object("Animal", 1, context), try object("Animal", 2, context))
        let keeper = try first.value(forKey: "keeper")
        for animal in [first, second] {
            try first.setValue(.null, forKey: "keeper")
            try animal.setValue(keeper, forKey: "keeper")
            XCTAssertEqual(failure { try context.save() }.status, .conflict)
            try context.rollback()
        }
        let tags = try second.value(forKey: "tags")
        try second.setValue(.array([]), forKey: "tags")
        try context.save()
        try second.setValue(tags, forKey: "tags")
        XCTAssertEqual(failure { try context.save() }.status, .conflict)
        try context.rollback()
        try second.setValue(.string("Otto"), forKey: "name")
        try context.save()
    }

    func testReorderingMembersOfAnObjectWithMissingRowIsAConflict() throws {
        let context = try damaged(by: noCage)
        guard case .array(let cages) = try object("Animal", 1, context).value(forKey: "cages"),
            case .object(let cage as ManagedObject) = cages[0],
            case .array(let animals) = try cage.value(forKey: "animals")
        else { return XCTFail("no cages") }
        try cage.setValue(.array(animals.reversed()), forKey: "animals")
        XCTAssertEqual(failure { try context.save() }.status, .conflict)
    }

    func testChangeOfARowThatAnotherProcessDeletedIsAConflict() throws {
        let context = try damaged(by: "SELECT 1")
        let (animal, keeper) = (try object("Animal", 1, context), try object("Keeper", 1, context))
        _ = try shell("a.sqlite", "DELETE FROM ZKEEPER WHERE Z_PK = 1")
        try animal.setValue(.null, forKey: "keeper")
        let error = failure { try context.save() }
        XCTAssertEqual(error.status, .conflict)
        XCTAssertEqual(error.objectURI, keeper.objectID.uri)
        XCTAssert(error.message.contains("version 1"), error.message)
        XCTAssertEqual(try shell("a.sqlite", "SELECT ZKEEPER FROM ZANIMAL WHERE Z_PK = 1"), "1")
        try context.rollback()
        try context.delete(animal)
        XCTAssertEqual(failure { try context.save() }.status, .conflict)
    }
}

extension Entity {
    fileprivate func requireRelationship(_ name: String) throws -> Relationship {
        try XCTUnwrap(property(named: name) as? Relationship)
    }
}
