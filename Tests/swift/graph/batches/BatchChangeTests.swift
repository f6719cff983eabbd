import Corestone
import XCTest

@testable import CorestoneGraph

/// Batch updates and deletions, in SQLite and in a store that leaves them to memory.
final class BatchChangeTests: BatchTestCase {
    /// Runs `body` over each kind of store.
    private func eachStore(_ body: (_ isMemory: Bool) throws -> Void) throws {
        for isMemory in [false, true] {
            try isMemory ? openMemory(GraphTestCase.company()) : open(GraphTestCase.company())
            try body(isMemory)
        }
    }

    private func update(
        _ predicate: String?, _ settings: [String: Expression], entity name: String = "Employee",
        includesSubentities: Bool = true
    ) throws -> Int {
        let request = BatchUpdateRequest(
            entity: try entity(name), predicate: try predicate.map { try Predicate.parse($0) },
            propertiesToUpdate: settings)
        request.includesSubentities = includesSubentities
        request.resultType = .count
        return try context.execute(request).count
    }

    func testBatchUpdateSetsConstantsAndExpressions() throws {
        try eachStore { _ in
            try hire([("Ada", 32), ("Bea", 25), ("Cleo", 41)])
            XCTAssertEqual(try update("age > 30", ["age": .integer(50), "rating": .constant(.double(2))]), 2)
            XCTAssertEqual(try people(), ["Ada 50", "Bea 25", "Cleo 50"])
            XCTAssertEqual(try update(nil, ["age": try Expression.parse("age + 1")]), 3)
            XCTAssertEqual(try people(), ["Ada 51", "Bea 26", "Cleo 51"])
            XCTAssertEqual(try update("name BEGINSWITH 'A'", ["name": try Expression.parse("uppercase(name)")]), 1)
            XCTAssertEqual(try update("name == 'nobody'", ["age": .integer(1)]), 0)
            XCTAssertEqual(try update("name == 'Bea'", ["age": .constant(.null)]), 1)
            XCTAssertEqual(try people(), ["ADA 51", "Bea -", "Cleo 51"])
            // All expressions are evaluated on the former row.
            XCTAssertEqual(
                try update(
                    "age != nil",
                    ["rating": try Expression.parse("age * 1.5"), "age": try Expression.parse("age - 51")]), 2)
            XCTAssertEqual(try fresh().fetch("Employee", "age == 0")[0].get("rating"), 76.5)
        }
    }

    func testBatchUpdateIncrementsVersions() throws {
        try hire([("Ada", 1)])
        _ = try update(nil, ["age": .integer(2)])
        _ = try update(nil, ["age": try Expression.parse("age + 1")])
        XCTAssertEqual(try shell("SELECT Z_OPT, ZAGE FROM ZPERSON"), "3|3")
    }

    func testBatchUpdateRefusesInvalidValues() throws {
        try eachStore { _ in
            try hire([("Ada", 32)])
            func fails(_ settings: [String: Expression], _ code: Int, _ key: String?, line: UInt = #line) throws {
                let error = failure({ _ = try update(nil, settings) }, line: line)
                XCTAssertEqual(error.code, code, error.message, line: line)
                XCTAssertEqual(error.key, key, error.message, line: line)
                XCTAssertEqual(try people(), ["Ada 32"], line: line)
            }
            try fails([:], 0, "properties")
            try fails(["agee": .integer(1)], 0, "agee")
            try fails(["age": .string("x")], 0, "age")
            try fails(["age": .integer(1 << 40)], 1610, "age")
            try fails(["age": try Expression.parse("age * 1000000000000")], 1610, "age")
            try fails(["name": .constant(.null)], 1570, "name")
            try fails(["name": try Expression.parse("nil")], 1570, "name")
            try fails(["department": .constant(.null)], 0, "department")
            try fails(["speed": .constant(.double(1))], 0, "speed")
            try fails(["age": try Expression.parse("nothing + 1")], 0, "nothing")
        }
    }

    func testBatchUpdateIncludesSubentitiesOnRequest() throws {
        try eachStore { _ in
            try hire([("Ada", 1)])
            _ = try context.execute(
                BatchInsertRequest(entity: entity("Manager"), rows: [["name": .string("Max"), "age": .int(1)]]))
            XCTAssertEqual(try update(nil, ["age": .integer(2)], includesSubentities: false), 1)
            XCTAssertEqual(try people(), ["Ada 2", "Max 1"])
            XCTAssertEqual(try update(nil, ["age": .integer(3)]), 2)
            XCTAssertEqual(try update(nil, ["level": .integer(4)], entity: "Manager"), 1)
            XCTAssertEqual(try people(), ["Ada 3", "Max 3"])
        }
    }

