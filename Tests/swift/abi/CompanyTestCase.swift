import CCorestone
import XCTest

/// Departments with employees (managers inherit), friends, ordered tasks; one SQLite store and one caller-confined context.
class CompanyTestCase: ABITestCase {
    var model, coordinator, store, context: OpaquePointer?
    var person, manager, department, task: OpaquePointer?
    var nameKey: cst_key = 0
    var age: cst_key = 0
    var salary: cst_key = 0
    var photo: cst_key = 0
    var badge: cst_key = 0
    var toDepartment: cst_key = 0
    var friends: cst_key = 0
    var departmentName: cst_key = 0
    var employees: cst_key = 0
    var tasks: cst_key = 0
    var title: cst_key = 0

    override func setUpWithError() throws {
        try super.setUpWithError()
        makeModel()
        ok { cst_coordinator_new(model, &coordinator, $0) }
        withText(path("company.sqlite")) { path in
            _ = ok { cst_coordinator_add_store(coordinator, text("SQLite"), path, nil, &store, $0) }
        }
        context = newContext()
        keep(model)
        keep(coordinator)
        keep(store)
    }

    func newContext(_ queue: Int = CST_QUEUE_CALLER) -> OpaquePointer? {
        var context: OpaquePointer?
        ok { cst_context_new(coordinator, cst_queue(queue), &context, $0) }
        return keep(context)
    }

    private func makeModel() {
        ok { cst_model_new(&model, $0) }
        ok { cst_model_add_entity(model, text("Person"), &person, $0) }
        ok { cst_model_add_entity(model, text("Manager"), &manager, $0) }
        ok { cst_model_add_entity(model, text("Department"), &department, $0) }
        ok { cst_model_add_entity(model, text("Task"), &task, $0) }
        ok { cst_entity_set_parent(manager, person, $0) }
        let optional = UInt32(CST_PROPERTY_OPTIONAL)
        attribute(person, "name", CST_ATTRIBUTE_STRING, UInt32(CST_PROPERTY_INDEXED))
        attribute(person, "age", CST_ATTRIBUTE_INTEGER_16, optional)
        attribute(person, "salary", CST_ATTRIBUTE_DECIMAL, optional)
        attribute(person, "photo", CST_ATTRIBUTE_BINARY, optional)
        attribute(person, "badge", CST_ATTRIBUTE_UUID, optional)
        attribute(manager, "level", CST_ATTRIBUTE_INTEGER_32, optional)
        attribute(department, "name", CST_ATTRIBUTE_STRING, optional)
        attribute(task, "title", CST_ATTRIBUTE_STRING, optional)
        let toMany = optional | UInt32(CST_PROPERTY_TO_MANY)
        let inDepartment = relationship(person, "department", department, optional)
        let employees = relationship(department, "employees", person, toMany)
        ok { cst_relationship_set_inverse(inDepartment, employees, $0) }
        let friends = relationship(person, "friends", person, toMany)
        ok { cst_relationship_set_inverse(friends, friends, $0) }
        let tasks = relationship(person, "tasks", task, toMany | UInt32(CST_PROPERTY_ORDERED))
        let owner = relationship(task, "owner", person, optional)
        ok { cst_relationship_set_inverse(tasks, owner, $0) }
        ok { cst_relationship_set_delete_rule(tasks, UInt32(CST_DELETE_CASCADE), $0) }
        nameKey = key(person, "name")
        age = key(person, "age")
        salary = key(person, "salary")
        photo = key(person, "photo")
        badge = key(person, "badge")
        toDepartment = key(person, "department")
        self.friends = key(person, "friends")
        self.tasks = key(person, "tasks")
        departmentName = key(department, "name")
        self.employees = key(department, "employees")
        title = key(task, "title")
    }

    private func attribute(_ entity: OpaquePointer?, _ name: StaticString, _ type: Int, _ flags: UInt32) {
        ok { cst_entity_add_attribute(entity, text(name), cst_attribute_type(type), flags, nil, $0) }
    }

    private func relationship(
        _ entity: OpaquePointer?, _ name: StaticString, _ destination: OpaquePointer?, _ flags: UInt32
    ) -> OpaquePointer? {
        var relationship: OpaquePointer?
        ok { cst_entity_add_relationship(entity, text(name), destination, flags, &relationship, $0) }
        return relationship
    }

    func key(_ entity: OpaquePointer?, _ name: StaticString) -> cst_key {
        var key: cst_key = 0
        ok { cst_entity_key(entity, text(name), &key, $0) }
        return key
    }

    /// A new person; released with the test unless `isKept` is false.
    func insert(_ name: StaticString, age: Int64? = nil, isKept: Bool = true) -> OpaquePointer? {
        let object = insert(entity: person, isKept: isKept)
        set(object, nameKey, .text(name))
        if let age { set(object, self.age, .int(age)) }
        return object
    }

    func insert(entity: OpaquePointer?, isKept: Bool = true) -> OpaquePointer? {
        var object: OpaquePointer?
        ok { cst_context_insert(context, entity, &object, $0) }
        if isKept { keep(object) }
        return object
    }

    func set(_ object: OpaquePointer?, _ key: cst_key, _ value: cst_value, line: UInt = #line) {
        var value = value
        ok({ cst_object_set(object, key, &value, $0) }, line: line)
    }

    func get(_ object: OpaquePointer?, _ key: cst_key, line: UInt = #line) -> cst_value {
        var value = cst_value.null
        ok({ cst_object_get(object, key, &value, $0) }, line: line)
        return value
    }

    func getText(_ object: OpaquePointer?, _ key: cst_key, line: UInt = #line) -> String? {
        let value = get(object, key, line: line)
        return value.type == UInt32(CST_STRING) ? string(value.as.string) : nil
    }

    func save(_ context: OpaquePointer? = nil, line: UInt = #line) {
        ok({ cst_context_save(context ?? self.context, $0) }, line: line)
    }

    /// All people of a context, by name.
    func fetch(_ context: OpaquePointer? = nil, entity: OpaquePointer? = nil, isKept: Bool = true) -> OpaquePointer? {
        var request, results: OpaquePointer?
        ok { cst_fetch_request_new(entity ?? person, &request, $0) }
        if entity == nil {
            var sort = cst_sort(key_path: text("name"), flags: 0, reserved: 0)
            ok { cst_fetch_request_set_sort(request, 1, &sort, $0) }
        }
        ok { cst_context_fetch(context ?? self.context, request, &results, $0) }
        release(request)
        if isKept { keep(results) }
        return results
    }

    func object(_ results: OpaquePointer?, _ index: Int) -> OpaquePointer? {
        var object: OpaquePointer?
        ok { cst_results_get_object(results, index, &object, $0) }
        return object
    }

    func state(_ object: OpaquePointer?) -> Int {
        var flags: UInt32 = 0
        ok { cst_object_state(object, &flags, $0) }
        return Int(flags)
    }

    func memberCount(_ object: OpaquePointer?, _ key: cst_key) -> Int {
        var count = 0
        ok { cst_object_member_count(object, key, &count, $0) }
        return count
    }
}
