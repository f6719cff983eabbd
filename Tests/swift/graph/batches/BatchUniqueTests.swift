import Corestone
import XCTest

/// Batch insertions with unique conflicts, compared with saves under the same merge policy.
final class BatchUniqueTests: BatchTestCase {
    /// Two constraints at the root, one at a subentity; owners that cascade, nullify and deny.
    private func codes() throws -> Model {
        let model = Model()
        let code = try model.addEntity(named: "Code")
        try code.addAttribute(named: "a", type: .integer32)
        try code.addAttribute(named: "b", type: .integer32)
        try code.addAttribute(named: "region", type: .integer32)
        try code.addAttribute(named: "title", type: .string)
        try code.addUniqueConstraint(["a"])
        try code.addUniqueConstraint(["b", "region"])
        let special = try model.addEntity(named: "Special")
        try special.setParent(code)
        try special.addAttribute(named: "serial", type: .integer32)
        try special.addUniqueConstraint(["serial"])
        let part = try model.addEntity(named: "Part")
        let parts = try code.addRelationship(named: "parts", destination: part, isToMany: true)
        let owner = try part.addRelationship(named: "owner", destination: code)
        try parts.setInverse(owner)
        try parts.setDeleteRule(.cascade)
        return model
    }

    private typealias Row = [String: PropertyValue]

    private func rows() throws -> [String] {
        try fresh().fetch("Code").map { object in
            let values = try ["a", "b", "region", "title"].map { "\(try object.value(forKeyPath: $0))" }
            return "\(object.entity.name) \(values.joined(separator: " "))"
        }.sorted()
    }

    private func insert(_ rows: [Row], as name: String = "Code", _ policy: MergePolicyType) throws -> ChangedIDs {
        context.mergePolicy = .standard(policy)
        let request = BatchInsertRequest(entity: try entity(name), rows: rows)
        request.resultType = .objectIDs
        return try context.execute(request).changes
    }

    private func each(_ body: () throws -> Void) throws {
        let model = try codes()
        for isMemory in [false, true] {
            try isMemory ? openMemory(model) : open(model)
            try body()
        }
    }

    func testBatchInsertReplacesTwoRowsThatItConflictsWith() throws {
        for policy in [MergePolicyType.objectTrump, .overwrite] {
            try each {
                _ = try insert(
                    [
                        ["a": .int(1), "b": .int(1), "region": .int(0), "title": .string("one")],
                        ["a": .int(2), "b": .int(2), "region": .int(0), "title": .string("two")],
                    ], policy)
                let two = try context.fetch("Code", "a == 2")[0]
                let part = try context.insert("Part", ["owner": two])
                try context.save()
                let changes = try insert(
                    [["a": .int(1), "b": .int(2), "region": .int(0), "title": .string("both")]], policy)
                XCTAssertEqual(changes.updated.count, 1)
                XCTAssertEqual(changes.deleted.map(\.entity.name).sorted(), ["Code", "Part"])
                XCTAssertEqual(changes.inserted, [])
                XCTAssertEqual(try context.count("Code"), 1)
                XCTAssertEqual(try context.fetch("Code")[0].value(forKeyPath: "title"), .string("both"))
                XCTAssertTrue(part.isDeleted || part.context == nil, "deleted with the second row")
            }
        }
    }

    func testBatchInsertReplacesAConflictingRowOfAnotherEntity() throws {
        try each {
            _ = try insert([["a": .int(1), "title": .string("old")]], .error)
            XCTAssertEqual(try insert([["a": .int(1), "serial": .int(7)]], as: "Special", .storeTrump).inserted, [])
            XCTAssertEqual(try insert([["a": .int(1), "serial": .int(7)]], as: "Special", .rollback).inserted, [])
            let changes = try insert([["a": .int(1), "serial": .int(7)]], as: "Special", .objectTrump)
            XCTAssertEqual(changes.inserted.map(\.entity.name), ["Special"])
            XCTAssertEqual(changes.deleted.map(\.entity.name), ["Code"])
            XCTAssertEqual(try context.count("Code"), 1)
            let back = try insert([["a": .int(1)]], .overwrite)
            XCTAssertEqual(back.inserted.map(\.entity.name), ["Code"])
            XCTAssertEqual(back.deleted, changes.inserted)
        }
    }