    func testBatchUpdateAppliesPredicatesThatAreEvaluatedInMemory() throws {
        try hire([("Ada", 32), ("Bea", 25)])
        let block = BatchUpdateRequest(entity: try entity("Employee"), propertiesToUpdate: ["age": .integer(1)])
        block.predicate = try Predicate.parse("FUNCTION(name, 'length') == 3 OR department.name == 'x'")
        block.predicate = try Predicate.parse("name MATCHES '.*e.*' AND department == nil")
        block.resultType = .objectIDs
        XCTAssertEqual(try context.execute(block).objectIDs.count, 1)
        XCTAssertEqual(try people(), ["Ada 32", "Bea 1"])
    }

    func testBatchUpdateKeepsUniqueConstraints() throws {
        let model = Model()
        let item = try model.addEntity(named: "Item")
        try item.addAttribute(named: "number", type: .integer64)
        try item.addUniqueConstraint(["number"])
        try open(model)
        _ = try context.execute(BatchInsertRequest(entity: item, rows: (1...5).map { ["number": .int($0)] }))
        let up = BatchUpdateRequest(entity: item, propertiesToUpdate: ["number": try Expression.parse("number + 1")])
        _ = try context.execute(up)
        XCTAssertEqual(try shell("SELECT group_concat(ZNUMBER) FROM ZITEM"), "2,3,4,5,6")
        let same = BatchUpdateRequest(entity: item, propertiesToUpdate: ["number": .integer(1)])
        let error = failure { _ = try context.execute(same) }
        XCTAssertEqual(error.code, 133021)
        XCTAssertEqual(error.key, "number")
        XCTAssertEqual(try shell("SELECT group_concat(ZNUMBER) FROM ZITEM"), "2,3,4,5,6")
    }

    // MARK: Deleting

    /// Two departments, projects with tasks, friends and spouses.
    private func fill() throws {
        let context = Context(coordinator: coordinator)
        let home = try context.insert("Department", ["name": "R&D"])
        let people = try ["Ada", "Bea", "Cleo", "Dan"].map {
            try context.insert("Employee", ["name": $0, "department": home])
        }
        try people[0].set("spouse", people[1])
        try people[0].add(people[2], to: "friends")
        try people[0].add(people[3], to: "friends")
        let projects = try ["one", "two"].map { try context.insert("Project", ["title": $0]) }
        for project in projects {
            for person in people { try project.add(person, to: "members") }
            for task in ["a", "b", "c"] { try project.add(context.insert("Task", ["title": task]), to: "tasks") }
        }
        try context.save()
    }

    private func delete(_ name: String, _ predicate: String?, limit: Int = 0, offset: Int = 0) throws -> Int {
        let fetch = FetchRequest(
            entity: try entity(name), predicate: try predicate.map { try Predicate.parse($0) },
            sortDescriptors: name == "Employee" ? [SortDescriptor("name")] : [], limit: limit, offset: offset)
        let request = BatchDeleteRequest(fetchRequest: fetch)
        request.resultType = .count
        return try context.execute(request).count
    }

    func testBatchDeleteAppliesDeleteRules() throws {
        try eachStore { isMemory in
            try fill()
            XCTAssertEqual(try delete("Employee", "name == 'Ada'"), 1)
            let later = fresh()
            XCTAssertNil(try later.fetch("Employee", "name == 'Bea'")[0].get("spouse", as: ManagedObject.self))
            XCTAssertEqual(try later.fetch("Project")[0].memberCount("members"), 3)
            XCTAssertEqual(try later.fetch("Employee", "name == 'Cleo'")[0].memberCount("friends"), 0)
            XCTAssertEqual(try delete("Project", "title == 'one'"), 4, "with its tasks")
            XCTAssertEqual(try context.count("Task"), 3)
            XCTAssertEqual(try fresh().fetch("Employee")[0].memberCount("projects"), 1)
            XCTAssertEqual(try delete("Department", nil), 1)
            XCTAssertEqual(try context.count("Employee", "department == nil"), 3)
            if isMemory { return }
            XCTAssertEqual(try shell("SELECT Z_OPT FROM ZPERSON WHERE ZNAME = 'Dan'"), "2")
            XCTAssertEqual(
                try shell("SELECT (SELECT count(*) FROM Z_3PROJECTS), (SELECT count(*) FROM Z_3FRIENDS)"), "3|0")
        }
    }

