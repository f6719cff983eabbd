import Corestone
import XCTest

/// References without an inverse to objects that are deleted: no delete rule removes them. `GraphStepsTests` has the
/// property test.
final class OneSidedTests: XCTestCase {
    private var coordinator: Coordinator!
    private var context: Context!

    override func setUpWithError() throws {
        let model = Model()
        let node = try model.addEntity(named: "Node")
        let base = try model.addEntity(named: "Base")
        let tag = try model.addEntity(named: "Tag")
        let team = try model.addEntity(named: "Team")
        for entity in [node, base, tag, team] { try entity.addAttribute(named: "name", type: .string) }
        try tag.addUniqueConstraint(["name"])
        _ = try node.addRelationship(named: "tag", destination: tag)
        _ = try node.addRelationship(named: "tags", destination: tag, isToMany: true)
        let pair = try node.addRelationship(named: "pair", destination: base, isToMany: true, isOptional: false)
        try pair.setCounts(minimum: 1, maximum: 0)
        let members = try team.addRelationship(named: "members", destination: node, isToMany: true)
        let home = try node.addRelationship(named: "team", destination: team)
        try members.setInverse(home)
        try home.setDeleteRule(.noAction)
        _ = try node.addRelationship(named: "nodes", destination: node, isToMany: true)
        _ = try node.addRelationship(named: "peer", destination: base)
        _ = try node.addRelationship(named: "anchor", destination: base, isOptional: false)
        _ = try node.addRelationship(named: "bag", destination: base, isToMany: true)
        _ = try node.addRelationship(named: "row", destination: base, isToMany: true, isOrdered: true)
        coordinator = try Coordinator(model: model)
        _ = try coordinator.addStore(.inMemory, at: "one-sided-\(UUID().uuidString)")
        context = Context(coordinator: coordinator)
    }

    private func base(_ name: String, _ context: Context) throws -> ManagedObject {
        let base = try context.insert("Base")
        try base.set("name", name)
        return base
    }

    /// A saved node with a saved anchor, which is its only member of `pair`, too.
    private func node() throws -> ManagedObject {
        let node = try context.insert("Node")
        try node.set("anchor", base("anchor", context))
        try node.add(XCTUnwrap(target("anchor", node)), to: "pair")
        try context.save()
        return node
    }

    private func target(_ key: String, _ node: ManagedObject) throws -> ManagedObject? {
        try node.get(key, as: ManagedObject.self)
    }

    func testDeletedUnsavedTargetIsRemovedFromReferences() throws {
        let (node, base) = (try node(), try base("new", context))
        try node.set("peer", base)
        try node.add(base, to: "bag")
        try node.add(base, to: "row")
        try context.processPendingChanges()
        try context.delete(base)
        try context.processPendingChanges()
        XCTAssertNil(try target("peer", node))
        XCTAssertEqual(try node.members("bag").count, 0)
        XCTAssertEqual(try node.members("row").count, 0)
        // An ordered relationship is reported as changed, as it is when a member is added and removed again.
        XCTAssertEqual(try node.changedValues().keys.sorted(), ["row"])
        XCTAssertEqual(try context.fetch("Node", "peer == nil AND bag.@count == 0").count, 1)
        XCTAssertEqual(try context.fetch("Node", sort: ["peer.name"]).count, 1)
        try context.save()
        XCTAssertEqual(try node.members("bag").count, 0)
        XCTAssertEqual(try node.members("row").count, 0)
    }

    func testUndoOfTheDeletionRestoresTheReferences() throws {
        try context.setUndoManager(UndoManager())
        let (node, base) = (try node(), try base("new", context))
        try node.set("peer", base)
        try node.add(base, to: "row")
        try context.processPendingChanges()
        try context.delete(base)
        try context.processPendingChanges()
        try context.undo()
        XCTAssertTrue(try target("peer", node) === base)
        XCTAssertTrue(try node.members("row").first === base)
        try context.redo()
        XCTAssertNil(try target("peer", node))
        XCTAssertEqual(try node.members("row").count, 0)
    }

    func testUndoOfAnInsertionRemovesReferencesToTheObject() throws {
        let manager = UndoManager()
        try context.setUndoManager(manager)
        let node = try node()
        manager.removeAllActions()
        let base = try base("new", context)
        try context.processPendingChanges()
        manager.disableUndoRegistration()
        try node.set("peer", base)
        try node.add(base, to: "bag")
        try context.processPendingChanges()
        try manager.enableUndoRegistration()
        try context.undo()
        XCTAssertTrue(base.isGone)
        XCTAssertNil(try target("peer", node))
        XCTAssertEqual(try node.members("bag").count, 0)
    }

