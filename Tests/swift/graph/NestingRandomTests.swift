import Corestone
import CorestoneGraph
import XCTest

/// The same random edits in one context and in children, saved through every level, leave the same store.
final class NestingRandomTests: XCTestCase {
    /// One graph that is edited in the context `top`.
    private final class Side {
        let store: MemoryStore
        /// From the root up.
        let contexts: [Context]
        var top: Context { contexts[contexts.count - 1] }
        var objects: [String: [ManagedObject]] = [:]

        init(levels: Int) throws {
            let model = try GraphTestCase.company()
            let coordinator = try Coordinator(model: model)
            store = MemoryStore(model: model)
            _ = try coordinator.add(store)
            var contexts = [Context(coordinator: coordinator)]
            for _ in 1..<levels { contexts.append(Context(parent: contexts[contexts.count - 1])) }
            self.contexts = contexts
        }

        func save() throws { for context in contexts.reversed() { try context.save() } }

        /// Everything that a fresh context reads, by title.
        func saved() throws -> [String] { try description(Context(coordinator: top.coordinator)) }

        func description(_ context: Context) throws -> [String] {
            var lines: [String] = []
            for name in ["Department", "Employee", "Project", "Task"] {
                for object in try context.fetch(name) {
                    var line = "\(name) \(try title(object))"
                    for property in object.objectID.entity.properties {
                        guard let relationship = property as? Relationship else {
                            line += ", \(property.name) \(try object.value(forKey: property.name))"
                            continue
                        }
                        if relationship.isToMany {
                            let members = try object.members(property.name).map(title)
                            line += ", \(property.name) \(relationship.isOrdered ? members : members.sorted())"
                        } else {
                            let target = try object.get(property.name, as: ManagedObject.self)
                            line += ", \(property.name) \(try target.map(title) ?? "-")"
                        }
                    }
                    lines.append(line)
                }
            }
            return lines.sorted()
        }

        private func title(_ object: ManagedObject) throws -> String {
            let key = ["Project", "Task"].contains(object.objectID.entity.name) ? "title" : "name"
            return try object.get(key) ?? "?"
        }
    }

    private var random = SeededGenerator(seed: 1)

    /// The same edit on every side.
    private func edit(_ sides: [Side], _ step: Int) throws {
        func pick(_ name: String) -> Int? { sides[0].objects[name]!.indices.randomElement(using: &random) }
        let operation = step < 40 ? 0 : Int.random(in: 0..<15, using: &random)
        let picks = ["Department", "Employee", "Employee", "Project", "Task"].map(pick)
        let isSet = Bool.random(using: &random)
        let place = Int.random(in: 0..<100, using: &random)
        for side in sides {
            func object(_ kind: Int, _ name: String) -> ManagedObject? { picks[kind].map { side.objects[name]![$0] } }
            let (department, employee) = (object(0, "Department"), object(1, "Employee"))
            let (second, project, task) = (object(2, "Employee"), object(3, "Project"), object(4, "Task"))
            switch operation {
            case 0, 1:
                let name = ["Department", "Employee", "Project", "Task"][place % 4]
                let key = place % 4 < 2 ? "name" : "title"
                side.objects[name]!.append(try side.top.insert(name, [key: "\(name)\(step)"]))
            case 2, 3: try employee?.set("department", isSet ? department : nil)
            case 4: try employee?.set("age", place)
            case 5: try employee?.set("spouse", isSet ? second : nil)
            case 6: if let employee, let project { try employee.add(project, to: "projects") }
            case 7: if let employee, let project { try project.remove(employee, from: "members") }
            case 8: if let employee, let second { try employee.add(second, to: "friends") }
            case 9: if let employee, let second { try employee.remove(second, from: "friends") }
            case 10: if let project, let task { try task.set("project", isSet ? project : nil) }
            case 11:
                if let project, let task {
                    let isMember = try project.members("tasks").contains { $0 === task }
                    let end = try project.memberCount("tasks") + (isMember ? 0 : 1)
                    try project.insert(task, at: place % end, in: "tasks")
                }
            case 13: try employee?.set("speed", Double(place))
            case 12: if let department, let employee { try department.add(employee, to: "employees") }
            default:
                let name = ["Department", "Employee", "Project", "Task"][place % 4]
                if place < 50, let index = picks[[0, 1, 3, 4][place % 4]] {
                    try side.top.delete(side.objects[name]![index])
                    try side.top.processPendingChanges()
                    for name in side.objects.keys { side.objects[name]!.removeAll { $0.isDeleted || $0.isGone } }
                }
            }
        }
    }

    func testRandomEditsInNestedContextsMatchEditsInOneContext() throws {
        for seed in 1...12 as ClosedRange<UInt64> {
            random = SeededGenerator(seed: seed)
            let sides = try (1...3).map { try Side(levels: $0) }
            for side in sides { side.objects = ["Department": [], "Employee": [], "Project": [], "Task": []] }
            for step in 0..<450 {
                try edit(sides, step)
                // Occasionally, only some levels are saved.
                if Int.random(in: 0..<15, using: &random) == 0 { try sides[1].top.save() }
                if Int.random(in: 0..<15, using: &random) == 0 { try sides[2].top.save() }
                if Int.random(in: 0..<30, using: &random) == 0 { try sides[2].contexts[1].save() }
                if step % 50 == 49 {
                    let expected = try sides[0].description(sides[0].top)
                    for side in sides[1...] {
                        XCTAssertEqual(try side.description(side.top), expected, "seed \(seed), step \(step): unsaved")
                    }
                }
                if step % 75 == 74 {
                    for side in sides { try side.save() }
                    let (expected, unsaved) = (try sides[0].saved(), try sides[0].description(sides[0].top))
                    for side in sides[1...] {
                        XCTAssertEqual(try side.saved(), expected, "seed \(seed), step \(step): saved")
                        XCTAssertTrue(side.contexts.allSatisfy { !$0.hasChanges })
                    }
                    for side in sides[1...] {
                        XCTAssertEqual(try side.description(side.top), unsaved, "seed \(seed), step \(step): on top")
                        for objects in side.objects.values { XCTAssertTrue(objects.allSatisfy { !$0.hasTemporaryID }) }
                    }
                }
                if testRun?.failureCount != 0 { return }
            }
        }
    }
}

struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
