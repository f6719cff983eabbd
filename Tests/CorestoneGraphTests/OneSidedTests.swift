import Corestone
import XCTest

/// References without inverse, to objects that end: no delete rule lets go of them. `GraphStepsTests` has the property test.
final class OneSidedTests: XCTestCase {
    private var coordinator: Coordinator!
    private var context: Context!

    override func setUpWithError() throws {
        let model = Model()
        let node = try model.addEntity(named: "Node")
        let base = try model.addEntity(named: "Base")
        for entity in [node, base] { try entity.addAttribute(named: "name", type: .string) }
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

    /// A saved node with a saved anchor.
    private func node() throws -> ManagedObject {
        let node = try context.insert("Node")
        try node.set("anchor", base("anchor", context))
        try context.save()
        return node
    }

    private func target(_ key: String, _ node: ManagedObject) throws -> ManagedObject? {
        try node.get(key, as: ManagedObject.self)
    }

    func testATargetThatWasNeverSavedIsLetGo() throws {
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
        XCTAssertEqual(try node.changedValues().count, 0)
        XCTAssertEqual(try context.fetch("Node", "peer == nil AND bag.@count == 0").count, 1)
        XCTAssertEqual(try context.fetch("Node", sort: ["peer.name"]).count, 1)
        try context.save()
        XCTAssertEqual(try node.members("bag").count, 0)
        XCTAssertEqual(try node.members("row").count, 0)
    }

    func testTheUndoOfTheDeletionLeadsBack() throws {
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

    func testTheUndoOfAnInsertionLetsGo() throws {
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

    /// It would be saved as null.
    func testARequiredTargetThatIsDeletedIsMissing() throws {
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
        try node.set("anchor", self.base("other", context))
        try node.set("anchor", saved)
        try context.delete(saved)
        // The row leads there already, and stays as it is.
        try context.save()
    }

    /// As Apple's: the row keeps the reference, which leads to a row that is gone.
    func testASavedTargetIsAnInaccessibleFault() throws {
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

    func testAChildLetsGoOfObjectsThatItsParentLost() throws {
        let child = Context(parent: context)
        let node = try context.insert("Node")
        let (base, anchor) = (try base("new", context), try base("anchor", context))
        try node.set("anchor", anchor)
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
        let other = try XCTUnwrap(try Context(parent: context).fetch("Node").first)
        XCTAssertNil(try target("peer", other))
    }

    func testAChildThatDeletesTheTarget() throws {
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
}
