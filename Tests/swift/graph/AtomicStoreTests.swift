import Corestone
import XCTest

/// An atomic store of the application, in Swift. It keeps rows in dictionaries by path, as files would.
final class AtomicStoreTests: XCTestCase {
    /// The rows of one path.
    private struct Shelf {
        struct Row {
            let entity: String
            let version: Int64
            let values: [String: PropertyValue]
            let targets: [String: (entity: String, reference: StoreReference)]
            let members: [String: [(entity: String, reference: StoreReference)]]
        }
        var rows: [StoreReference: Row] = [:]
        var metadata: [String: PropertyListValue] = [:]
    }

    private final class ShelfStore: AtomicStore, @unchecked Sendable {
        nonisolated(unsafe) static var shelves: [String: Shelf] = [:]
        let opening: StoreOpening
        var loads = 0
        var failure: (any Error)?
        var conflict = false
        var lastRequest: SaveChangesRequest?

        init(_ opening: StoreOpening) throws { self.opening = opening }

        private var shelf: Shelf? { ShelfStore.shelves[opening.path] }
        var metadata: [String: PropertyListValue] { shelf?.metadata ?? opening.metadata.dictionary }

        func load() throws -> [StoreNode] {
            loads += 1
            func entity(_ name: String) throws -> Entity { try opening.model.requireEntity(named: name) }
            return try (shelf?.rows ?? [:]).map { reference, row in
                var values = row.values
                for (name, members) in row.members { values[name] = .array(members.map(\.reference.value)) }
                let node = StoreNode(try entity(row.entity), reference, values, version: row.version)
                for (name, target) in row.targets { node.targets[name] = try entity(target.entity) }
                return node
            }
        }

        func save(_ request: SaveChangesRequest) throws -> [StoreNode] {
            lastRequest = request
            if let failure { throw failure }
            if conflict, let row = request.updated.first?.row {
                try request.addConflict(row)
                return []
            }
            var new = Shelf()
            new.metadata = request.metadata ?? metadata
            try request.forEachRow { row, members in
                new.rows[row.row.reference] = Shelf.Row(
                    entity: row.row.entity.name, version: row.version, values: row.values,
                    targets: row.targets.mapValues { ($0.entity.name, $0.reference) },
                    members: members.mapValues { $0.map { ($0.entity.name, $0.reference) } })
            }
            ShelfStore.shelves[opening.path] = new
            return []
        }

        private var last = 0
        func references(for objects: [NewObject]) throws -> [StoreReference]? {
            objects.map { object in
                last += 1
                return .text("\(object.entity.name)-\(UUIDValue.random())-\(last)")
            }
        }

        static func destroyStore(at path: String) throws -> Bool { shelves.removeValue(forKey: path) != nil }
    }

    private let typeName = "Shelf \(UUID().uuidString)"
    private var type = StoreType.sqlite
    /// The opened stores, in order.
    private var stores: [ShelfStore] { kept.withLock { $0 } }
    private let kept = Locked<[ShelfStore]>([])

    override func setUpWithError() throws {
        let kept = kept
        type = try StoreTypes.register(typeName, ShelfStore.self) { opening in
            let store = try ShelfStore(opening)
            kept.withLock { $0.append(store) }
            return store
        }
    }

    override func tearDownWithError() throws {
        try StoreTypes.unregister(typeName)
        ShelfStore.shelves = [:]
    }

    private func model() throws -> Model {
        let model = Model()
        let person = try model.addEntity(named: "Person")
        try person.addAttribute(named: "name", type: .string, isOptional: false)
        try person.addAttribute(named: "age", type: .integer32)
        try person.addAttribute(named: "photo", type: .binary)
        try person.addUniqueConstraint(["name"])
        let team = try model.addEntity(named: "Team")
        try team.addAttribute(named: "title", type: .string)
        let members = try team.addRelationship(named: "members", destination: person, isToMany: true, isOrdered: true)
        let home = try person.addRelationship(named: "team", destination: team)
        try members.setInverse(home)
        let friends = try person.addRelationship(named: "friends", destination: person, isToMany: true)
        try friends.setInverse(friends)
        return model
    }