    func testBatchDeleteAppliesOrderLimitAndOffset() throws {
        try eachStore { _ in
            try hire([("d", 1), ("a", 2), ("c", 3), ("b", 4)])
            XCTAssertEqual(try delete("Employee", nil, limit: 2, offset: 1), 2)
            XCTAssertEqual(try people(), ["a 2", "d 1"])
        }
    }

    func testBatchDeleteRemovesTheRowsOfItsObjectIDs() throws {
        try eachStore { _ in
            try hire([("Ada", 1), ("Bea", 2), ("Cleo", 3)])
            let ids = try context.fetch("Employee", sort: ["name"]).map(\.objectID)
            let request = try BatchDeleteRequest(objectIDs: [ids[0], ids[2], ids[0]])
            request.resultType = .objectIDs
            XCTAssertEqual(Set(try context.execute(request).objectIDs), [ids[0], ids[2]])
            XCTAssertEqual(try context.execute(request).count, 0, "already deleted")
            XCTAssertEqual(try people(), ["Bea 2"])
            let department = try context.insert("Department", ["name": "x"])
            XCTAssertEqual(
                failure { _ = try BatchDeleteRequest(objectIDs: [department.objectID]) }.status, .invalidArgument)
            try context.save()
            let mixed = failure { _ = try BatchDeleteRequest(objectIDs: [ids[1], department.objectID]) }
            XCTAssertEqual(mixed.entity, "Department")
            XCTAssertEqual(failure { _ = try BatchDeleteRequest(objectIDs: []) }.status, .invalidArgument)
        }
    }

    func testBatchDeleteFailsWhenARuleDenies() throws {
        let model = try GraphTestCase.company()
        try (model.entity(named: "Department")?.ownRelationships[0])?.setDeleteRule(.deny)
        for isMemory in [false, true] {
            try isMemory ? openMemory(model) : open(model)
            try fill()
            let error = failure { _ = try delete("Department", nil) }
            XCTAssertEqual(error.code, 1600)
            XCTAssertEqual(error.key, "employees")
            XCTAssertEqual(try context.count("Department"), 1)
            XCTAssertEqual(try delete("Employee", nil), 4)
            XCTAssertEqual(try delete("Department", nil), 1)
        }
    }

    func testBatchDeleteFailsWhenItWouldNullifyARequiredRelationship() throws {
        let model = try GraphTestCase.company()
        try model.entity(named: "Employee")?.ownRelationships.first { $0.name == "department" }?.setOptional(false)
        for isMemory in [false, true] {
            try isMemory ? openMemory(model) : open(model)
            let home = try context.insert("Department", ["name": "R&D"])
            try context.insert("Employee", ["name": "Ada", "department": home])
            try context.save()
            let error = failure { _ = try delete("Department", nil) }
            XCTAssertEqual(error.code, 1570, error.message)
            XCTAssertEqual(error.key, "department")
            XCTAssertEqual(try context.count("Department"), 1)
        }
    }

    func testBatchDeleteErrorNamesTheEntityOfTheRow() throws {
        for isDenied in [false, true] {
            let model = try GraphTestCase.company()
            try model.entity(named: "Department")?.ownRelationships[0].setDeleteRule(isDenied ? .deny : .nullify)
            try model.entity(named: "Employee")?.ownRelationships.first { $0.name == "department" }?.setOptional(false)
            for isMemory in [false, true] {
                try isMemory ? openMemory(model) : open(model)
                let home = try context.insert("Department", ["name": "R&D"])
                let boss = try context.insert("Manager", ["name": "Ada", "department": home])
                try context.save()
                let error = failure { _ = try delete("Department", nil) }
                XCTAssertEqual(error.objectURI, boss.objectID.uri, error.message)
                XCTAssertTrue(error.message.contains(boss.objectID.uri), error.message)
            }
        }
    }

    // MARK: Stores

    func testBatchRequestFailsInAReadOnlyStore() throws {
        try hire([("Ada", 1)])
        coordinator = try Coordinator(model: GraphTestCase.company())
        var options = StoreOptions()
        options.isReadOnly = true
        try coordinator.addSQLiteStore(at: path, options: options)
        let reader = Context(coordinator: coordinator)
        let insert = BatchInsertRequest(entity: try entity("Employee"), rows: [["name": .string("x")]])
        XCTAssertEqual(failure { _ = try reader.execute(insert) }.status, .storeReadOnly)
        let delete = BatchDeleteRequest(fetchRequest: FetchRequest(entity: try entity("Employee")))
        XCTAssertEqual(failure { _ = try reader.execute(delete) }.status, .storeReadOnly)
    }

