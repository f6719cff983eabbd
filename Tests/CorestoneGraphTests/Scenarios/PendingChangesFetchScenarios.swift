import Corestone
import CorestoneModel
import XCTest

@testable import CorestoneGraph

/// Scenarios of fetches beside unsaved changes, against stores that are no databases.
final class PendingChangesFetchScenarios: XCTestCase {
    /// A context on a store of a host's own, which holds no objects yet.
    private func opened(_ build: (Model) throws -> Void) throws -> (store: MemStore, context: Context) {
        let model = Model()
        try build(model)
        let coordinator = try Coordinator(model: model)
        let store = MemStore(model: model)
        _ = try store.added(to: coordinator)
        return (store, Context(coordinator: coordinator))
    }

    /// A store that answers zebra, apple, mango to whatever it is asked, and says that this is all that was asked for.
    private func careless() throws -> Context {
        let (store, context) = try opened {
            try $0.addEntity(named: "Item").addAttribute(named: "name", type: .string)
        }
        for (key, name) in [(1, "zebra"), (2, "apple"), (3, "mango")] as [(Int64, String)] {
            try store.add("Item", key, ["name": .string(name)])
        }
        store.ignoresPredicateAndOrder = true
        return context
    }

    func testS011SubentitiesAreLeftOutOfPendingInsertsToo() throws {
        let (_, context) = try opened { model in
            let person = try model.addEntity(named: "Person")
            try person.addAttribute(named: "name", type: .string)
            let manager = try model.addEntity(named: "Manager")
            try manager.setParent(person)
            try manager.addAttribute(named: "level", type: .integer32)
        }
        let pat = try context.insert("Person", ["name": "pat"])
        _ = try context.insert("Manager", ["name": "mia"])
        try context.save()
        _ = try context.insert("Manager", ["name": "max"])
        try pat.set("name", "patricia")
        let request = FetchRequest(entity: try context.coordinator.model.requireEntity(named: "Person"))
        XCTAssertEqual(try context.fetch(request).count, 3)
        request.includesSubentities = false
        XCTAssertEqual(try context.fetch(request).map { try $0.get("name", as: String.self) }, ["patricia"])
    }

    func testS014WhatPendingInsertsChangedIsSortedAnew() throws {
        let context = try careless()
        _ = try context.insert("Item", ["name": "banana"])
        let names = try context.fetch("Item", sort: ["name"]).map { try $0.get("name", as: String.self) }
        XCTAssertEqual(names, ["apple", "banana", "mango", "zebra"])
    }

    func testS017AnUpdatedObjectIsMatchedByWhatItIsNow() throws {
        let context = try careless()
        let zebra = try XCTUnwrap(context.fetch("Item").first { try $0.get("name") == "zebra" })
        try zebra.set("name", "aaa")
        let names = try context.fetch("Item", "name CONTAINS 'z'").map { try $0.get("name", as: String.self) }
        XCTAssertFalse(names.contains("aaa") || names.contains("zebra"))
    }
}