    private func opened(_ path: String = "shelf") throws -> (Context, Store) {
        let coordinator = try Coordinator(model: model())
        let store = try coordinator.addStore(type, at: path)
        return (Context(coordinator: coordinator), store)
    }

    private func fill(_ context: Context) throws {
        let team = try context.insert("Team", ["title": "Red"])
        var people: [ManagedObject] = []
        for (name, age) in [("Ada", 36), ("Bea", 41), ("Cid", 7)] {
            people.append(try context.insert("Person", ["name": name, "age": age]))
        }
        for person in [people[2], people[0], people[1]] { try team.add(person, to: "members") }
        try people[0].add(people[1], to: "friends")
        try people[0].set("photo", [0, 255, 7] as [UInt8])
        try context.save()
    }

    private func picture(_ context: Context) throws -> [String] {
        let teams = try context.fetch("Team").map { team in
            "\(try team.get("title", as: String.self) ?? "-"): "
                + (try team.members("members").map { try $0.get("name", as: String.self) ?? "-" }).joined(
                    separator: " ")
        }
        let people = try context.fetch("Person", sort: ["name"]).map { person in
            let friends = try person.members("friends").map { try $0.get("name", as: String.self) ?? "-" }.sorted()
            let team = try person.get("team", as: ManagedObject.self)?.get("title", as: String.self) ?? "-"
            return
                "\(try person.get("name", as: String.self) ?? "-") \(try person.get("age", as: Int.self) ?? -1) \(team) \(friends)"
                + " \(try person.get("photo", as: [UInt8].self)?.count ?? 0)"
        }
        return teams + people
    }

    private func failure(_ body: () throws -> Void, line: UInt = #line) -> CoreError {
        do { try body() } catch let error as CoreError { return error } catch { XCTFail("\(error)", line: line) }
        XCTFail("nothing failed", line: line)
        return CoreError(.internal, "")
    }

    func testAtomicStoreLoadsTheSavedRows() throws {
        let (context, store) = try opened()
        XCTAssertEqual(store.type, type)
        try fill(context)
        let shown = try picture(context)
        XCTAssertEqual(
            shown, ["Red: Cid Ada Bea", "Ada 36 Red [\"Bea\"] 3", "Bea 41 Red [\"Ada\"] 0", "Cid 7 Red [] 0"])
        let (other, again) = try opened()
        XCTAssertEqual(again.identifier, store.identifier)
        XCTAssertEqual(try picture(other), shown)
        XCTAssertEqual(stores.map(\.loads), [1, 1])
        XCTAssertEqual(try other.fetch("Person", "age > 10 AND ANY friends.name == 'Ada'").count, 1)
    }

    func testChangesAndDeletionsReachTheStore() throws {
        let (context, _) = try opened()
        try fill(context)
        let ada = try XCTUnwrap(try context.fetch("Person", "name == 'Ada'").first)
        let cid = try XCTUnwrap(try context.fetch("Person", "name == 'Cid'").first)
        try ada.set("age", 37)
        try context.delete(cid)
        try context.save()
        let request = try XCTUnwrap(stores[0].lastRequest)
        XCTAssertEqual(request.inserted.count, 0)
        XCTAssertTrue(request.updated.contains { $0.changed == ["age"] && $0.values["age"] == .int(37) })
        XCTAssertEqual(request.deleted.map(\.row.entity.name), ["Person"])
        let (other, _) = try opened()
        XCTAssertEqual(try picture(other), try picture(context))
        XCTAssertEqual(try other.fetch("Person").count, 2)
    }

