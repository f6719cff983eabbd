import Corestone
import XCTest

/// Merging of batch changes into open contexts.
final class BatchMergeTests: BatchTestCase {
    private func update(_ predicate: String?, _ settings: [String: Expression], merges: Bool = true) throws {
        let request = BatchUpdateRequest(
            entity: try entity("Employee"), predicate: try predicate.map { try Predicate.parse($0) },
            propertiesToUpdate: settings)
        request.mergesIntoContexts = merges
        _ = try context.execute(request)
    }

    private func delete(_ predicate: String) throws {
        let fetch = FetchRequest(entity: try entity("Employee"), predicate: try Predicate.parse(predicate))
        _ = try context.execute(BatchDeleteRequest(fetchRequest: fetch))
    }

    func testBatchChangesAreMergedIntoCleanObjects() throws {
        try hire([("Ada", 1), ("Bea", 2)])
        let second = Context(coordinator: coordinator)
        let mine = try context.fetch("Employee", sort: ["name"])
        let theirs = try second.fetch("Employee", sort: ["name"])
        for object in mine + theirs { _ = try object.get("age", as: Int.self) }
        try update("name == 'Ada'", ["age": .integer(9)])
        XCTAssertEqual(try (mine + theirs).map { try $0.get("age", as: Int.self) }, [9, 2, 9, 2])
        try delete("name == 'Bea'")
        XCTAssertTrue(mine[1].isDeleted)
        XCTAssertTrue(theirs[1].isDeleted)
        try second.save()
        XCTAssertEqual(try people(), ["Ada 9"])
    }

    func testMergingOfBatchChangesCanBeDisabled() throws {
        try hire([("Ada", 1)])
        let (second, third) = (Context(coordinator: coordinator), Context(coordinator: coordinator))
        second.automaticallyMergesBatchChanges = false
        let objects = try [context!, second, third].map { try $0.fetch("Employee")[0] }
        for object in objects { _ = try object.get("age", as: Int.self) }
        try update(nil, ["age": .integer(2)])
        XCTAssertEqual(try objects.map { try $0.get("age", as: Int.self) }, [2, 1, 2])
        try update(nil, ["age": .integer(3)], merges: false)
        XCTAssertEqual(try objects.map { try $0.get("age", as: Int.self) }, [2, 1, 2])
        let request = BatchUpdateRequest(entity: try entity("Employee"), propertiesToUpdate: ["age": .integer(4)])
        request.mergesIntoContexts = false
        request.resultType = .objectIDs
        let result = try context.execute(request)
        try Context.mergeChanges(
            fromRemoteContextSave: ["updated": result.objectIDs.map { .id($0) }], into: [second])
        XCTAssertEqual(try objects.map { try $0.get("age", as: Int.self) }, [2, 4, 2])
    }

    func testUnsavedChangesConflictWithBatchChangesOfTheSameProperty() throws {
        try hire([("Ada", 1), ("Bea", 2), ("Cleo", 3)])
        let second = Context(coordinator: coordinator)
        let theirs = try second.fetch("Employee", sort: ["name"])
        try theirs[0].set("name", "Alicia")
        try theirs[1].set("age", 22)
        try theirs[2].set("age", 33)
        try update("age < 3", ["age": try Expression.parse("age + 10")])
        XCTAssertEqual(try theirs[0].get("name"), "Alicia")
        XCTAssertEqual(try theirs[0].get("age"), 11, "a change of another property is applied to the new row")
        XCTAssertEqual(try theirs[1].get("age"), 22)
        try delete("name == 'Cleo'")
        XCTAssertFalse(theirs[2].isDeleted)
        let error = failure { try second.save() }
        XCTAssertEqual(error.code, error.children.isEmpty ? 133020 : error.code)
        XCTAssertEqual(Set(error.conflicts.flatMap(\.objectIDs)), [theirs[1].objectID, theirs[2].objectID])
        XCTAssertEqual(try people(), ["Ada 11", "Bea 12"])
        second.mergePolicy = .storeTrump
        try second.save()
        XCTAssertEqual(try people().prefix(2), ["Alicia 11", "Bea 12"])
    }

