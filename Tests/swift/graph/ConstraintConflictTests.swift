import Corestone
import XCTest

/// Unique conflicts with another object, in the store or in the context.
final class ConstraintConflictTests: XCTestCase {
    private var folder = ""
    private var model: Model!
    private var coordinator: Coordinator!
    private var context: Context!
    private var contexts: [Context] = []

    /// Tags with a unique name, a colour with a default and a note; articles have tags. The store has the tag "red".
    override func setUpWithError() throws {
        model = Model()
        let tag = try model.addEntity(named: "Tag")
        for name in ["name", "colour", "note"] { try tag.addAttribute(named: name, type: .string).setOptional(true) }
        try tag.addUniqueConstraint(["name"])
        let special = try model.addEntity(named: "Special")
        try special.setParent(tag)
        let article = try model.addEntity(named: "Article")
        try article.addAttribute(named: "title", type: .string)
        let tags = try article.addRelationship(named: "tags", destination: tag, isToMany: true)
        try tags.setInverse(try tag.addRelationship(named: "articles", destination: article, isToMany: true))
        let main = try article.addRelationship(named: "main", destination: tag)
        try main.setOptional(true)
        try main.setInverse(try tag.addRelationship(named: "mainOf", destination: article, isToMany: true))
        coordinator = try Coordinator(model: model)
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        _ = try coordinator.addSQLiteStore(at: folder + "/tags.sqlite")
        context = other()
        let first = other()
        _ = try first.insert("Tag", ["name": "red", "colour": "#f00", "note": "first"])
        try first.save()
    }

    override func tearDown() {
        contexts = []
        coordinator = nil
        try? FileManager.default.removeItem(atPath: folder)
    }

    private func other() -> Context {
        contexts.append(Context(coordinator: coordinator))
        return contexts[contexts.count - 1]
    }

    private func tags() throws -> [String] {
        try other().fetch("Tag", sort: ["name"]).map { tag in
            try ["name", "colour", "note"].map { try tag.get($0) ?? "-" }.joined(separator: " ")
        }
    }

    func testErrorContainsBothConflictingObjects() throws {
        let red = try context.insert("Tag", ["name": "red", "colour": "#e00"])
        var thrown: CoreError?
        XCTAssertThrowsError(try context.save()) { thrown = $0 as? CoreError }
        XCTAssertEqual(thrown?.code, 133021)
        XCTAssertEqual(thrown?.key, "name")
        XCTAssertEqual(thrown?.value, .string("red"))
        XCTAssertEqual(thrown?.objectURI, red.objectID.uri)
        let conflict = try XCTUnwrap(thrown?.conflicts.first as? ConstraintConflict)
        XCTAssertEqual(conflict.constraint, ["name"])
        XCTAssertEqual(conflict.constraintValues, ["name": .string("red")])
        XCTAssertEqual(conflict.databaseSnapshot?["note"], .string("first"))
        XCTAssertEqual(try conflict.databaseObject?.get("colour"), "#f00")
        XCTAssertEqual(conflict.conflictingSnapshots[0]["colour"], .string("#e00"))
        XCTAssert(conflict.objects.first === red)
        XCTAssertTrue(red.hasTemporaryID)
    }

    func testNewObjectIsMergedIntoTheStoredRow() throws {
        for (policy, expected) in [
            (MergePolicy.storeTrump, "red #f00 first"), (.objectTrump, "red #e00 first"), (.overwrite, "red #e00 -"),
        ] {
            let mine = other()
            mine.mergePolicy = policy
            let article = try mine.insert("Article", ["title": "a"])
            let red = try mine.insert("Tag", ["name": "red", "colour": "#e00"])
            try red.add(article, to: "articles")
            try article.set("main", red)
            let temporary = red.objectID
            try mine.save()
            XCTAssertEqual(try tags(), [expected])
            XCTAssertEqual(try other().fetch("Tag")[0].objectID, red.objectID)
            XCTAssertEqual(try red.get("note"), expected.hasSuffix("first") ? "first" : nil)
            XCTAssert(mine.registeredObject(with: temporary) === red)
            let stored = try XCTUnwrap(other().fetch("Article").first)
            XCTAssertEqual(try stored.memberCount("tags"), 1)
            XCTAssertEqual(try stored.get("main.name"), "red")
            XCTAssertFalse(mine.hasChanges)
            try mine.delete(article)
            try mine.save()
            let reset = other()
            _ = try reset.fetch("Tag").map { try $0.set(["colour": "#f00", "note": "first"]) }
            reset.mergePolicy = .overwrite
            try reset.save()
        }
    }

