import CCorestone
import XCTest

/// A company in its own store: employees with every kind of attribute, departments, projects with ordered tasks.
class StaffTestCase: HeaderTestCase {
    var model: Handle?
    var coordinator: Handle?
    var context: Handle?
    private(set) var entities: [String: Handle] = [:]
    private var keys: [String: cst_key] = [:]

    override func setUpWithError() throws {
        try super.setUpWithError()
        model = keep(company())
        coordinator = keep(made { cst_coordinator_new(model, $0, $1) })
        ok { cst_coordinator_add_store(coordinator, .null, text(path("company.sqlite")), nil, nil, $0) }
        context = keep(made { cst_context_new(coordinator, cst_queue(CST_QUEUE_CALLER), $0, $1) })
    }

    // MARK: The model

    func company() -> Handle? {
        let model = made { cst_model_new($0, $1) }
        for name in ["Person", "Employee", "Department", "Project", "Task"] {
            entities[name] = made { cst_model_add_entity(model, text(name), $0, $1) }
        }
        let (person, employee) = (entities["Person"], entities["Employee"])
        let (department, project, task) = (entities["Department"], entities["Project"], entities["Task"])
        ok { cst_entity_set_abstract(person, true, $0) }
        ok { cst_entity_set_parent(employee, person, $0) }
        let optional = CST_PROPERTY_OPTIONAL
        attribute(person, "name", CST_ATTRIBUTE_STRING, 0)
        for (name, type) in [
            ("level", CST_ATTRIBUTE_INTEGER_16), ("floor", CST_ATTRIBUTE_INTEGER_32),
            ("number", CST_ATTRIBUTE_INTEGER_64),
            ("salary", CST_ATTRIBUTE_DECIMAL), ("rating", CST_ATTRIBUTE_DOUBLE), ("factor", CST_ATTRIBUTE_FLOAT),
            ("notes", CST_ATTRIBUTE_STRING), ("active", CST_ATTRIBUTE_BOOLEAN), ("hired", CST_ATTRIBUTE_DATE),
            ("photo", CST_ATTRIBUTE_BINARY), ("badge", CST_ATTRIBUTE_UUID), ("site", CST_ATTRIBUTE_URI),
        ] { attribute(employee, name, type, optional) }
        attribute(employee, "scratch", CST_ATTRIBUTE_UNDEFINED, optional | CST_PROPERTY_TRANSIENT)
        attribute(department, "name", CST_ATTRIBUTE_STRING, 0)
        attribute(project, "title", CST_ATTRIBUTE_STRING, optional)
        attribute(task, "title", CST_ATTRIBUTE_STRING, optional)

        let many = CST_PROPERTY_TO_MANY
        join(
            relationship(employee, "department", department), relationship(department, "employees", employee, many))
        join(relationship(employee, "manager", employee), relationship(employee, "reports", employee, many))
        join(relationship(employee, "spouse", employee), nil)
        join(relationship(employee, "projects", project, many), relationship(project, "staff", employee, many))
        let tasks = relationship(project, "tasks", task, many | CST_PROPERTY_ORDERED)
        join(tasks, relationship(task, "project", project))
        ok { cst_relationship_set_delete_rule(tasks, UInt32(CST_DELETE_CASCADE), $0) }
        return model
    }

    func attribute(_ entity: Handle?, _ name: String, _ type: Int, _ flags: Int) {
        ok { cst_entity_add_attribute(entity, text(name), cst_attribute_type(type), UInt32(flags), nil, $0) }
    }

    func relationship(_ entity: Handle?, _ name: String, _ destination: Handle?, _ flags: Int = 0) -> Handle? {
        made {
            cst_entity_add_relationship(
                entity, text(name), destination, UInt32(flags | CST_PROPERTY_OPTIONAL), $0, $1)
        }
    }

    /// nil: the relationship is its own inverse.
    private func join(_ one: Handle?, _ other: Handle?) {
        ok { cst_relationship_set_inverse(one, other ?? one, $0) }
    }

