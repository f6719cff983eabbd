import Corestone
import XCTest

/// Many-to-many and to-one relationships under random changes, saves and rollbacks.
///
/// Both sides agree with a set of pairs, and no member is listed twice.
final class PairTests: GraphTestCase {
    private struct Pair: Hashable {
        let employee: ObjectIdentifier
        let project: ObjectIdentifier
    }

    private var employees: [ManagedObject] = []
    private var projects: [ManagedObject] = []
    private var departments: [ManagedObject] = []
    private var pairs: Set<Pair> = []
    private var homes: [ObjectIdentifier: ObjectIdentifier] = [:]

    private func pair(_ employee: ManagedObject, _ project: ManagedObject) -> Pair {
        Pair(employee: ObjectIdentifier(employee), project: ObjectIdentifier(project))
    }

    func testRandomChangesKeepBothSidesOfRelationshipsEqual() throws {
        for round in 0..<6 {
            for step in 0..<400 {
                try change()
                if step % 40 == 39 { try check("round \(round), step \(step)") }
                if step % 150 == 149 { try context.save() }
            }
            try context.save()
            try check("round \(round), saved")
            try checkAgainstTheStore()
        }
    }

    private func change() throws {
        if employees.count < 2 || projects.count < 2 || departments.count < 2 || Int.random(in: 0..<12) == 0 {
            employees.append(try employee("E\(employees.count)"))
            projects.append(try context.insert("Project", ["title": "P\(projects.count)"]))
            departments.append(try department("D\(departments.count)"))
            return
        }
        let employee = employees.randomElement()!, project = projects.randomElement()!
        switch Int.random(in: 0..<7) {
        case 0:
            try employee.add(project, to: "projects")
            pairs.insert(pair(employee, project))
        case 1:
            try project.add(employee, to: "members")
            pairs.insert(pair(employee, project))
        case 2:
            try employee.remove(project, from: "projects")
            pairs.remove(pair(employee, project))
        case 3:
            let chosen = Array(employees.shuffled().prefix(Int.random(in: 0...20)))
            try project.setMembers(chosen, of: "members")
            pairs = pairs.filter { $0.project != ObjectIdentifier(project) }
            for member in chosen { pairs.insert(pair(member, project)) }
        case 4:
            let department = departments.randomElement()!
            try employee.set("department", department)
            homes[ObjectIdentifier(employee)] = ObjectIdentifier(department)
        case 5:
            let department = departments.randomElement()!
            try department.add(employee, to: "employees")
            homes[ObjectIdentifier(employee)] = ObjectIdentifier(department)
        default:
            try employee.set("department", nil)
            homes[ObjectIdentifier(employee)] = nil
        }
    }

    private func check(_ when: String) throws {
        var fromEmployees: Set<Pair> = [], fromProjects: Set<Pair> = []
        for employee in employees {
            let members = try employee.members("projects")
            XCTAssertEqual(Set(members.map(ObjectIdentifier.init)).count, members.count, "a project twice, \(when)")
            for project in members { fromEmployees.insert(pair(employee, project)) }
            let home = try employee.get("department", as: ManagedObject.self)
            XCTAssertEqual(home.map(ObjectIdentifier.init), homes[ObjectIdentifier(employee)], when)
        }
        for project in projects {
            let members = try project.members("members")
            XCTAssertEqual(Set(members.map(ObjectIdentifier.init)).count, members.count, "an employee twice, \(when)")
            for employee in members { fromProjects.insert(pair(employee, project)) }
        }
        XCTAssertEqual(fromEmployees, pairs, when)
        XCTAssertEqual(fromProjects, pairs, when)
        for department in departments {
            let members = try department.members("employees")
            XCTAssertEqual(Set(members.map(ObjectIdentifier.init)).count, members.count, "an employee twice, \(when)")
            XCTAssertEqual(members.count, homes.values.filter { $0 == ObjectIdentifier(department) }.count, when)
        }
    }

    private func checkAgainstTheStore() throws {
        let fresh = other()
        for project in projects {
            let stored = try fresh.object(with: project.objectID).members("members").map(\.objectID)
            XCTAssertEqual(Set(stored), Set(try project.members("members").map(\.objectID)))
        }
    }
}