    func testObserversAreNotifiedOfBatchChanges() throws {
        try hire([("Ada", 1), ("Bea", 2)])
        var heard: [ContextChanges] = []
        let second = Context(coordinator: coordinator)
        let token = second.observe(.objectsDidChange) { heard.append($1) }
        defer { token.cancel() }
        let theirs = try second.fetch("Employee", sort: ["name"])
        _ = try theirs.map { try $0.get("age", as: Int.self) }
        try hire([("Cleo", 3)])
        XCTAssertEqual(try heard.flatMap(\.inserted).map { try $0.get("name") }, ["Cleo"])
        heard = []
        try update("name == 'Ada'", ["age": .integer(9)])
        XCTAssertTrue(heard.flatMap(\.refreshed).contains { $0 === theirs[0] })
        heard = []
        try delete("name == 'Bea'")
        XCTAssertTrue(heard.flatMap(\.deleted).contains { $0 === theirs[1] })
        heard = []
        try update("name == 'nobody'", ["age": .integer(9)])
        XCTAssertTrue(heard.isEmpty)
    }

    func testLiveQueryIncludesBatchChanges() throws {
        try hire([("Ada", 1), ("Bea", 2), ("Cleo", 30)])
        let second = Context(coordinator: coordinator)
        let request = FetchRequest(
            entity: try entity("Employee"), predicate: try Predicate.parse("age < 10"),
            sortDescriptors: [SortDescriptor("name")])
        var names: [[String]] = []
        let token = try second.observe(request) { context, _, _ in
            names.append((try? context.fetch(request).map { try $0.get("name") ?? "" }) ?? [])
        }
        defer { token.cancel() }
        XCTAssertEqual(names, [["Ada", "Bea"]])
        try hire([("Abe", 3)])
        XCTAssertEqual(names.last, ["Abe", "Ada", "Bea"])
        try update("name == 'Cleo'", ["age": .integer(5)])
        XCTAssertEqual(names.last, ["Abe", "Ada", "Bea", "Cleo"], "a row that was not registered in the context")
        try update("name == 'Ada'", ["age": .integer(50)])
        XCTAssertEqual(names.last, ["Abe", "Bea", "Cleo"])
        try delete("name == 'Bea'")
        XCTAssertEqual(names.last, ["Abe", "Cleo"])
    }

    func testBatchChangesAreMergedIntoChildrenAndQueues() throws {
        try hire([("Ada", 1)])
        let parent = Context(coordinator: coordinator, queue: .privateQueue)
        let child = Context(parent: parent, queue: .privateQueue)
        let object = try child.performAndWait { try $0.fetch("Employee")[0] }
        XCTAssertEqual(try child.performAndWait { _ in try object.get("age", as: Int.self) }, 1)
        try update(nil, ["age": .integer(2)])
        try parent.performAndWait { _ in }
        XCTAssertEqual(try child.performAndWait { _ in try object.get("age", as: Int.self) }, 2)
    }

    /// A derived value that changes without a new row version and without an entry in the history.
    func testDerivedValuesChangedByAnotherCoordinatorsBatchAreMerged() throws {
        func model() throws -> Model {
            let model = Model()
            let (item, box) = (try model.addEntity(named: "Item"), try model.addEntity(named: "Box"))
            let inBox = try item.addRelationship(named: "box", destination: box)
            let items = try box.addRelationship(named: "items", destination: item, isToMany: true)
            try inBox.setInverse(items)
            try box.addAttribute(named: "number", type: .integer64)
            try box.addAttribute(named: "size", type: .integer64).setDerivation(
                Derivation(ExpressionText("items.@count")))
            return model
        }
        for keepsHistory in [false, true] {
            try open(model(), keepsHistory: keepsHistory)
            let box = try context.insert("Box", ["number": 1])
            for _ in 0..<2 { try context.insert("Item").set("box", box) }
            try context.save()
            let second = fresh()
            second.automaticallyMergesRemoteChanges = true
            let mine = try second.fetch("Box")[0]
            XCTAssertEqual(try mine.get("size"), 2)
            try mine.set("number", 5)
            let there = try Coordinator(model: model())
            var options = StoreOptions()
            options.keepsHistory = keepsHistory
            try there.addSQLiteStore(at: path, options: options)
            let items = FetchRequest(entity: try XCTUnwrap(there.model.entity(named: "Item")))
            _ = try Context(coordinator: there).execute(BatchDeleteRequest(fetchRequest: items))
            let end = Date(timeIntervalSinceNow: 60)
            while try mine.get("size") == 2, Date() < end {
                usleep(10000)
                try second.processPendingChanges()
            }
            XCTAssertEqual(try mine.get("size"), 0, "history \(keepsHistory)")
            XCTAssertEqual(try mine.get("number"), 5)
            try second.save()
            XCTAssertEqual(try fresh().fetch("Box")[0].get("size"), 0)
        }
    }