    /// A request lists its rows during the save only. A store that keeps it gets an error afterwards.
    func testSaveRequestListsItsRowsDuringTheSaveOnly() throws {
        let (context, _) = try opened()
        try fill(context)
        let request = try XCTUnwrap(stores[0].lastRequest)
        let error = failure { try request.forEachRow { _, _ in } }
        XCTAssertEqual(error.status, .invalidArgument)
    }

    func testSaveIsRolledBackWhenTheStoreRefusesIt() throws {
        struct Full: Error {}
        let (context, _) = try opened()
        try fill(context)
        let before = ShelfStore.shelves["shelf"]?.rows.count
        stores[0].failure = Full()
        let ada = try XCTUnwrap(try context.fetch("Person", "name == 'Ada'").first)
        try ada.set("age", 99)
        try context.insert("Person", ["name": "Dan"])
        let error = failure { try context.save() }
        XCTAssertEqual(error.status, .callback)
        XCTAssertTrue(error.message.contains("shelf"), error.message)
        XCTAssertEqual(error.children.count, 1)
        XCTAssertTrue(context.hasChanges)
        XCTAssertEqual(ShelfStore.shelves["shelf"]?.rows.count, before)
        let second = Context(coordinator: context.coordinator)
        XCTAssertEqual(try second.fetch("Person", "age == 99").count, 0)
        XCTAssertEqual(try second.fetch("Person").count, 3)
        stores[0].failure = nil
        try context.save()
        XCTAssertEqual(try Context(coordinator: context.coordinator).fetch("Person").count, 4)
    }

    func testLibraryChecksUniqueConstraintsOfAtomicStores() throws {
        let (context, _) = try opened()
        try fill(context)
        try context.insert("Person", ["name": "Ada"])
        let error = failure { try context.save() }
        XCTAssertEqual(error.status, .conflict)
        XCTAssertEqual(ShelfStore.shelves["shelf"]?.rows.count, 4)
    }

    func testConflictReportedByTheStoreFailsTheSave() throws {
        let (context, _) = try opened()
        try fill(context)
        stores[0].conflict = true
        let ada = try XCTUnwrap(try context.fetch("Person", "name == 'Ada'").first)
        try ada.set("age", 50)
        let error = failure { try context.save() }
        XCTAssertEqual(error.status, .conflict)
        XCTAssertEqual(error.code, 133020)
        stores[0].conflict = false
        try context.save()
        let (other, _) = try opened()
        XCTAssertEqual(try other.fetch("Person", "age == 50").count, 1)
    }

    func testInvalidValueIsNamedWhenLoadingFails() throws {
        ShelfStore.shelves["shelf"] = Shelf(rows: [
            .text("a"): Shelf.Row(
                entity: "Person", version: 1, values: ["name": .string("A"), "age": .string("old")], targets: [:],
                members: [:])
        ])
        let error = failure { _ = try opened() }
        XCTAssertEqual([error.entity, error.key], ["Person", "age"])
        XCTAssertTrue(error.message.contains("shelf") && error.value == .string("old"), error.message)
    }

    func testMigrationToAnAtomicStoreAndBackKeepsTheObjects() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let coordinator = try Coordinator(model: model())
        let sqlite = try coordinator.addStore(.sqlite, at: folder + "/a.sqlite")
        try fill(Context(coordinator: coordinator))
        let shown = try picture(Context(coordinator: coordinator))
        let shelf = try coordinator.migrateStore(sqlite, to: type, at: "there")
        XCTAssertEqual(try picture(Context(coordinator: coordinator)), shown)
        _ = try coordinator.migrateStore(shelf, to: .sqlite, at: folder + "/b.sqlite")
        XCTAssertEqual(try picture(Context(coordinator: coordinator)), shown)
        let (other, _) = try opened("there")
        XCTAssertEqual(try picture(other), shown)
        XCTAssertTrue(try coordinator.destroyStore(type, at: "there"))
        XCTAssertNil(ShelfStore.shelves["there"])
    }
}
