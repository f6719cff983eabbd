import Corestone
import XCTest

/// A company: departments, employees (with the subentity Manager), projects, ordered tasks, a spouse.
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

    static func company() throws -> Model {
        let model = Model()
        let department = try model.addEntity(named: "Department")
        try department.addAttribute(named: "name", type: .string, isOptional: false)
        let employee = try model.addEntity(named: "Employee")
        try employee.addAttribute(named: "name", type: .string, isOptional: false)
        try employee.addAttribute(named: "age", type: .integer32)
        try employee.addAttribute(named: "salary", type: .double).setDefaultValue(.double(1000))
        try employee.addAttribute(named: "speed", type: .double, isTransient: true)
        let manager = try model.addEntity(named: "Manager")
        try manager.setParent(employee)
        try manager.addAttribute(named: "level", type: .integer16)
        let project = try model.addEntity(named: "Project")
        try project.addAttribute(named: "title", type: .string)
        let task = try model.addEntity(named: "Task")
        try task.addAttribute(named: "title", type: .string)

        let inDepartment = try employee.addRelationship(named: "department", destination: department)
        let employees = try department.addRelationship(named: "employees", destination: employee, isToMany: true)
        try inDepartment.setInverse(employees)
        let projects = try employee.addRelationship(named: "projects", destination: project, isToMany: true)
        let staff = try project.addRelationship(named: "staff", destination: employee, isToMany: true)
        try projects.setInverse(staff)
        let spouse = try employee.addRelationship(named: "spouse", destination: employee)
        try spouse.setInverse(spouse)
        let friends = try employee.addRelationship(named: "friends", destination: employee, isToMany: true)
        try friends.setInverse(friends)
        let tasks = try project.addRelationship(named: "tasks", destination: task, isToMany: true, isOrdered: true)
        try tasks.setDeleteRule(.cascade)
        let inProject = try task.addRelationship(named: "project", destination: project)
        try tasks.setInverse(inProject)
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
