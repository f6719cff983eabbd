import Corestone
import CorestoneGraph
import XCTest

/// Changes of a child to objects that were saved elsewhere since the child read them: no value is lost silently.
final class NestedConflictTests: GraphTestCase {
    private var child: Context!
    private var ada: ObjectID!
    private var reader: Context!

    override func setUpWithError() throws {
        try super.setUpWithError()
        let made = try employee("Ada")
        try made.set("age", 1)
        try context.save()
        ada = made.objectID
        child = Context(parent: context)
    }

    /// The child reads Ada and changes her age; then another context saves a change of her. The parent does not retain
    /// its object.
    private func overtaken(_ key: String, _ value: PropertyValue) throws -> ManagedObject {
        let theirs = try child.object(with: ada)
        try theirs.set("age", 10)
        try overtake(key, value)
        return theirs
    }

    private func overtake(_ key: String, _ value: PropertyValue) throws {
        let other = Context(coordinator: coordinator)
        let object = try other.object(with: ada)
        try object.set(key, value)
        try other.save()
    }

    private func stored() throws -> ManagedObject {
        reader = Context(coordinator: coordinator)
        return try reader.object(with: ada)
    }
    private func storedAge() throws -> Int { try XCTUnwrap(stored().get("age")) }
    private func storedName() throws -> String { try XCTUnwrap(stored().get("name")) }

    func testChildSaveConflictsWhenTheSamePropertyWasSaved() throws {
        let theirs = try overtaken("age", .int(2))
        XCTAssertThrowsError(try child.save()) { error in
            let error = error as? CoreError
            XCTAssertEqual(error?.code, 133020)
            let conflict = error?.conflicts.first as? MergeConflict
            XCTAssertEqual(conflict?.objectID, ada)
            XCTAssertEqual(conflict?.differences.map(\.key), ["age"])
            XCTAssertEqual(conflict?.differences.first?.base, .int(1))
            XCTAssertEqual(conflict?.differences.first?.mine, .int(10))
            XCTAssertEqual(conflict?.differences.first?.theirs, .int(2))
            XCTAssertEqual(conflict.map { $0.newVersion - $0.oldVersion }, 1)
        }
        XCTAssertTrue(child.hasChanges)
        XCTAssertEqual(try theirs.get("age"), 10)
        XCTAssertFalse(context.hasChanges)
    }

    func testMergePolicyOfTheChildResolvesTheConflict() throws {
        for (policy, age) in [(MergePolicy.storeTrump, 2), (.objectTrump, 10), (.overwrite, 10), (.rollback, 2)] {
            try setUpWithError()
            child.mergePolicy = policy
            let theirs = try overtaken("age", .int(2))
            try child.save()
            XCTAssertEqual(try theirs.get("age"), age)
            try context.save()
            XCTAssertEqual(try storedAge(), age)
            XCTAssertFalse(child.hasChanges || context.hasChanges)
        }
    }

    func testChildSaveMergesChangesOfDifferentProperties() throws {
        let theirs = try overtaken("name", .string("Ada L."))
        try child.save()
        try context.save()
        XCTAssertEqual(try storedName(), "Ada L.")
        XCTAssertEqual(try storedAge(), 10)
        // A later change of the child to the older name is still a conflict.
        try theirs.set("name", "Ada B.")
        XCTAssertThrowsError(try child.save()) { XCTAssertEqual(($0 as? CoreError)?.code, 133020) }
    }

    func testDeletionInAChildConflictsWithASavedChange() throws {
        try child.delete(try child.object(with: ada))
        try overtake("name", .string("Ada L."))
        XCTAssertThrowsError(try child.save()) { XCTAssertEqual(($0 as? CoreError)?.code, 133020) }
        child.mergePolicy = .objectTrump
        try child.save()
        try context.save()
        XCTAssertEqual(try context.count("Employee"), 0)
    }

    /// A counter that both contexts increment repeatedly, in an object that the child retains.
    func testCounterIncrementsOfChildAndOtherContextsAreNotLost() throws {
        let theirs = try child.object(with: ada)
        for step in 0..<6 {
            try theirs.set("age", theirs.get("age", as: Int.self)! + 1)
            if step % 2 == 1 { try overtake("age", .int(Int64(storedAge()) + 1)) }
            do {
                try child.save()
                try context.save()
            } catch let error as CoreError {
                XCTAssertEqual(error.code, 133020)
                try child.rollback()
                try context.rollback()
                try context.refreshAll()
                try child.refreshAll()
                try theirs.set("age", theirs.get("age", as: Int.self)! + 1)
                try child.save()
                try context.save()
            }
        }
        XCTAssertEqual(try storedAge(), 1 + 6 + 3)
    }

    /// Unsaved changes of the parent are not a conflict: the child's value replaces them.
    func testChildOverridesPendingChangesOfItsParent() throws {
        let own = try context.object(with: ada)
        let theirs = try overtaken("name", .string("Ada L."))
        try context.refresh(own, mergeChanges: true)
        try own.set("age", 5)
        try child.save()
        XCTAssertEqual(try own.get("age"), 10)
        XCTAssertEqual(try theirs.get("age"), 10)
        try context.save()
        XCTAssertEqual(try storedName(), "Ada L.")
    }

    /// The parent has the same row as the child, so that the save of the parent finds the conflict.
    func testStaleParentReportsTheConflictAtItsSave() throws {
        let own = try context.object(with: ada)
        XCTAssertEqual(try own.get("age"), 1)
        _ = try overtaken("age", .int(2))
        try child.save()
        XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? CoreError)?.code, 133020) }
        XCTAssertEqual(try own.get("age"), 10)
    }
}