    func testBatchInsertCountsARowOnceWhenItIsChangedTwice() throws {
        try each {
            _ = try insert([["a": .int(1), "title": .string("old")]], .objectTrump)
            let changes = try insert(
                [
                    ["a": .int(1), "title": .string("x")], ["a": .int(2), "b": .int(5), "region": .int(1)],
                    ["a": .int(1), "title": .string("y")], ["a": .int(3), "b": .int(5), "region": .int(1)],
                    ["a": .int(2), "b": .int(5), "region": .int(1)],
                ], .objectTrump)
            XCTAssertEqual(changes.updated.count, 1)
            XCTAssertEqual(changes.inserted.count, 1, "row 4 merges with row 2, and row 5 matches both")
            XCTAssertEqual(changes.deleted, [])
            XCTAssertEqual(try context.count("Code"), 2)
        }
    }

    func testUniqueConstraintIncludesDefaultValues() throws {
        let model = try codes()
        try model.entity(named: "Code")?.ownAttributes.first { $0.name == "region" }?.setDefaultValue(.int(4))
        for isMemory in [false, true] {
            try isMemory ? openMemory(model) : open(model)
            _ = try insert([["b": .int(1)], ["b": .int(1), "region": .int(5)]], .objectTrump)
            let changes = try insert([["b": .int(1), "title": .string("x")]], .objectTrump)
            XCTAssertEqual([changes.inserted.count, changes.updated.count, changes.deleted.count], [0, 1, 0])
            XCTAssertEqual(try rows(), ["Code null int(1) int(4) text(x)", "Code null int(1) int(5) null"])
        }
    }

    func testBatchInsertFailsWhenADeleteRuleDeniesTheReplacement() throws {
        let model = try codes()
        try model.entity(named: "Code")?.ownRelationships[0].setDeleteRule(.deny)
        for isMemory in [false, true] {
            try isMemory ? openMemory(model) : open(model)
            _ = try insert([["a": .int(1)], ["b": .int(2), "region": .int(0)]], .error)
            try context.insert("Part", ["owner": context.fetch("Code", "b == 2")[0]])
            try context.save()
            let error = failure {
                _ = try insert([["a": .int(1), "b": .int(2), "region": .int(0)]], .objectTrump)
            }
            XCTAssertEqual(error.code, 1600, error.message)
            XCTAssertEqual(try context.count("Code"), 2)
        }
    }

    /// Random rows, one after the other.
    func testRandomBatchInsertsWriteTheSameRowsAsSaves() throws {
        let model = try codes()
        var dice = SeededGenerator(seed: 20)
        for round in 0..<100 {
            let policy = MergePolicyType.allCases[round % 5]
            let rows: [(entity: String, row: Row)] = (0..<Int.random(in: 1...7, using: &dice)).map { number in
                let isSpecial = Int.random(in: 0..<4, using: &dice) == 0
                var row: Row = ["title": .string("\(number)")]
                for key in ["a", "b", "region"] + (isSpecial ? ["serial"] : []) where Bool.random(using: &dice) {
                    row[key] = .int(Int64.random(in: 0..<3, using: &dice))
                }
                return (isSpecial ? "Special" : "Code", row)
            }
            try open(model)
            for (entity, row) in rows {
                context.mergePolicy = .standard(policy)
                let object = try context.insert(entity)
                for (key, value) in row { try object.setValue(value, forKeyPath: key) }
                do { try context.save() } catch { try context.rollback() }
            }
            let saved = try self.rows()
            // The store in memory does not check unique constraints, so the policy `.error` needs SQLite.
            try round % 2 == 0 || policy == .error ? open(model) : openMemory(model)
            for (entity, row) in rows { _ = try? insert([row], as: entity, policy) }
            XCTAssertEqual(try self.rows(), saved, "\(policy) \(rows)")
        }
    }
}
