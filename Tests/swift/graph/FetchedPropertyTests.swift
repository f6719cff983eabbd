import Corestone
import Foundation
import XCTest

/// Fetched properties and fetch request templates.
final class FetchedPropertyTests: XCTestCase {
    private var model = Model()
    private var context: Context!

    override func setUpWithError() throws {
        model = Model()
        let person = try model.addEntity(named: "Person")
        try person.addAttribute(named: "name", type: .string)
        try person.addAttribute(named: "age", type: .integer32)
        let request = FetchRequestTemplate(
            entityName: "Person", predicate: PredicateText("name == $FETCH_SOURCE.name AND SELF != $FETCH_SOURCE"))
        try person.addFetchedProperty(named: "namesakes", fetchRequest: request)
        var limited = FetchRequestTemplate(
            entityName: "Person", predicate: PredicateText("name != $FETCHED_PROPERTY.userInfo.except"))
        limited.sortDescriptors = [SortDescriptor("age", ascending: false)]
        limited.limit = 1
        try person.addFetchedProperty(named: "oldest", fetchRequest: limited).setUserInfo("B", forKey: "except")
        try person.addFetchedProperty(
            named: "endless",
            fetchRequest: FetchRequestTemplate(
                entityName: "Person", predicate: PredicateText("SELF IN $FETCH_SOURCE.endless")))
        let template = FetchRequestTemplate(
            entityName: "Person",
            predicate: PredicateText("age > $LEAST AND SUBQUERY({1}, $x, $x == 1).@count == 1 AND name == $NAME"))
        try model.setFetchRequestTemplate(template, forName: "older")
        let coordinator = try Coordinator(model: model)
        _ = try coordinator.add(MemoryStore(model: model))
        context = Context(coordinator: coordinator)
    }

    private func insert(_ name: String, _ age: Int64) throws -> ManagedObject {
        let object = try context.insert("Person")
        try object.setValue(.string(name), forKey: "name")
        try object.setValue(.int(age), forKey: "age")
        return object
    }

    private func failure(_ body: () throws -> Void) -> CoreError? {
        do { try body() } catch { return error as? CoreError }
        return nil
    }

    func testUserInfoOfAFetchedPropertyCanChangeInAFrozenModel() throws {
        let (ada, bob) = (try insert("A", 20), try insert("B", 30))
        let property = try XCTUnwrap(ada.entity.fetchedProperty(named: "oldest"))
        XCTAssertTrue(try ada.fetched("oldest") == [ada])
        try property.setUserInfo("A", forKey: "except")
        XCTAssertEqual(property.userInfo, ["except": "A"])
        XCTAssertTrue(try ada.fetched("oldest") == [bob])
        try property.setUserInfo("B", forKey: "except")
        XCTAssertTrue(try ada.fetched("oldest") == [ada])
        XCTAssertThrowsError(try ada.entity.requireProperty(named: "name").setUserInfo("x", forKey: "y"))
        // While other threads read it.
        let (threads, info) = (DispatchGroup(), property)
        for number in 0..<4 {
            DispatchQueue.global().async(group: threads) {
                for step in 0..<1000 {
                    if number == 0 {
                        do { try info.setUserInfo("\(step)", forKey: "except") } catch { XCTFail("\(error)") }
                    }
                    XCTAssertNotNil(info.userInfo["except"])
                }
            }
        }
        XCTAssertEqual(threads.wait(timeout: .now() + 60), .success)
        XCTAssertEqual(property.userInfo, ["except": "999"])
    }

    func testFetchedPropertyIsCachedUntilTheObjectIsRefreshed() throws {
        let (ada, other) = (try insert("Ada", 20), try insert("Ada", 30))
        try context.save()
        XCTAssertTrue(try ada.fetched("namesakes") == [other])
        try other.setValue(.string("Eve"), forKey: "name")
        XCTAssertEqual(try ada.fetched("namesakes").count, 1)
        try context.refresh(ada, mergeChanges: true)
        XCTAssertEqual(try ada.fetched("namesakes").count, 0, "unsaved changes are included")
        try context.save()
        let third = try insert("Ada", 5)
        XCTAssertEqual(try ada.fetched("namesakes").count, 0)
        try context.refresh(ada, mergeChanges: false)
        XCTAssertTrue(try ada.fetched("namesakes") == [third])
        guard case .array(let members) = try ada.value(forKey: "namesakes") else { return XCTFail("no list") }
        XCTAssertEqual(members.count, 1)
        try context.reset()
        XCTAssertEqual(failure { _ = try ada.fetched("namesakes") }?.status, .objectGone)
    }

    func testKeyPathAcceptsEveryNameThatValueForKeyAccepts() throws {
        let (ada, other) = (try insert("Ada", 20), try insert("Ada", 30))
        try context.save()
        for name in ["name", "entity", "objectID", "namesakes"] {
            XCTAssertEqual(try ada.value(forKeyPath: name), try ada.value(forKey: name), name)
        }
        XCTAssertEqual(try ada.value(forKeyPath: "entity.name"), .string("Person"))
        XCTAssertEqual(try ada.value(forKeyPath: "namesakes"), .array([.object(other)]))
        XCTAssertEqual(try ada.value(forKeyPath: "namesakes.@count"), .int(1))
        XCTAssertEqual(failure { _ = try ada.value(forKeyPath: "nmae") }?.status, .invalidArgument)
    }

    func testFetchedPropertyAppliesOrderLimitAndUserInfo() throws {
        let people = [try insert("A", 5), try insert("B", 50), try insert("C", 30)]
        XCTAssertTrue(try people[0].fetched("oldest") == [people[2]])
    }

    func testRecursiveFetchedPropertyIsRefused() throws {
        let ada = try insert("Ada", 1)
        XCTAssertEqual(failure { _ = try ada.fetched("endless") }?.status, .predicate)
    }

    func testTemplateVariablesAreBoundInACopy() throws {
        _ = try insert("Ada", 20)
        let bound = try model.fetchRequest(
            fromTemplate: "older", variables: ["LEAST": .int(10), "NAME": .string("Ada")])
        XCTAssertEqual(bound.predicate?.freeVariables, [])
        XCTAssertEqual(model.fetchRequestTemplates["older"]?.predicate?.predicate?.freeVariables, ["LEAST", "NAME"])
        XCTAssertEqual(try context.fetch(bound).count, 1)
        let nameless = try model.fetchRequest(fromTemplate: "older", variables: ["LEAST": .int(10), "NAME": .null])
        XCTAssertEqual(try context.fetch(nameless).count, 0)
        let missing = failure { _ = try model.fetchRequest(fromTemplate: "older", variables: ["LEAST": .int(1)]) }
        XCTAssertEqual(missing?.status, .predicate)
        XCTAssertEqual(missing?.key, "NAME")
        XCTAssertEqual(failure { _ = try model.fetchRequest(fromTemplate: "odler") }?.status, .invalidArgument)
    }
}

private func == (a: [ManagedObject], b: [ManagedObject]) -> Bool {
    a.map(ObjectIdentifier.init) == b.map(ObjectIdentifier.init)
}
