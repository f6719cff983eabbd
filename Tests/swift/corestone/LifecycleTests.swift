import Corestone
import XCTest

/// Lifecycle hooks as methods of object classes.
final class LifecycleTests: XCTestCase {
    private final class Log: @unchecked Sendable { var calls: [String] = [] }
    private nonisolated(unsafe) static var log = Log()

    private class Person: EntityObject {
        override class var entityName: String { "Person" }
        override class var validatedKeys: [String] { ["name"] }
        var name: String? {
            get throws { try optionalValue("name") }
        }

        private func note(_ call: String) throws { log.calls.append("\(call) \(try name ?? "nil")") }

        override func awakeFromInsert() throws { try setValue("new", "name") }
        override func awakeFromFetch() throws { try note("fetch") }
        override func awake(fromSnapshotEvents events: SnapshotEvents) throws { try note("events \(events.rawValue)") }
        override func willSave() throws { try note("will") }
        override func didSave() throws { if !managedObject.isGone { try note("did") } }
        override func prepareForDeletion() throws { try note("prepare") }
        override func willTurnIntoFault() throws { try note("turn") }
        override func didTurnIntoFault() throws { log.calls.append("turned") }
        override func setNilValue(forKey key: String) throws {
            if key == "age" { try setValue(-1, key) } else { try super.setNilValue(forKey: key) }
        }
        override func validateForInsert() throws {
            try super.validateForInsert()
            if try name == "nobody" { throw CoreError(.callback, "nobody", domain: "D", customCode: 4242) }
        }
        override func validate(_ value: PropertyValue, forKey key: String) throws -> PropertyValue {
            value == .string("ada") ? .string("Ada") : value
        }
    }

    private final class Clerk: Person {
        override class var entityName: String { "Clerk" }
        override func awakeFromInsert() throws {
            try super.awakeFromInsert()
            try setValue(40, "age")
        }
    }

    private var folder = ""
    private var context: Corestone.Context!

    override func tearDownWithError() throws {
        context = nil
        try FileManager.default.removeItem(atPath: folder)
    }

    override func setUpWithError() throws {
        folder = FileManager.default.temporaryDirectory.path + "/" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        LifecycleTests.log = Log()
        let model = Model()
        let person = try model.addEntity(named: "Person")
        try person.addAttribute(named: "name", type: .string, isOptional: false)
        try person.addAttribute(named: "age", type: .integer32)
        try person.addAttribute(named: "rank", type: .integer32)
        try model.addEntity(named: "Clerk").setParent(person)
        try model.addEntity(named: "Guest").setParent(person)
        try model.bind(Person.self, Clerk.self)
        let coordinator = try Coordinator(model: model)
        try coordinator.addSQLiteStore(at: folder + "/\(model.entities.count).sqlite")
        context = Corestone.Context(coordinator: coordinator)
    }

    private var calls: [String] {
        defer { LifecycleTests.log.calls = [] }
        return LifecycleTests.log.calls
    }

    func testLifecycleMethodsAreCalledInOrder() throws {
        let ada = try context.insert(Person.self)
        XCTAssertEqual(try ada.name, "new")
        try ada.setValue("Bo", "name")
        try context.save()
        XCTAssertEqual(calls, ["will Bo", "did Bo"])
        try context.refresh(ada.managedObject, mergeChanges: false)
        XCTAssertEqual(try ada.name, "Bo")
        XCTAssertEqual(calls, ["turn Bo", "turned", "fetch Bo"])
        try context.delete(ada.managedObject)
        try context.save()
        XCTAssertEqual(calls, ["prepare Bo", "will Bo"])
    }

    func testSubclassesInheritAndOverrideHooks() throws {
        let clerk = try context.insert(Clerk.self)
        XCTAssertEqual(try clerk.name, "new")
        XCTAssertEqual(try clerk.optionalValue("age"), 40)
        let guest = try context.insert("Guest")
        XCTAssertEqual(try guest.get("name"), "new")
        try clerk.setValue(nil, "age")
        try clerk.setValue(nil, "rank")
        XCTAssertEqual(try clerk.optionalValue("age"), -1)
        XCTAssertNil(try clerk.optionalValue("rank") as Int?)
        try context.save()
        XCTAssertEqual(calls.count, 4)
    }

    func testValidationMethodsRejectAndReplaceValues() throws {
        let ada = try context.insert(Person.self)
        try ada.setValue("nobody", "name")
        let object = ada.managedObject
        for check in [{ try self.context.save() }, { try object.validateForInsert() }, { try ada.validateForInsert() }]
        {
            XCTAssertThrowsError(try check()) {
                let error = $0 as? CoreError
                XCTAssertEqual([error?.domain, error?.message], ["D", "nobody"])
                XCTAssertEqual(error?.code, 4242)
            }
        }
        XCTAssertThrowsError(try context.save()) {
            let error = $0 as? CoreError
            XCTAssertEqual([error?.entity, error?.objectURI], ["Person", object.objectID.uri])
        }
        try ada.setValue("ada", "name")
        try ada.validateForInsert()
        try context.save()
        XCTAssertEqual(try ada.name, "Ada")
        try ada.setValue(nil, "name")
        XCTAssertThrowsError(try ada.validateForUpdate())
    }

    func testOnlyRequestedHooksAreCalled() throws {
        let model = Model()
        try model.addEntity(named: "Person").addAttribute(named: "name", type: .string)
        try model.bind(Person.self, hooks: [.willSave])
        let coordinator = try Coordinator(model: model)
        try coordinator.addSQLiteStore(at: folder + "/\(model.entities.count).sqlite")
        let context = Corestone.Context(coordinator: coordinator)
        let ada = try context.insert(Person.self)
        XCTAssertNil(try ada.name)
        try context.save()
        XCTAssertEqual(calls, ["will nil"])
        XCTAssertThrowsError(try model.bind(Person.self))
    }
}