    /// The reference would be saved as null.
    func testSaveFailsWhenARequiredTargetIsDeleted() throws {
        let node = try node()
        let base = try base("new", context)
        try node.set("anchor", base)
        try context.delete(base)
        XCTAssertThrowsError(try context.save()) { error in
            let error = error as? CoreError
            XCTAssertEqual(error?.code, 1570)
            XCTAssertEqual(error?.key, "anchor")
        }
        let saved = try self.base("saved", context)
        try node.set("anchor", saved)
        try context.save()
        try context.delete(saved)
        // The stored row already has the reference, and is not changed.
        try context.save()
    }

    /// As in Core Data, the row keeps the reference to the deleted row.
    func testReferenceToADeletedSavedTargetIsAnInaccessibleFault() throws {
        let (node, base) = (try node(), try base("new", context))
        try node.set("peer", base)
        try context.save()
        XCTAssertTrue(try target("peer", node) === base)
        try context.delete(base)
        try context.save()
        let left = try XCTUnwrap(try target("peer", node))
        XCTAssertFalse(left === base)
        XCTAssertNil(try left.get("name", as: String.self))
    }

    func testChildSaveRemovesReferencesToObjectsDeletedInTheParent() throws {
        let child = Context(parent: context)
        let node = try context.insert("Node")
        let (base, anchor) = (try base("new", context), try base("anchor", context))
        try node.set("anchor", anchor)
        try node.add(anchor, to: "pair")
        try node.set("peer", base)
        try context.processPendingChanges()
        let above = try XCTUnwrap(try child.fetch("Node").first)
        let baseAbove = try child.object(with: base.objectID)
        try above.add(baseAbove, to: "bag")
        try context.delete(base)
        try context.processPendingChanges()
        try child.save()
        XCTAssertEqual(try node.members("bag").count, 0)
        XCTAssertNil(try target("peer", node))
        let second = Context(parent: context)
        XCTAssertNil(try target("peer", XCTUnwrap(second.fetch("Node").first)))
    }

    func testDeletionInAChildRemovesReferencesInTheParent() throws {
        let child = Context(parent: context)
        let node = try context.insert("Node")
        let base = try base("new", context)
        try node.set("anchor", self.base("anchor", context))
        try node.set("peer", base)
        try context.processPendingChanges()
        let above = try XCTUnwrap(try child.fetch("Node").first)
        XCTAssertNotNil(try target("peer", above))
        try child.delete(XCTUnwrap(try target("peer", above)))
        try child.save()
        XCTAssertNil(try target("peer", above))
        XCTAssertNil(try target("peer", node))
    }

    // MARK: Merging

    private func tag(_ name: String, _ context: Context) throws -> ManagedObject {
        let tag = try context.insert("Tag")
        try tag.set("name", name)
        return tag
    }

    /// Two objects with the same unique value are merged into one, and references to the other one point to it.
    func testReferencesToAMergedObjectPointToTheStoredObject() throws {
        for type in [MergePolicyType.objectTrump, .storeTrump, .overwrite] {
            let node = try node()
            let name = "\(type)"
            let stored = try tag(name, context)
            try context.save()
            let duplicate = try tag(name, context)
            try node.set("tag", duplicate)
            try node.add(duplicate, to: "tags")
            context.mergePolicy = .standard(type)
            try context.save()
            XCTAssertTrue(try target("tag", node) === stored, name)
            XCTAssertEqual(try node.members("tags").count, 1, name)
            XCTAssertTrue(try node.members("tags").first === stored, name)
        }
    }

    /// The policy deletes a target that another context has deleted: the objects that refer to it are validated again.
    func testSaveFailsWhenAMergePolicyDeletesARequiredTarget() throws {
        let base = try base("base", context)
        try context.save()
        let other = Context(coordinator: coordinator)
        let theirs = try other.object(with: base.objectID)
        try other.delete(theirs)
        try base.set("name", "changed")
        let node = try context.insert("Node")
        try node.set("anchor", base)
        try node.add(self.base("member", context), to: "pair")
        try other.save()
        context.mergePolicy = .storeTrump
        XCTAssertThrowsError(try context.save()) { error in
            let error = error as? CoreError
            XCTAssertEqual(error?.code, 1570, "\(error.map { "\($0)" } ?? "")")
            XCTAssertEqual(error?.key, "anchor")
        }
    }

    // MARK: Other cases