    func testNewObjectIsReplacedByTheRegisteredStoredObject() throws {
        let stored = try context.fetch("Tag")[0]
        let red = try context.insert("Tag", ["name": "red", "colour": "#e00"])
        let article = try context.insert("Article", ["title": "a"])
        try red.add(article, to: "articles")
        try article.set("main", red)
        let temporary = red.objectID
        context.mergePolicy = .objectTrump
        try context.save()
        XCTAssertEqual(try tags(), ["red #e00 first"])
        XCTAssertTrue(red.isGone)
        XCTAssert(context.registeredObject(with: temporary) === stored)
        XCTAssertEqual(try stored.get("colour"), "#e00")
        XCTAssertEqual(try article.get("main.name"), "red")
        XCTAssertEqual(try other().fetch("Article")[0].memberCount("tags"), 1)
    }

    func testRollbackPolicyDiscardsTheNewObject() throws {
        context.mergePolicy = .rollback
        let red = try context.insert("Tag", ["name": "red", "colour": "#e00"])
        let article = try context.insert("Article", ["title": "a"])
        try red.add(article, to: "articles")
        try context.save()
        XCTAssertTrue(red.isGone)
        XCTAssertEqual(try tags(), ["red #f00 first"])
        XCTAssertEqual(try article.memberCount("tags"), 0)
    }

    func testMergePolicyResolvesAUniqueConflictOfAnUpdatedObject() throws {
        for (policy, expected) in [
            (MergePolicy.storeTrump, ["green - new", "red #f00 first"]), (.rollback, ["green - -", "red #f00 first"]),
            (.objectTrump, ["red - new"]),
        ] {
            let mine = other()
            let green = try mine.insert("Tag", ["name": "green"])
            try mine.save()
            try green.set(["name": "red", "note": "new"])
            mine.mergePolicy = policy
            try mine.save()
            XCTAssertEqual(try tags(), expected, "\(policy.type)")
            XCTAssertFalse(mine.hasChanges)
            try mine.delete(green)
            try mine.save()
        }
    }

    func testTwoNewObjectsWithTheSameUniqueValueAreMerged() throws {
        for (policy, expected) in [
            (MergePolicy.storeTrump, "blue 1 -"), (.objectTrump, "blue 2 two"), (.overwrite, "blue 2 two"),
            (.rollback, "blue 1 -"),
        ] {
            let mine = other()
            let one = try mine.insert("Tag", ["name": "blue", "colour": "1"])
            let two = try mine.insert("Tag", ["name": "blue", "colour": "2", "note": "two"])
            XCTAssertThrowsError(try mine.save()) {
                let conflict = ($0 as? CoreError)?.conflicts.first as? ConstraintConflict
                XCTAssertEqual(conflict?.objectIDs.count, 2)
                XCTAssertNil(conflict?.databaseObjectID)
            }
            mine.mergePolicy = policy
            try mine.save()
            XCTAssertEqual(try tags(), [expected, "red #f00 first"], "\(policy.type)")
            XCTAssertTrue(two.isGone)
            try mine.delete(one)
            try mine.save()
        }
    }

    func testUniqueValuesCanBeSwappedOrReusedInOneSave() throws {
        let red = try context.fetch("Tag")[0]
        let green = try context.insert("Tag", ["name": "green"])
        try context.save()
        try red.set("name", "green")
        try green.set("name", "red")
        try context.save()
        XCTAssertEqual(try tags(), ["green #f00 first", "red - -"])
        try context.delete(red)
        _ = try context.insert("Tag", ["name": "green", "note": "again"])
        try context.save()
        XCTAssertEqual(try tags(), ["green - again", "red - -"])
    }

