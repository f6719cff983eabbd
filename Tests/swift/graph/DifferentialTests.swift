import Corestone
import XCTest

/// The same random changes in a store of dictionaries, in SQLite and in an atomic store.
///
/// The objects of a context, and those that a new context reads after each save, must be the same in all stores.
final class DifferentialTests: XCTestCase {
    private var folder = ""

    override func setUpWithError() throws {
        folder = NSTemporaryDirectory() + "corestone-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    override func tearDown() { try? FileManager.default.removeItem(atPath: folder) }

    func testRandomChangesHaveTheSameResultInEveryStoreType() throws {
        for seed in 1...12 { try run(seed: UInt64(seed), steps: 400) }
    }

    func testUniqueValueOfADeletedObjectCanBeReusedInTheSameSave() throws {
        let model = Model()
        let item = try model.addEntity(named: "Item")
        try item.addAttribute(named: "code", type: .string)
        try item.addUniqueConstraint(["code"])
        let coordinator = try Coordinator(model: model)
        try coordinator.addSQLiteStore(at: folder + "/unique.sqlite")
        let context = Context(coordinator: coordinator)
        let old = try context.insert("Item", ["code": "x"])
        try context.save()
        try context.delete(old)
        try context.insert("Item", ["code": "x"])
        try context.save()
        XCTAssertEqual(try context.count("Item"), 1)
        try context.insert("Item", ["code": "x"])
        XCTAssertThrowsError(try context.save()) {
            XCTAssertEqual(($0 as? CoreError)?.code, 133021)
            XCTAssertEqual(($0 as? CoreError)?.entity, "Item")
        }
        try context.rollback()
        XCTAssertEqual(try context.count("Item"), 1)
    }

    /// Members added through the inverse are appended to an ordered list.
    ///
    /// Neither whether the list was loaded nor their index in the previous list makes a difference.
    func testMembersAddedThroughTheInverseAreAppended() throws {
        let model = try GraphTestCase.company()
        let coordinator = try Coordinator(model: model)
        try coordinator.addSQLiteStore(at: folder + "/order.sqlite")
        let contexts = (0..<6).map { _ in Context(coordinator: coordinator) }
        for (round, isReadBefore) in [true, false].enumerated() {
            let (context, second, third) = (contexts[3 * round], contexts[3 * round + 1], contexts[3 * round + 2])
            let (project, old) = (try context.insert("Project"), try context.insert("Project"))
            for title in ["a", "b", "c"] { try project.add(context.insert("Task", ["title": title]), to: "tasks") }
            let moving = try context.insert("Task", ["title": "d", "project": old])
            let free = try context.insert("Task", ["title": "e"])
            try context.save()
            let mine = try second.object(with: project.objectID)
            if isReadBefore { _ = try mine.members("tasks") }
            for task in [moving, free] { try second.object(with: task.objectID).set("project", mine) }
            try second.save()
            func titles(_ object: ManagedObject) throws -> String {
                try object.members("tasks").map { try $0.get("title") ?? "" }.joined()
            }
            XCTAssertEqual(try titles(mine), "abcde")
            XCTAssertEqual(try titles(third.object(with: project.objectID)), "abcde")
        }
    }

    private func run(seed: UInt64, steps: Int) throws {
        let model = try GraphTestCase.company()
        var random = SplitMix(state: seed)
        let memory = try Coordinator(model: model)
        _ = try memory.add(MemoryStore(model: model))
        let sqlite = try Coordinator(model: model)
        let path = folder + "/\(seed).sqlite"
        try sqlite.addSQLiteStore(at: path)
        let whole = try Coordinator(model: model)
        // The types of atomic stores alternate.
        let type = [StoreType.inMemory, .xml, .binary][Int(seed % 3)]
        try whole.addStore(type, at: folder + "/\(seed).\(type.rawValue)")
        let sides = [Side(memory), Side(sqlite), Side(whole)]
        for step in 0..<steps {
            let (kind, a, b, number) = (random.next() % 20, random.next(), random.next(), random.next())
            for side in sides { try side.apply(Int(kind), Int(a >> 1), Int(b >> 1), Int(number % 1000)) }
            let shown = try sides[0].dump()
            for (name, side) in zip(["SQLite", type.rawValue], sides.dropFirst()) {
                XCTAssertEqual(shown, try side.dump(), "\(name), seed \(seed) step \(step) change \(kind)")
            }
            if kind >= 18 {
                XCTAssertEqual(
                    try Side.stored(memory), try Side.stored(whole), "\(type.rawValue), seed \(seed) step \(step)")
                if type != .inMemory {
                    try whole.remove(XCTUnwrap(whole.stores.first))
                    try whole.addStore(type, at: folder + "/\(seed).\(type.rawValue)")
                    XCTAssertEqual(
                        try Side.stored(memory), try Side.stored(whole),
                        "\(type.rawValue) again, seed \(seed) step \(step)")
                }
                XCTAssertEqual(try Side.stored(memory), try Side.stored(sqlite), "stored, seed \(seed) step \(step)")
                let reopened = try Coordinator(model: model)
                try sqlite.remove(XCTUnwrap(sqlite.stores.first))
                try reopened.addSQLiteStore(at: path)
                XCTAssertEqual(
                    try Side.stored(memory), try Side.stored(reopened), "reopened, seed \(seed) step \(step)")
                try reopened.remove(XCTUnwrap(reopened.stores.first))
                try sqlite.addSQLiteStore(at: path)
                try sides[1].reload()
                try sides[0].reload()
                try sides[2].reload()
            }
            if testRun?.hasSucceeded == false { return }
        }
    }
}

private struct SplitMix {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

/// One context over one store, driven by numbers.
private final class Side {
    private let coordinator: Coordinator
    private var context: Context
    private var serial = 0

