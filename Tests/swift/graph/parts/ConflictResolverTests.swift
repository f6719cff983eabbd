import Corestone
import XCTest

@testable import CorestoneGraph
@testable import CorestoneModel

/// The merge of one object with the newest state of its row, by each type of policy, without a save.
final class ConflictResolverTests: GraphTestCase {
    private var second: Context!
    private var object: ManagedObject!
    private var newest = RowBatch()

    /// Ada, 30, is renamed here, where notes are added too. Another context has saved another name and age.
    private func conflict() throws {
        let ada = try employee("Ada")
        try ada.set("age", 30)
        try context.save()
        second = other()
        object = try second.object(with: ada.objectID)
        XCTAssertEqual(try object.get("age"), 30)
        try ada.set("name", "Ann")
        try ada.set("age", 31)
        try context.save()
        newest = try store.rows(of: ada.entity.root, primaryKeys: [ada.primaryKey])
    }

    private func changeObject() throws {
        try object.set("name", "Eva")
        try object.set("notes", "mine")
    }

    private func merge(_ type: MergePolicyType) throws {
        try second.conflictResolver.merge(object, with: newest.records.first, as: type)
    }

    private func mergeWithoutRow(_ type: MergePolicyType) throws {
        try second.conflictResolver.merge(object, with: nil, as: type)
    }

    /// The name, the age, the notes, and the names of the changed properties.
    private func values() throws -> [String] {
        let (name, notes): (String?, String?) = (try object.get("name"), try object.get("notes"))
        let age: Int? = try object.get("age")
        let changed = try object.changedValues().keys.sorted().joined(separator: " ")
        return [name ?? "-", age.map { "\($0)" } ?? "-", notes ?? "-", changed]
    }

    // MARK: Changed rows

    func testStoreTrumpKeepsOnlyUncontestedChanges() throws {
        try conflict()
        try changeObject()
        try merge(.storeTrump)
        XCTAssertEqual(try values(), ["Ann", "31", "mine", "notes"])
        XCTAssertEqual(object.version, newest.records[0].version)
    }

    func testObjectTrumpKeepsAllChangesAndTakesTheOtherValues() throws {
        try conflict()
        try changeObject()
        try merge(.objectTrump)
        XCTAssertEqual(try values(), ["Eva", "31", "mine", "name notes"])
        XCTAssertEqual(object.version, newest.records[0].version)
    }

    func testOverwriteMarksValuesThatOnlyTheStoreChanged() throws {
        try conflict()
        try changeObject()
        try merge(.overwrite)
        XCTAssertEqual(try values(), ["Eva", "30", "mine", "age name notes"])
        XCTAssertEqual(object.version, newest.records[0].version)
    }

    func testRollbackDiscardsAllChanges() throws {
        try conflict()
        try changeObject()
        try merge(.rollback)
        XCTAssertEqual(try values(), ["Ann", "31", "-", ""])
        XCTAssertFalse(object.hasChanges)
        XCTAssertEqual(object.version, newest.records[0].version)
    }

    func testObjectTrumpIgnoresAChangeToTheSameValue() throws {
        try conflict()
        try object.set("name", "Ada")
        try object.set("notes", "mine")
        try merge(.objectTrump)
        XCTAssertEqual(try values(), ["Ann", "31", "mine", "notes"])
    }

    // MARK: Deleted rows

    func testChangedObjectOfADeletedRowIsInsertedAgainOrDeleted() throws {
        for type in [MergePolicyType.overwrite, .objectTrump, .storeTrump, .rollback] {
            try conflict()
            try changeObject()
            try mergeWithoutRow(type)
            let isKept = type == .overwrite || type == .objectTrump
            let reinserted: [ManagedObject] = isKept ? [object] : []
            XCTAssertEqual(object.isInserted, isKept, "\(type)")
            XCTAssertEqual(object.isDeleted, !isKept, "\(type)")
            XCTAssertEqual(second.changeTracker.reinserted, reinserted, "\(type)")
            XCTAssertEqual(second.changeTracker.isRowDeleted(object), !isKept, "\(type)")
            if isKept { XCTAssertEqual(try object.get("name"), "Eva") }
        }
    }

    /// A locked object without changes does not have values that are worth a new row, except if they must overwrite.
    func testUnchangedObjectOfADeletedRowIsInsertedAgainOnlyByOverwrite() throws {
        for type in [MergePolicyType.overwrite, .objectTrump, .storeTrump, .rollback] {
            try conflict()
            try mergeWithoutRow(type)
            XCTAssertEqual(object.isInserted, type == .overwrite, "\(type)")
            XCTAssertEqual(object.isDeleted, type != .overwrite, "\(type)")
        }
    }

    // MARK: Deleted objects

    func testDeletedObjectOfAChangedRowIsRestoredOnlyByRollback() throws {
        for type in [MergePolicyType.overwrite, .objectTrump, .storeTrump, .rollback] {
            try conflict()
            try second.delete(object)
            try second.processPendingChanges()
            try merge(type)
            XCTAssertEqual(object.isDeleted, type != .rollback, "\(type)")
            XCTAssertEqual(object.version, newest.records[0].version, "\(type)")
            if type == .rollback { XCTAssertEqual(try values(), ["Ann", "31", "-", ""]) }
        }
    }

    func testRowThatBothSidesDeletedIsNotDeletedAgain() throws {
        for type in [MergePolicyType.overwrite, .objectTrump, .storeTrump, .rollback] {
            try conflict()
            try second.delete(object)
            try mergeWithoutRow(type)
            XCTAssertTrue(object.isDeleted, "\(type)")
            XCTAssertTrue(second.changeTracker.isRowDeleted(object), "\(type)")
        }
    }
}
