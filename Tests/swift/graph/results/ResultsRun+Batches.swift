import Corestone
import CorestoneValues
import GraphSteps
import XCTest

/// The store of a run: dictionaries, or a file into which a second coordinator also writes, as another process would.
final class ResultsRunStore {
    let coordinator: Coordinator
    /// nil without a file.
    private(set) var there: Coordinator?
    private var folder: String?
    /// The number of remote changes that the coordinator reported.
    private let writes = Locked(0)
    private var token: Observation?

    init(isFile: Bool, keepsHistory: Bool) throws {
        coordinator = try Coordinator(model: ResultsRunStore.model())
        guard isFile else {
            _ = try coordinator.add(MemoryStore(model: coordinator.model))
            return
        }
        let folder = NSTemporaryDirectory() + "corestone-\(UUID().uuidString)"
        self.folder = folder
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        var options = StoreOptions()
        (options.normalSync, options.keepsHistory) = (true, keepsHistory)
        try coordinator.addSQLiteStore(at: folder + "/a.sqlite", options: options)
        let there = try Coordinator(model: ResultsRunStore.model())
        try there.addSQLiteStore(at: folder + "/a.sqlite", options: options)
        self.there = there
        token = coordinator.observe(.remoteChange) { [writes] _, _ in writes.withLock { $0 += 1 } }
    }

    deinit { if let folder { try? FileManager.default.removeItem(atPath: folder) } }

    private static func model() throws -> Model {
        let model = Model()
        let group = try model.addEntity(named: "Group")
        try group.addAttribute(named: "name", type: .string)
        let tag = try model.addEntity(named: "Tag")
        try tag.addAttribute(named: "name", type: .string)
        let item = try model.addEntity(named: "Item")
        try item.addAttribute(named: "name", type: .string)
        try item.addAttribute(named: "team", type: .string)
        try item.addAttribute(named: "rank", type: .integer32)
        try item.addAttribute(named: "flag", type: .boolean).setDefaultValue(.bool(true))
        try model.addEntity(named: "Special").setParent(item)
        for (name, other, isToMany) in [("group", group, false), ("tags", tag, true)] {
            let there = try item.addRelationship(named: name, destination: other, isToMany: isToMany)
            try there.setInverse(other.addRelationship(named: "items", destination: item, isToMany: true))
        }
        return model
    }

    /// Runs `body`, which writes into the file through the second coordinator, and waits until the first is notified.
    func writingThere(_ body: () throws -> Bool) throws {
        let before = writes.withLock { $0 }
        guard try body() else { return }
        let start = Date()
        while writes.withLock({ $0 }) == before {
            if Date().timeIntervalSince(start) > 60 {
                return XCTFail("the remote change was not reported")
            }
            usleep(200)
        }
    }
}

extension ResultsRun {
    /// A batch request, which bypasses the contexts: of one of them, or of another coordinator.
    func runBatch() throws {
        if dice.chance(40) { try context.save() }
        guard let far, dice.chance(40) else { return _ = try batch(dice.chance(50) ? context : other) }
        try store.writingThere { try batch(far) }
    }

    /// Executes a random batch request. Returns whether it changed any row.
    private func batch(_ context: Context) throws -> Bool {
        let model = context.coordinator.model
        let item = try model.requireEntity(named: "Item"), group = try model.requireEntity(named: "Group")
        let tag = try model.requireEntity(named: "Tag")
        let predicate = try Predicate.parse(
            dice.pick(["rank == \(dice.below(12))", "team == 'a'", "name == 'x'", "flag == NO", "group.name == 'g1'"]))
        func fetch(_ entity: Entity, _ predicate: Predicate) -> FetchRequest {
            FetchRequest(entity: entity, predicate: predicate)
        }
        let request: BatchRequest
        switch dice.below(9) {
        case 0, 1:
            let rows: [[String: PropertyValue]] = (0...dice.below(3)).map { _ in
                [
                    "team": .string(dice.pick(["a", "b", "f"])), "rank": .int(Int64(dice.below(12))),
                    "name": .string("new"),
                ]
            }
            request = BatchInsertRequest(entity: item, rows: rows)
        case 2:
            request = BatchUpdateRequest(
                entity: item, predicate: predicate, propertiesToUpdate: ["rank": .integer(Int64(dice.below(12)))])
        case 3:
            request = BatchUpdateRequest(
                entity: item, predicate: predicate, propertiesToUpdate: ["team": .string(dice.pick(["a", "c", "g"]))])
        case 4:
            request = BatchUpdateRequest(
                entity: group, predicate: try Predicate.parse("name == 'g\(dice.below(4))'"),
                propertiesToUpdate: ["name": .string("g\(dice.below(4))")])
        case 5...7: request = BatchDeleteRequest(fetchRequest: fetch(item, predicate))
        default:
            request = BatchDeleteRequest(
                fetchRequest: dice.chance(50)
                    ? fetch(group, try Predicate.parse("name == 'g\(dice.below(4))'"))
                    : fetch(tag, try Predicate.parse("name == 't\(dice.below(3))'")))
        }
        request.resultType = .count
        let count = try context.execute(request).count
        if isTraced {
            print(
                "batch of", request.entity?.name ?? "?", type(of: request), context === far ? "there" : "here", count,
                predicate
            )
        }
        return count > 0
    }
}