    /// The key of a property, by default of an employee.
    func key(_ name: String, _ entity: String = "Employee") -> cst_key {
        if let known = keys["\(entity).\(name)"] { return known }
        var key = cst_key.max
        ok { cst_entity_key(entities[entity], text(name), &key, $0) }
        keys["\(entity).\(name)"] = key
        return key
    }

    // MARK: Objects

    /// A new object of a context, not kept.
    func insert(_ entity: String = "Employee", in other: Handle? = nil) -> Handle? {
        made { cst_context_insert(other ?? context, entities[entity], $0, $1) }
    }

    /// A new employee, kept until the end of the test.
    @discardableResult
    func employee(_ name: String, number: Int64 = 0) -> Handle? {
        let employee = keep(insert())
        set(employee, "name", value(name))
        set(employee, "number", .int(number))
        return employee
    }

    /// A new department or project, kept until the end of the test.
    func named(_ entity: String, _ name: String) -> Handle? {
        let object = keep(insert(entity))
        set(object, entity == "Department" ? "name" : "title", value(name), entity)
        return object
    }

    func set(
        _ object: Handle?, _ name: String, _ value: cst_value, _ entity: String = "Employee",
        file: StaticString = #filePath, line: UInt = #line
    ) {
        var value = value
        ok({ cst_object_set(object, key(name, entity), &value, $0) }, file: file, line: line)
    }

    func get(
        _ object: Handle?, _ name: String, _ entity: String = "Employee", file: StaticString = #filePath,
        line: UInt = #line
    ) -> cst_value {
        var value = cst_value.raw(0xFF, filledWith: 0xFF)
        ok({ cst_object_get(object, key(name, entity), &value, $0) }, file: file, line: line)
        return value
    }

    func path(_ object: Handle?, _ path: String, file: StaticString = #filePath, line: UInt = #line) -> cst_value {
        var value = cst_value.raw(0xFF, filledWith: 0xFF)
        ok({ cst_object_get_path(object, text(path), &value, $0) }, file: file, line: line)
        return value
    }

    func state(_ object: Handle?) -> Int {
        var flags: UInt32 = 0
        ok { cst_object_state(object, &flags, $0) }
        return Int(flags)
    }

    func save(file: StaticString = #filePath, line: UInt = #line) {
        ok({ cst_context_save(context, $0) }, file: file, line: line)
    }

    /// Another context of the same coordinator, kept until the end of the test.
    func secondContext(_ queue: Int = CST_QUEUE_CALLER) -> Handle? {
        keep(made { cst_context_new(coordinator, cst_queue(queue), $0, $1) })
    }

    /// A request for all objects of an entity, kept until the end of the test.
    func request(_ entity: String = "Employee", where format: String? = nil, sort: String? = nil) -> Handle? {
        let request = keep(made { cst_fetch_request_new(entities[entity], $0, $1) })
        if let format {
            let predicate = made { cst_predicate_parse(text(format), 0, nil, $0, $1) }
            ok { cst_fetch_request_set_predicate(request, predicate, $0) }
            release(predicate)
        }
        if let sort {
            var descriptor = cst_sort()
            descriptor.key_path = text(sort)
            ok { cst_fetch_request_set_sort(request, 1, &descriptor, $0) }
        }
        return request
    }

    /// The results of a request, not kept.
    func fetch(_ request: Handle?, in other: Handle? = nil) -> Handle? {
        made { cst_context_fetch(other ?? context, request, $0, $1) }
    }

    func object(_ results: Handle?, _ index: Int) -> Handle? {
        made { cst_results_get_object(results, index, $0, $1) }
    }

    /// The members of a to-many relationship as handles that the results keep; the results are kept by the test.
    func members(_ object: Handle?, _ name: String, _ entity: String = "Employee") -> [Handle?] {
        let results = keep(made { cst_object_copy_members(object, key(name, entity), $0, $1) })
        return (0..<cst_results_count(results)).map { self.object(results, $0) }
    }
}
