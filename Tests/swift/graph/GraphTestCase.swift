import Corestone
import TestSupport
import XCTest

/// A company: departments, employees (with the subentity Manager), projects, ordered tasks.
class GraphTestCase: XCTestCase {
    var model: Model!
    var coordinator: Coordinator!
    var store: MemoryStore!
    var context: Context!
    private var contexts: [Context] = []

    override func setUpWithError() throws {
        model = try GraphTestCase.company()
        coordinator = try Coordinator(model: model)
        store = MemoryStore(model: model)
        _ = try coordinator.add(store)
        context = Context(coordinator: coordinator)
    }

    /// The company of Tests/support. A new employee has the rating 1000.
    static func company() throws -> Model {
        let model = try Model(text: Checkout.company)
        let rating = try model.requireEntity(named: "Employee").ownProperty(named: "rating") as? Attribute
        try XCTUnwrap(rating).setDefaultValue(.double(1000))
        return model
    }

    func employee(_ name: String, in department: ManagedObject? = nil) throws -> ManagedObject {
        let object = try context.insert("Employee")
        try object.set("name", name)
        if let department { try object.set("department", department) }
        return object
    }

    func department(_ name: String) throws -> ManagedObject { try context.insert("Department", ["name": name]) }

    func names(_ objects: [ManagedObject]) throws -> [String] { try objects.map { try $0.get("name") ?? "" }.sorted() }

    /// Another context of the coordinator. It lives as long as the test, since objects do not retain their context.
    func other() -> Context {
        contexts.append(Context(coordinator: coordinator))
        return contexts[contexts.count - 1]
    }
}

extension ManagedObject {
    /// Sets several properties, or none of them, like `cst_object_set_many`.
    func set(_ values: [(name: String, value: PropertyValue)]) throws {
        try withUnsafeTemporaryAllocation(of: ManagedObject.Prepared.self, capacity: values.count) { memory in
            var prepared = PreparedValues(memory)
            for (name, value) in values {
                prepared.append(try prepare(value, key: try entity.requireProperty(named: name).key))
            }
            try apply(&prepared)
        }
    }
}
