import XCTest

@testable import CorestoneGraph
@testable import CorestoneModel
@testable import CorestoneValues

/// Random changes, undo and redo, while another context saves random changes of the same objects. Both sides of
/// each relationship agree after every step, and the final save stores the values of the context.
final class MergeUndoRandomTests: GraphTestCase {
    private var here: Context!
    private var there: Context!
    private var log: [String] = []
    private var names: [ObjectID: String] = [:]
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

    private struct Mismatch: Error { let message: String }

    private static let entities = ["Department", "Employee", "Project", "Task"]

    private func random(_ count: Int) -> Int { Int.random(in: 0..<count, using: &generator) }

    /// Returns a random registered object of the entity that is not deleted.
    private func live(_ entity: String, _ context: Context) throws -> ManagedObject? {
        let found = context.registeredObjects.filter {
            $0.entity.name == entity && $0.state.isDisjoint(with: [.deleted, .detached])
                && ($0.record != nil || $0.isInserted)
        }
        return try found.map { (try name(of: $0), $0) }.sorted { $0.0 < $1.0 }.map(\.1)
            .randomElement(using: &generator)
    }

    private func name(of object: ManagedObject) throws -> String {
        try object.get(object.entity.property(named: "name") == nil ? "title" : "name") ?? "-"
    }

    private var lastName = 0

    private func insert(_ entity: String, _ context: Context) throws {
        let object = try context.insert(entity)
        lastName += 1
        let name = "\(entity.first!)\(context === here ? "h" : "t")\(lastName)"
        note(context, "insert \(name)")
        try object.set(object.entity.property(named: "name") == nil ? "title" : "name", name)
    }

    private func note(_ context: Context, _ text: String) {
        log.append((context === here ? "here: " : "there: ") + text)
    }

    private func change(_ context: Context) throws {
        let entity = ["Department", "Employee", "Employee", "Employee", "Project", "Task"][random(6)]
        guard let object = try live(entity, context), random(12) > 0 else { return try insert(entity, context) }
        let name = try name(of: object)
        if random(14) == 0 {
            note(context, "delete \(name)")
            return try context.delete(object)
        }
        func key(_ name: String) throws -> UInt32 { try object.entity.requireProperty(named: name).key }
        func set(_ relationship: String, _ target: ManagedObject?) throws {
            note(context, "\(name).\(relationship) = \(try target.map(self.name) ?? "nil")")
            try object.set(relationship, target)
        }
        func add(_ member: ManagedObject?, _ relationship: String) throws {
            guard let member else { return }
            note(context, "add \(try self.name(of: member)) to \(name).\(relationship)")
            try object.addMember(member, key: key(relationship))
        }
        func remove(_ relationship: String) throws {
            let members = try object.members(key: key(relationship)).map { (try self.name(of: $0), $0) }
            guard let (other, member) = members.sorted(by: { $0.0 < $1.0 }).randomElement(using: &generator) else {
                return
            }
            note(context, "remove \(other) from \(name).\(relationship)")
            try object.removeMember(member, key: key(relationship))
        }
        switch entity {
        case "Department": try random(3) > 0 ? add(live("Employee", context), "employees") : remove("employees")
        case "Employee":
            switch random(9) {
            case 0, 1: try set("department", live("Department", context))
            case 2: try set("department", nil)
            case 3, 4: try set("spouse", random(4) == 0 ? nil : live("Employee", context))
            case 5: try random(2) == 0 ? add(live("Employee", context), "friends") : remove("friends")
            case 6: try random(2) == 0 ? add(live("Project", context), "projects") : remove("projects")
            default:
                note(context, "\(name).age")
                try object.set("age", random(1000))
            }
        case "Project":
            switch random(4) {
            case 0: try remove("tasks")
            case 1: try add(live("Employee", context), "members")
            default:
                if let task = try live("Task", context), try !object.hasMember(task, key: key("tasks")) {
                    let place = random(try object.memberCount(key: key("tasks")) + 1)
                    note(context, "insert \(try self.name(of: task)) at \(place) in \(name).tasks")
                    try object.insertMember(task, at: place, key: key("tasks"))
                }
            }
        default: try set("project", random(3) == 0 ? nil : live("Project", context))
        }
    }

