import Corestone
import XCTest

/// Row versions that are not the previous version plus one: after the maximum, and when a deleted row is reinserted.
final class RowVersionTests: BatchTestCase {
    private func version() throws -> String { try shell("SELECT Z_OPT FROM ZPERSON") }

    private func setVersion(_ number: Int64) throws {
        (context, coordinator) = (nil, nil)
        _ = try shell("UPDATE ZPERSON SET Z_OPT = \(number)")
        coordinator = try Coordinator(model: GraphTestCase.company())
        try coordinator.addSQLiteStore(at: path)
        context = Context(coordinator: coordinator)
    }

    func testVersionWrapsToOneAfterTheMaximumInASave() throws {
        try hire([("Ada", 30)])
        let steps = [(Int64(Int32.max) - 1, "2147483647"), (Int64(Int32.max), "1"), (-7, "1"), (0, "1")]
        for (place, (before, after)) in steps.enumerated() {
            try setVersion(before)
            let (mine, theirs) = (Context(coordinator: coordinator), Context(coordinator: coordinator))
            let (ada, same) = (try mine.fetch("Employee")[0], try theirs.fetch("Employee")[0])
            XCTAssertEqual([try ada.get("age"), try same.get("age")], [30, 30])
            try ada.set("rating", 5.5)
            try mine.save()
            XCTAssertEqual(try version(), after)
            try same.set("rating", Double(place) + 7)
            XCTAssertEqual(failure { try theirs.save() }.code, 133020)
            theirs.mergePolicy = .objectTrump
            try theirs.save()
            XCTAssertEqual(try version(), after == "1" ? "2" : "1")
            XCTAssertEqual(try shell("SELECT ZRATING FROM ZPERSON"), "\(place + 7).0")
        }
    }

    func testVersionWrapsToOneAfterTheMaximumInABatch() throws {
        try hire([("Ada", 30)])
        let employee = try entity("Employee")
        for (values, name) in try [
            (["age": Expression.constant(.int(3))], "constant"),
            (["age": .calling("add:to:", [.key("age"), .integer(1)])], "computed"),
        ] {
            try setVersion(Int64(Int32.max))
            let own = try entity("Employee")
            _ = try context.execute(BatchUpdateRequest(entity: own, propertiesToUpdate: values)) as BatchResult
            XCTAssertEqual(try version(), "1", name)
        }
        XCTAssertEqual(employee.name, "Employee")
        try setVersion(Int64(Int32.max))
        let ada = try context.fetch("Employee")[0]
        try ada.set("department", context.insert("Department", ["name": "Lab"]))
        try context.save()
        try setVersion(Int64(Int32.max))
        _ =
            try context.execute(BatchDeleteRequest(fetchRequest: FetchRequest(entity: entity("Department"))))
            as BatchResult
        XCTAssertEqual(try version(), "1")
        XCTAssertEqual(try shell("SELECT count(ZDEPARTMENT) FROM ZPERSON"), "0")
    }

    /// The new row has a version that the deleted row never had, so every reader of an old version gets a conflict.
    func testReinsertedRowGetsAVersionThatNoContextHasRead() throws {
        for inMemory in [false, true] {
            if inMemory { try openMemory(GraphTestCase.company()) }
            let first = Context(coordinator: coordinator)
            let ada = try first.insert("Employee", ["name": "Ada", "age": 1])
            try first.save()
            var readers: [ManagedObject] = []
            let mine = Context(coordinator: coordinator)
            let late = try mine.object(with: ada.objectID)
            XCTAssertEqual(try late.get("age"), 1)
            for age in 2...5 {
                try ada.set("age", age)
                try first.save()
                let reader = Context(coordinator: coordinator)
                readers.append(try reader.object(with: ada.objectID))
                XCTAssertEqual(try readers.last?.get("age"), age)
                contexts.append(reader)
            }
            try first.delete(ada)
            try first.save()
            try late.set("age", 40)
            mine.mergePolicy = .overwrite
            try mine.save()
            for reader in readers {
                try reader.set("name", "Eva")
                XCTAssertEqual(failure { try reader.context?.save() }.code, 133020)
            }
            XCTAssertEqual(try Context(coordinator: coordinator).count("Employee", "name == 'Ada' AND age == 40"), 1)
        }
    }

    private var contexts: [Context] = []
}