    func testManyUniqueConflictsAreResolvedInOneSave() throws {
        let first = other()
        for number in 0..<300 { _ = try first.insert("Tag", ["name": "\(number)", "note": "old"]) }
        try first.save()
        for number in 0..<300 { _ = try context.insert("Tag", ["name": "\(number)", "colour": "new"]) }
        XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? CoreError)?.conflicts.count, 300) }
        context.mergePolicy = .objectTrump
        try context.save()
        XCTAssertEqual(try other().count("Tag"), 301)
        XCTAssertEqual(try other().count("Tag", "colour == 'new' AND note == 'old'"), 300)
    }

    func testVersionConflictsAreResolvedBeforeUniqueConflicts() throws {
        let red = try context.fetch("Tag")[0]
        try red.set("note", "mine")
        _ = try context.insert("Tag", ["name": "red"])
        let elsewhere = other()
        try elsewhere.fetch("Tag")[0].set("colour", "#d00")
        try elsewhere.save()
        nonisolated(unsafe) var kinds: [String] = []
        context.mergePolicy = MergePolicy(type: .storeTrump) { conflicts in
            kinds.append("\(conflicts.count) \(conflicts[0] is MergeConflict ? "version" : "constraint")")
        }
        try context.save()
        XCTAssertEqual(kinds, ["1 version", "1 constraint"])
        XCTAssertEqual(try tags(), ["red #d00 mine"])
    }

    func testNewObjectOfASubentityReplacesTheStoredRow() throws {
        let special = try context.insert("Special", ["name": "red", "colour": "s"])
        context.mergePolicy = .objectTrump
        try context.save()
        XCTAssertEqual(try tags(), ["red s -"])
        XCTAssertEqual(try other().fetch("Special").count, 1)
        XCTAssertFalse(special.hasTemporaryID)
    }

    // MARK: Several constraints

    /// A store with one user, who has a unique address, a unique login and a cat.
    private func users() throws -> Coordinator {
        let model = Model()
        let user = try model.addEntity(named: "User"), cat = try model.addEntity(named: "Cat")
        for name in ["email", "login", "name"] { try user.addAttribute(named: name, type: .string).setOptional(true) }
        for name in ["email", "login"] { try user.addUniqueConstraint([name]) }
        let cats = try user.addRelationship(named: "cats", destination: cat, isToMany: true)
        try cats.setDeleteRule(.cascade)
        try cats.setInverse(try cat.addRelationship(named: "keeper", destination: user))
        let friend = try user.addRelationship(named: "friend", destination: user)
        try friend.setOptional(true)
        try friend.setInverse(try user.addRelationship(named: "fans", destination: user, isToMany: true))
        let coordinator = try Coordinator(model: model)
        try coordinator.addSQLiteStore(at: folder + "/\(UUID().uuidString).sqlite")
        let context = Context(coordinator: coordinator)
        try context.insert("User", ["email": "ada", "login": "a", "name": "first"]).add(
            context.insert("Cat"), to: "cats")
        try context.save()
        return coordinator
    }

    private func stored(_ coordinator: Coordinator) throws -> [String] {
        let context = Context(coordinator: coordinator)
        return try context.fetch("User", sort: ["name"]).map { user in
            let parts: [String] = try ["email", "login", "name"].map { try user.get($0) ?? "-" }
            let friend: String? = try user.get("friend.name")
            return "\(parts.joined(separator: " ")) \(try user.members("cats").count) \(friend ?? "-")"
        }
    }

    func testNewObjectMergesWhenItViolatesTwoConstraintsOfOneRow() throws {
        for policy in [MergePolicy.objectTrump, .overwrite, .storeTrump, .rollback] {
            for isKnown in [false, true] {
                let coordinator = try users(), context = Context(coordinator: coordinator)
                context.mergePolicy = policy
                let known = isKnown ? try context.fetch("User") : []
                let user = try context.insert("User", ["email": "ada", "login": "a", "name": "second"])
                try user.set("friend", user)
                try context.save()
                let wins = policy === MergePolicy.objectTrump || policy === MergePolicy.overwrite
                XCTAssertEqual(
                    try stored(coordinator), [wins ? "ada a second 1 second" : "ada a first 1 -"],
                    "\(policy.type), known \(isKnown)")
                withExtendedLifetime(known) {}
            }
        }
    }

    func testTwoNewObjectsMergeWhenBothConflictWithOneStoredRow() throws {
        for isKnown in [false, true] {
            let coordinator = try users(), context = Context(coordinator: coordinator)
            context.mergePolicy = .objectTrump
            let known = isKnown ? try context.fetch("User") : []
            try context.insert("User", ["email": "ada", "login": "a", "name": "second"])
            try context.insert("User", ["email": "ada", "login": "a", "name": "third"])
            try context.save()
            let users = try stored(coordinator)
            XCTAssertEqual(users.count, 1, "known \(isKnown)")
            XCTAssertTrue(users.first?.hasPrefix("ada a") == true && users.first?.hasSuffix("1 -") == true, "\(users)")
            withExtendedLifetime(known) {}
        }
    }

    /// The first object replaces the stored row by its login. The second then uses the address that the row had.
    func testTwoNewObjectsConflictWithOneStoredRowByDifferentConstraints() throws {
        for isKnown in [false, true] {
            let coordinator = try users(), context = Context(coordinator: coordinator)
            context.mergePolicy = .objectTrump
            let known = isKnown ? try context.fetch("User") : []
            try context.insert("User", ["email": "eve", "login": "a", "name": "second"])
            try context.insert("User", ["email": "ada", "login": "e", "name": "third"])
            try context.save()
            XCTAssertEqual(
                try stored(coordinator).map { String($0.prefix(12)) }.sorted(),
                ["ada e third ", "eve a second"].sorted(),
                "known \(isKnown)")
            withExtendedLifetime(known) {}
        }
    }
}