    init(_ coordinator: Coordinator) {
        self.coordinator = coordinator
        context = Context(coordinator: coordinator)
    }

    func reload() throws { context = Context(coordinator: coordinator) }

    private func all(_ entity: String, _ context: Context) throws -> [ManagedObject] {
        try context.fetch(entity, sort: [entity == "Project" || entity == "Task" ? "title" : "name"])
    }

    private func pick(_ entity: String, _ number: Int) throws -> ManagedObject? {
        let objects = try all(entity, context)
        return objects.isEmpty ? nil : objects[number % objects.count]
    }

    private func name() -> String {
        serial += 1
        return String(format: "n%05d", serial)
    }

    func apply(_ kind: Int, _ a: Int, _ b: Int, _ number: Int) throws {
        switch kind {
        case 0, 1: try context.insert("Employee", ["name": name(), "age": number])
        case 2: try context.insert("Manager", ["name": name(), "level": number % 100])
        case 3: try context.insert("Department", ["name": name()])
        case 4: try context.insert("Project", ["title": name()])
        case 5: try context.insert("Task", ["title": name()])
        case 6: try pick("Employee", a)?.set("department", pick("Department", b))
        case 7: try pick("Employee", a)?.set("spouse", number % 4 == 0 ? nil : pick("Employee", b))
        case 8, 9:
            if let employee = try pick("Employee", a), let project = try pick("Project", b) {
                try number % 3 == 0 ? employee.remove(project, from: "projects") : employee.add(project, to: "projects")
            }
        case 10:
            if let one = try pick("Employee", a), let two = try pick("Employee", b) {
                try number % 3 == 0 ? one.remove(two, from: "friends") : one.add(two, to: "friends")
            }
        case 11:
            if let project = try pick("Project", a), let task = try pick("Task", b) {
                let count = try project.memberCount("tasks")
                let isMember = try project.members("tasks").contains { $0 === task }
                try project.insert(task, at: number % (isMember ? max(count, 1) : count + 1), in: "tasks")
            }
        case 12: if let task = try pick("Task", a) { try task.set("project", pick("Project", b)) }
        case 13: try pick("Employee", a)?.set("age", number)
        case 14:
            if let object = try pick(["Employee", "Project", "Department", "Task"][number % 4], a) {
                try context.delete(object)
            }
        case 15: if number % 5 == 0 { try context.rollback() }
        case 16:
            if let department = try pick("Department", a) {
                try department.setMembers(all("Employee", context).filter { $0.hashValueOfName(b) }, of: "employees")
            }
        case 17: try context.processPendingChanges()
        default: try context.save()
        }
    }

    func dump() throws -> [String] { try Side.dump(context) }

    static func stored(_ coordinator: Coordinator) throws -> [String] { try dump(Context(coordinator: coordinator)) }

    private static func dump(_ context: Context) throws -> [String] {
        func name(_ object: ManagedObject?) throws -> String {
            guard let object else { return "-" }
            return try object.get(object.entityName == "Project" || object.entityName == "Task" ? "title" : "name")
                ?? "nil"
        }
        var lines: [String] = []
        for object in try context.fetch("Employee") {
            let friends = try object.members("friends").map { try name($0) }.sorted()
            let projects = try object.members("projects").map { try name($0) }.sorted()
            let age = try object.get("age", as: Int.self).map { "\($0)" } ?? "nil"
            lines.append(
                "\(object.entityName) \(try name(object)) \(age) in \(try name(object.get("department"))) "
                    + "with \(try name(object.get("spouse"))) knows \(friends) on \(projects)")
        }
        for object in try context.fetch("Department") {
            lines.append(
                "Department \(try name(object)) \(try object.members("employees").map { try name($0) }.sorted())")
        }
        for object in try context.fetch("Project") {
            let staff = try object.members("members").map { try name($0) }.sorted()
            lines.append("Project \(try name(object)) \(staff) \(try object.members("tasks").map { try name($0) })")
        }
        for object in try context.fetch("Task") {
            lines.append("Task \(try name(object)) of \(try name(object.get("project")))")
        }
        return lines.sorted()
    }
}

extension ManagedObject {
    fileprivate func hashValueOfName(_ number: Int) -> Bool {
        let text = (try? get("name", as: String.self)) ?? ""
        return (text.utf8.reduce(0) { $0 &* 31 &+ Int($1) } &+ number) % 3 == 0
    }
}
