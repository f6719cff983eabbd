import XCTest

@testable import CorestoneGraph
@testable import CorestoneModel
@testable import CorestoneValues

/// Random events: undoing and redoing all of them restores every former state of the graph.
final class RandomUndoTests: GraphTestCase {
    private var manager: UndoManager!
    /// Every object that ever existed, identified by its index.
    private var all: [ManagedObject] = []
    private var generator = SplitMix(state: 0)

    private struct SplitMix: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }
    }

    private func random(_ count: Int) -> Int { Int.random(in: 0..<count, using: &generator) }
    private func live(_ entity: String) -> ManagedObject? {
        all.filter { !$0.isGone && !$0.isDeleted && $0.entity.name == entity }.randomElement(using: &generator)
    }

    private func key(_ object: ManagedObject, _ name: String) throws -> UInt32 {
        try object.entity.requireProperty(named: name).key
    }

    private func step() throws {
        let entity = ["Department", "Employee", "Employee", "Project", "Task"][random(5)]
        guard let object = live(entity), random(8) > 0 else {
            let object = try context.insert(entity)
            all.append(object)
            return try object.set(object.entity.property(named: "name") == nil ? "title" : "name", "n\(all.count)")
        }
        if random(10) == 0 { return try context.delete(object) }
        switch entity {
        case "Department":
            guard let employee = live("Employee"), random(2) == 0 else {
                return try object.set("name", "d\(random(5))")
            }
            try object.addMember(employee, key: key(object, "employees"))
        case "Employee":
            switch random(7) {
            case 0: try object.set("department", live("Department"))
            case 1: try object.set("spouse", live("Employee"))
            case 2: if let friend = live("Employee") { try object.addMember(friend, key: key(object, "friends")) }
            case 3: if let project = live("Project") { try object.addMember(project, key: key(object, "projects")) }
            case 4:
                let name = ["friends", "projects"][random(2)]
                if let member = try object.members(key: key(object, name)).randomElement(using: &generator) {
                    try object.removeMember(member, key: key(object, name))
                }
            case 5: try object.set("speed", Double(random(3)))
            default: try object.set("age", random(3))
            }
        case "Project":
            let tasks = try key(object, "tasks")
            let count = try object.memberCount(key: tasks)
            switch random(4) {
            case 0: if let task = live("Task") { try object.addMember(task, key: tasks) }
            case 1: if count > 0 { try object.moveMember(from: random(count), to: random(count), key: tasks) }
            case 2: if count > 0 { try object.removeMember(at: random(count), key: tasks) }
            default:
                if let task = live("Task"), try !object.hasMember(task, key: tasks) {
                    try object.insertMember(task, at: random(count + 1), key: tasks)
                }
            }
        default: try object.set("project", random(3) == 0 ? nil : live("Project"))
        }
    }

    /// The graph as text: each existing object with its values and the indexes of its targets.
    private func picture(of objects: [ManagedObject?]) throws -> [String] {
        var places: [ObjectIdentifier: Int] = [:]
        for (place, object) in objects.enumerated() { if let object { places[ObjectIdentifier(object)] = place } }
        return try objects.map { object in
            guard let object, !object.isGone, !object.isDeleted else { return "-" }
            return try object.entity.properties.map { property in
                guard let relationship = property as? Relationship else {
                    return "\(property.name)=\(try object.value(slot: Int(property.slot)))"
                }
                let targets = try object.targets(of: relationship).filter { !$0.isDeleted }
                let found = targets.map { places[ObjectIdentifier($0)] ?? -1 }
                return "\(property.name)=\(relationship.isOrdered ? found : found.sorted())"
            }.joined(separator: " ")
        }
    }

    private func context(of object: ManagedObject) -> Context { object.context! }

    private func check(_ expected: [String], _ what: String, seed: UInt64) throws {
        let found = try picture(of: all)
        for (place, (old, new)) in zip(expected, found).enumerated() where old != new {
            XCTFail("seed \(seed), \(what), \(all[place].entity.name) \(place):\n  expected \(old)\n  found    \(new)")
            throw XCTSkip("failed")
        }
        for (place, text) in found.enumerated() where place >= expected.count {
            XCTAssertEqual(text, "-", "seed \(seed), \(what), \(place)")
        }
    }

    private func run(seed: UInt64, saves: Bool) throws {
        generator = SplitMix(state: seed)
        context = other()
        manager = UndoManager()
        try context.setUndoManager(manager)
        all = []
        // The objects that exist before the first event.
        for _ in 0..<random(60) { try step() }
        try context.save()
        manager.removeAllActions()
        var pictures = [try picture(of: all)]
        var isUnrecorded = false
        for _ in 0..<25 {
            for _ in 0...random(6) { try step() }
            let before = manager.undoStack.count
            try context.processPendingChanges()
            if manager.undoStack.count == before {
                // Values were set to their former values: there is nothing to undo, but the objects are dirty.
                isUnrecorded = true
                continue
            }
            if saves && random(4) == 0 { try context.save() }
            pictures.append(try picture(of: all))
        }
        for round in 0..<2 {
            for place in (0..<pictures.count - 1).reversed() {
                try context.undo()
                try check(pictures[place], "round \(round), undo to \(place)", seed: seed)
                if saves && random(6) == 0 { try context.save() }
            }
            XCTAssertFalse(manager.canUndo)
            if !saves && !isUnrecorded { XCTAssertFalse(context.hasChanges, "seed \(seed): undone, but changed") }
            for place in 1..<pictures.count {
                try context.redo()
                try check(pictures[place], "round \(round), redo to \(place)", seed: seed)
                if saves && random(6) == 0 { try context.save() }
            }
            XCTAssertFalse(manager.canRedo)
        }
        // A new context reads the saved values. Transient values are not saved.
        try context.save()
        let fresh = other()
        let copies = try all.map { $0.isGone ? nil : try fresh.storedObject(with: $0.objectID) }
        let plain = { (text: String) in text.split(separator: " ").filter { !$0.hasPrefix("speed=") }.map(String.init) }
        let (ours, theirs) = (try picture(of: all).map(plain), try picture(of: copies).map(plain))
        for (place, (own, stored)) in zip(ours, theirs).enumerated() where own != stored {
            XCTFail("seed \(seed), saved, \(place): \(own) is stored as \(stored)")
        }
    }

    func testRandomUndoRestoresEveryStateWithoutSaves() throws {
        for seed in 1...60 { try run(seed: UInt64(seed), saves: false) }
    }
    func testRandomUndoRestoresEveryStateAcrossSaves() throws {
        for seed in 1000...1060 { try run(seed: UInt64(seed), saves: true) }
    }
}