    func testHistoryRecordsEachBatchChange() throws {
        try open(GraphTestCase.company(), keepsHistory: true)
        context.transactionAuthor = "importer"
        try hire([("Ada", 1), ("Bea", 2)])
        _ = try update("name == 'Ada'", ["age": .integer(3)])
        _ = try update(nil, ["age": try Expression.parse("age + 1")])
        XCTAssertEqual(try delete("Employee", "name == 'Bea'"), 1)
        XCTAssertEqual(
            try shell("SELECT ZTRANSACTIONID, ZCHANGETYPE, ZENTITYPK, ZCOLUMNS IS NULL FROM ACHANGE ORDER BY Z_PK"),
            "1|0|1|1\n1|0|2|1\n2|1|1|0\n3|1|1|0\n3|1|2|0\n4|2|2|1")
        XCTAssertEqual(
            try shell(
                "SELECT group_concat(DISTINCT ZNAME) FROM ATRANSACTION t JOIN ATRANSACTIONSTRING s ON s.Z_PK = t.ZAUTHORTS"
            ),
            "importer")
    }

    // MARK: Many rows

    /// More rows than are in memory at a time, in each way of changing them.
    func testBatchRequestsHandleMoreRowsThanFitInMemory() throws {
        try eachStore { _ in
            try hire((1...1100).map { ("n\($0)", Int64($0)) })
            XCTAssertEqual(try update("age > 50", ["age": try Expression.parse("age + 10000")]), 1050)
            XCTAssertEqual(try fresh().count("Employee", "age > 10050"), 1050)
            XCTAssertEqual(try fresh().count("Employee", "age <= 50"), 50)
            XCTAssertEqual(try update(nil, ["rating": .constant(.double(5))]), 1100)
            XCTAssertEqual(try fresh().count("Employee", "rating == 5"), 1100)
            let ids = try fresh().fetch("Employee", "age > 10050").map(\.objectID)
            let request = try BatchDeleteRequest(objectIDs: Array(ids[..<1040]))
            request.resultType = .objectIDs
            let result: BatchResult = try context.execute(request)
            XCTAssertEqual(Set(result.objectIDs), Set(ids[..<1040]))
            XCTAssertEqual(result.count, 1040)
            XCTAssertEqual(try fresh().count("Employee"), 60)
            XCTAssertEqual(try delete("Employee", nil), 60)
        }
    }

    /// Deleting the owner of many members cascades to them, or nullifies their references to it.
    func testBatchDeleteUpdatesManyMembersOfADeletedOwner() throws {
        try eachStore { _ in
            let writer = fresh()
            let home = try writer.insert("Department", ["name": "R&D"])
            let project = try writer.insert("Project", ["title": "big"])
            for number in 0..<600 {
                _ = try writer.insert("Employee", ["name": "n\(number)", "department": home])
                _ = try writer.insert("Task", ["title": "t\(number)", "project": project])
            }
            try writer.save()
            XCTAssertEqual(try delete("Project", nil), 601, "with its tasks")
            XCTAssertEqual(try fresh().count("Task"), 0)
            let fetch = FetchRequest(entity: try entity("Department"))
            let request = BatchDeleteRequest(fetchRequest: fetch)
            request.resultType = .objectIDs
            let result: BatchResult = try context.execute(request)
            XCTAssertEqual(result.changes.deleted, [home.objectID])
            XCTAssertEqual(result.changes.refreshed.count, 600)
            XCTAssertEqual(Set(result.changes.refreshed.map(\.entity.name)), ["Employee"])
            XCTAssertEqual(try fresh().count("Employee", "department == nil"), 600)
        }
    }

    // MARK: Results and refusals

