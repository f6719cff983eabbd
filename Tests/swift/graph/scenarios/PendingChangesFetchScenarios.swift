import Corestone
import CorestoneModel
import XCTest

@testable import CorestoneGraph

/// Scenarios of fetches with unsaved changes, against stores that are not databases.
final class PendingChangesFetchScenarios: XCTestCase {
    /// A context on an empty custom store.
    private func opened(_ build: (Model) throws -> Void) throws -> (store: MemStore, context: Context) {
        let model = Model()
        try build(model)
        let coordinator = try Coordinator(model: model)
        let store = MemStore(model: model)
        _ = try store.added(to: coordinator)
        return (store, Context(coordinator: coordinator))
    }

    /// A store that returns zebra, apple and mango for every fetch, and claims to have evaluated the whole request.
    private func openedIgnoringRequests() throws -> Context {
        let (store, context) = try opened {
            try $0.addEntity(named: "Item").addAttribute(named: "name", type: .string)
        }
        for (key, name) in [(1, "zebra"), (2, "apple"), (3, "mango")] as [(Int64, String)] {
            try store.add("Item", key, ["name": .string(name)])
        }
        store.ignoresPredicateAndOrder = true
        return context
    }

    func testS011FetchExcludesPendingInsertsOfSubentitiesOnRequest() throws {
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

    func testS014ResultsWithPendingInsertsAreSortedAgain() throws {
        let context = try openedIgnoringRequests()
        _ = try context.insert("Item", ["name": "banana"])
        let names = try context.fetch("Item", sort: ["name"]).map { try $0.get("name", as: String.self) }
        XCTAssertEqual(names, ["apple", "banana", "mango", "zebra"])
    }

    func testS017PredicateIsEvaluatedOnUnsavedValues() throws {
        let context = try openedIgnoringRequests()
        let zebra = try XCTUnwrap(context.fetch("Item").first { try $0.get("name") == "zebra" })
        try zebra.set("name", "aaa")
        let names = try context.fetch("Item", "name CONTAINS 'z'").map { try $0.get("name", as: String.self) }
        XCTAssertFalse(names.contains("aaa") || names.contains("zebra"))
    }
}