    private func step() throws {
        switch random(20) {
        case 0..<8:
            for _ in 0...random(2) { try change(here) }
            if random(4) > 0 {
                note(here, "end of event")
                try here.processPendingChanges()
            }
        case 8..<13:
            for _ in 0...random(2) { try change(there) }
            note(there, "save")
            try there.save()
        case 13..<16:
            note(here, "undo")
            _ = try here.undo()
        case 16..<18:
            note(here, "redo")
            _ = try here.redo()
        case 18:
            guard let object = try live("Employee", here) else { return }
            let keeps = random(3) > 0
            note(here, "refresh \(try name(of: object)), merging \(keeps)")
            try here.refresh(object, mergeChanges: keeps)
        default:
            note(here, "refresh all")
            try here.refreshAll()
        }
    }

    /// Checks that related objects refer to each other from both sides.
    private func check(_ context: Context, _ objects: [ManagedObject]) throws {
        for object in objects {
            for relationship in object.entity.relationships {
                guard let inverse = relationship.inverse else { continue }
                for target in try object.targets(of: relationship) {
                    // An object that was deleted here and changed elsewhere is a conflict of the save.
                    if target.isDeleted { continue }
                    let name = "\(try self.name(of: object)).\(relationship.name)"
                    if target.isGone { throw Mismatch(message: "\(name) has an object that is gone") }
                    if try !target.targets(of: inverse).contains(where: { $0 === object }) {
                        throw Mismatch(
                            message: "\(name) has \(try self.name(of: target)), whose \(inverse.name) lacks it")
                    }
                }
            }
        }
    }

    private func all(_ context: Context) throws -> [ManagedObject] {
        try MergeUndoRandomTests.entities.flatMap { try context.fetch($0) }
    }

    private func checkAll() throws { try check(here, all(here)) }

    private func picture(_ context: Context) throws -> [String] {
        try all(context).map { object in
            try
                ([name(of: object)]
                + object.entity.relationships.map { relationship in
                    let found = try object.targets(of: relationship).map(name)
                    return "\(relationship.name)=\(relationship.isOrdered ? found : found.sorted())"
                }).joined(separator: " ")
        }.sorted()
    }

    private func run(seed: UInt64, steps: Int) throws {
        generator = SplitMix(state: seed)
        (log, lastName) = ([], 0)
        try setUpWithError()
        (here, there) = (other(), other())
        for (entity, count) in [("Department", 3), ("Employee", 4), ("Project", 2), ("Task", 3)] {
            for _ in 0..<count { try insert(entity, there) }
        }
        for _ in 0..<8 { try change(there) }
        try there.save()
        for context in [here!, there!] { context.automaticallyMergesChangesFromParent = true }
        // Some runs retain all objects, some also load all members, and some retain no object beyond its references.
        let held = random(3) > 0 ? try all(here) : []
        for object in try all(here) { try object.fireIfNeeded() }
        if random(2) == 0 { try checkAll() }
        defer { withExtendedLifetime(held) {} }
        try here.setUndoManager(UndoManager())
        for _ in 0..<steps {
            try step()
            if random(3) == 0 {
                log.append("check")
                try checkAll()
            }
        }
        log.append("check")
        try here.processPendingChanges()
        try checkAll()
        while here.undoManager?.canUndo == true {
            log.append("undo")
            try here.undo()
            if random(2) == 0 { try checkAll() }
        }
        try checkAll()
        while here.undoManager?.canRedo == true, random(8) > 0 {
            log.append("redo")
            try here.redo()
            if random(2) == 0 { try checkAll() }
        }
        log.append("save")
        try checkAll()
        here.mergePolicy = .objectTrump
        try here.save()
        log.append("saved")
        try checkAll()
        let (shown, stored) = (try picture(here), try picture(other()))
        for (own, theirs) in zip(shown, stored) where own != theirs {
            throw Mismatch(message: "shown \(own)\nstored \(theirs)")
        }
        if shown.count != stored.count { throw Mismatch(message: "shown \(shown), stored \(stored)") }
        try check(there, all(there))
    }

    func testRandomUndoAcrossMergesKeepsRelationshipsConsistent() throws {
        let environment = ProcessInfo.processInfo.environment
        let first = UInt64(environment["CORESTONE_SEED"] ?? "") ?? 0
        let count = UInt64(environment["CORESTONE_SEEDS"] ?? "") ?? 500
        var failures = 0
        var shortest: (seed: UInt64, text: String, length: Int)?
        for seed in first..<first + count {
            do { try run(seed: seed, steps: 2 + Int(seed % 14)) } catch {
                failures += 1
                let message = (error as? Mismatch)?.message ?? "\(error)"
                if log.count < shortest?.length ?? .max {
                    shortest = (seed, (log + [message]).joined(separator: "\n  "), log.count)
                }
            }
        }
        if let shortest { XCTFail("\(failures) of \(count) seeds; seed \(shortest.seed):\n  \(shortest.text)") }
    }
}