    func testChildResolvesATargetThatItsParentSaved() throws {
        let child = Context(parent: context)
        var (node, base): (ManagedObject?, ManagedObject?) = (try context.insert("Node"), try base("base", context))
        try node?.set("anchor", base)
        try node?.set("peer", base)
        if let base { try node?.add(base, to: "pair") }
        try context.processPendingChanges()
        let above = try XCTUnwrap(try child.fetch("Node").first)
        XCTAssertEqual(try above.get("name", as: String.self), nil)
        try context.save()
        (node, base) = (nil, nil)
        XCTAssertEqual(try target("peer", above)?.get("name", as: String.self), "base")
    }

    /// No Action does not change rows of other objects, but an object that was never saved has no row.
    func testNoActionRemovesAnUnsavedMember() throws {
        let team = try context.insert("Team")
        try context.save()
        let node = try context.insert("Node")
        try node.set("team", team)
        try context.processPendingChanges()
        try context.delete(node)
        try context.processPendingChanges()
        XCTAssertEqual(try team.members("members").count, 0)
    }

    func testDeletedMembersDoNotCountForTheMinimum() throws {
        let node = try node()
        let (deleted, removed) = (try base("deleted", context), try base("removed", context))
        for former in try node.members("pair") { try node.remove(former, from: "pair") }
        try node.add(deleted, to: "pair")
        try node.add(removed, to: "pair")
        try context.save()
        try node.remove(removed, from: "pair")
        try context.delete(deleted)
        XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? CoreError)?.key, "pair") }
    }

    /// A primitive value does not make its object dirty, so that the deletion of a target finds no reference to it.
    func testDeletedUnsavedTargetIsRemovedFromPrimitiveReferences() throws {
        let (node, base) = (try node(), try base("new", context))
        try node.setPrimitive("peer", base)
        for key in ["bag", "row"] {
            _ = try node.members(key)
            try node.setPrimitiveMembers([base], of: key)
        }
        try context.delete(base)
        try context.processPendingChanges()
        XCTAssertTrue(base.isGone)
        XCTAssertNil(try target("peer", node))
        XCTAssertEqual(try node.memberCount("bag"), 0)
        XCTAssertEqual(try node.members("row").count, 0)
        try node.set("name", "changed")
        try context.save()
        XCTAssertEqual(try Context(coordinator: coordinator).fetch("Node", "bag.@count + row.@count > 0").count, 0)
    }

    /// A saved node that another node refers to. Node and anchor were deleted elsewhere, and the node is changed here.
    private func nodeDeletedElsewhere() throws -> (node: ManagedObject, anchor: ManagedObject, holder: ManagedObject) {
        let (node, holder) = (try node(), try node())
        let anchor = try XCTUnwrap(try target("anchor", node))
        try holder.add(node, to: "nodes")
        try context.save()
        let elsewhere = Context(coordinator: coordinator)
        for object in [node, anchor] { try elsewhere.delete(elsewhere.object(with: object.objectID)) }
        try elsewhere.save()
        context.mergePolicy = .objectTrump
        try node.set("name", "changed")
        // Its former members were deleted with its row.
        try node.add(base("member", context), to: "pair")
        return (node, anchor, holder)
    }

    /// A save that would reinsert the row fails. After a rollback, the object is a fault and still registered.
    func testRollbackAfterAFailedReinsertionKeepsTheObjectAsAFault() throws {
        let (node, _, holder) = try nodeDeletedElsewhere()
        XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? CoreError)?.key, "anchor") }
        try context.rollback()
        XCTAssertFalse(node.isGone)
        XCTAssertTrue(node.isFault)
        XCTAssertFalse(context.hasChanges)
        XCTAssertTrue(try holder.members("nodes").first === node)
    }

    func testRowsReinsertedTogetherKeepTheirReferences() throws {
        let (node, anchor, _) = try nodeDeletedElsewhere()
        try anchor.set("name", "changed")
        try context.save()
        let elsewhere = Context(coordinator: coordinator)
        let read = try elsewhere.object(with: node.objectID)
        XCTAssertEqual(try target("anchor", read)?.objectID, anchor.objectID)
        XCTAssertEqual(try target("anchor", read)?.get("name", as: String.self), "changed")
    }

    func testSaveWithoutChangesInADidSaveObserverPostsNoDidSave() throws {
        var count = 0
        let observations = (0..<3).map { _ in
            context.observe(.didSave) { _, _ in
                count += 1
                try? self.context.save()
            }
        }
        _ = try base("base", context)
        try context.save()
        XCTAssertEqual(count, 3)
        withExtendedLifetime(observations) {}
    }
}