    func testPinnedContextDoesNotMergeBatchChanges() throws {
        try hire([("Ada", 1)])
        let second = Context(coordinator: coordinator)
        try second.setQueryGeneration(from: .current)
        let theirs = try second.fetch("Employee")[0]
        XCTAssertEqual(try theirs.get("age"), 1)
        try update(nil, ["age": .integer(2)])
        XCTAssertEqual(try theirs.get("age"), 1)
        XCTAssertEqual(try second.count("Employee", "age == 1"), 1)
        try second.setQueryGeneration(from: nil)
        try second.refreshAll()
        XCTAssertEqual(try theirs.get("age"), 2)
    }

    func testBatchDeleteRefreshesReferencesToDeletedRows() throws {
        let home = try context.insert("Department", ["name": "R&D"])
        let ada = try context.insert("Employee", ["name": "Ada", "department": home])
        try context.save()
        let second = Context(coordinator: coordinator)
        let theirs = try second.fetch("Employee")[0]
        XCTAssertNotNil(try theirs.get("department", as: ManagedObject.self))
        _ = try context.execute(BatchDeleteRequest(fetchRequest: FetchRequest(entity: try entity("Department"))))
        XCTAssertNil(try theirs.get("department", as: ManagedObject.self))
        XCTAssertNil(try ada.get("department", as: ManagedObject.self))
        try theirs.set("age", 3)
        try second.save()
    }

    func testBatchInsertMergesWhileContextsAreReleased() throws {
        for _ in 0..<200 {
            let one = Context(coordinator: coordinator)
            let two = Context(coordinator: coordinator, queue: .privateQueue)
            try hire([("x", 1)])
            _ = (one, two)
        }
        XCTAssertEqual(try context.count("Employee"), 200)
    }

    /// Random batches beside contexts with and without changes: saved values match a dictionary, so no update is lost.
    func testRandomBatchesAndOpenContextsMatchExpectedValues() throws {
        var random = SystemRandomNumberGenerator()
        for round in 0..<6 {
            round < 3 ? try open(GraphTestCase.company()) : try openMemory(GraphTestCase.company())
            try hire((0..<20).map { ("n\($0)", $0) })
            let second = Context(coordinator: coordinator)
            second.mergePolicy = round % 2 == 0 ? .storeTrump : .rollback
            var expected = Dictionary(uniqueKeysWithValues: (0..<20).map { ("n\($0)", Int($0)) })
            for _ in 0..<60 {
                let name = "n\(Int.random(in: 0..<20, using: &random))"
                switch Int.random(in: 0..<5, using: &random) {
                case 0:
                    try update("name == '\(name)'", ["age": try Expression.parse("age + 1")])
                    expected[name] = expected[name].map { $0 + 1 }
                case 1 where Int.random(in: 0..<6, using: &random) == 0:
                    // An object with unsaved changes would remain until its save finds the conflict.
                    try second.save()
                    try delete("name == '\(name)'")
                    expected[name] = nil
                case 2:
                    if expected[name] == nil {
                        try hire([(name, 5)])
                        expected[name] = 5
                    }
                case 3:
                    let objects = try second.fetch("Employee", "name == '\(name)'")
                    XCTAssertEqual(objects.count, expected[name] == nil ? 0 : 1)
                    guard let object = objects.first else { break }
                    XCTAssertEqual(try object.get("age"), expected[name])
                    try object.set("rating", Double.random(in: 0..<9, using: &random))
                default:
                    if Bool.random(using: &random) { try second.save() }
                }
            }
            try second.save()
            let found = try fresh().fetch("Employee").map {
                (try $0.get("name", as: String.self) ?? "", try $0.get("age", as: Int.self) ?? -1)
            }
            XCTAssertEqual(
                found.map { "\($0) \($1)" }.sorted(), expected.map { "\($0) \($1)" }.sorted(), "round \(round)")
            if round < 3 { XCTAssertEqual(try shell("PRAGMA integrity_check"), "ok") }
        }
    }
}