    func testBatchResultMatchesItsResultType() throws {
        try eachStore { _ in
            try hire([("Ada", 1), ("Bea", 2)])
            let request = BatchUpdateRequest(entity: try entity("Employee"), propertiesToUpdate: ["age": .integer(3)])
            XCTAssertEqual(request.resultType, .statusOnly)
            XCTAssertTrue(request.includesSubentities && request.mergesIntoContexts)
            XCTAssertNil(request.predicate)
            for type in BatchRequest.ResultType.allCases {
                request.resultType = type
                let result: BatchResult = try context.execute(request)
                XCTAssertEqual(result.resultType, type)
                XCTAssertEqual(result.count, 2)
                XCTAssertEqual(result.objectIDs.count, type == .objectIDs ? 2 : 0)
                XCTAssertEqual(result.changes.updated, result.objectIDs)
                XCTAssertEqual(result.changes.inserted + result.changes.deleted + result.changes.refreshed, [])
                switch try context.execute(request as PersistentStoreRequest) {
                case .objectIDs(let ids): XCTAssertEqual([type == .objectIDs ? 2 : -1], [ids.count])
                case .count(let count): XCTAssertEqual([type == .objectIDs ? -1 : 2], [count])
                default: XCTFail("another kind of result")
                }
            }
            let insertion = BatchInsertRequest(entity: try entity("Employee"), rows: [["name": .string("Cleo")]])
            insertion.resultType = .objectIDs
            let inserted: BatchResult = try context.execute(insertion)
            XCTAssertEqual(inserted.changes, ChangedIDs(inserted: inserted.objectIDs))
            XCTAssertEqual(inserted.objectIDs.count, 1)
            let deletion = try BatchDeleteRequest(objectIDs: inserted.objectIDs)
            deletion.resultType = .objectIDs
            let deleted: BatchResult = try context.execute(deletion)
            XCTAssertEqual(deleted.changes, ChangedIDs(deleted: inserted.objectIDs))
            XCTAssertEqual([insertion, request, deletion].map(\.requestType), [5, 6, 7])
        }
    }

    func testBatchRequestFailsForUnknownEntitiesAndWrongThreads() throws {
        let others = try GraphTestCase.company()
        let foreign = BatchUpdateRequest(
            entity: try others.requireEntity(named: "Employee"), propertiesToUpdate: ["age": .integer(1)])
        let error = failure { _ = try context.execute(foreign) }
        XCTAssertEqual(error.status, .invalidArgument)
        XCTAssertEqual(error.entity, "Employee")
        let named = BatchDeleteRequest(fetchRequest: FetchRequest(entityName: "Emplyee"))
        XCTAssertNil(named.entity)
        XCTAssertEqual(failure { _ = try context.execute(named) }.status, .invalidArgument)
        let byName = BatchDeleteRequest(fetchRequest: FetchRequest(entityName: "Employee"))
        let none: BatchResult = try context.execute(byName)
        XCTAssertEqual(none.count, 0)
        XCTAssertEqual(byName.entity?.name, "Employee")
        let worker = Context(coordinator: coordinator, queue: .privateQueue)
        XCTAssertEqual(failure { _ = try worker.execute(byName) }.status, .wrongThread)
    }

    func testCancelledBatchRequestChangesNothing() throws {
        try eachStore { _ in
            try hire([("Ada", 1)])
            context.interruptCheck = { true }
            let requests: [BatchRequest] = [
                BatchInsertRequest(entity: try entity("Employee"), rows: [["name": .string("Bea")]]),
                BatchUpdateRequest(entity: try entity("Employee"), propertiesToUpdate: ["age": .integer(2)]),
                BatchDeleteRequest(fetchRequest: FetchRequest(entity: try entity("Employee"))),
            ]
            for request in requests {
                let error = failure { _ = try context.execute(request) }
                XCTAssertEqual(error.status, .cancelled, error.message)
            }
            context.interruptCheck = nil
            XCTAssertEqual(try people(), ["Ada 1"])
            XCTAssertEqual(try update(nil, ["age": .integer(2)]), 1)
        }
    }

    /// A batch request within a hook is refused, and the save continues.
    func testBatchRequestFailsWithinAHook() throws {
        let model = try GraphTestCase.company()
        let told = Locked<[Status]>([])
        var hooks = LifecycleHooks()
        hooks.willSave = { object in
            guard let context = object.context else { return }
            let request = BatchDeleteRequest(fetchRequest: FetchRequest(entity: object.entity))
            do { _ = try context.execute(request) as BatchResult } catch let error as CoreError {
                told.withLock { $0.append(error.status) }
            }
        }
        try model.requireEntity(named: "Department").setLifecycle(hooks)
        try open(model)
        try context.insert("Department", ["name": "R&D"])
        try context.save()
        XCTAssertEqual(told.withLock { $0 }, [.invalidArgument])
        XCTAssertEqual(try fresh().count("Department"), 1)
    }
}
