import Corestone
import XCTest

final class BatchInsertTests: BatchTestCase {
    func testS056BatchRequestsInsertUpdateAndDeleteRows() throws {
        let insert = BatchInsertRequest(
            entity: try entity("Employee"),
            rows: [("Ada", 32), ("Bea", 25), ("Cleo", 41)].map { ["name": .string($0), "age": .int($1)] })
        insert.resultType = .count
        XCTAssertEqual(try context.execute(insert).count, 3)
        XCTAssertEqual(try context.count("Employee"), 3)
        let update = BatchUpdateRequest(
            entity: try entity("Employee"), predicate: try Predicate.parse("name == 'Ada'"),
            propertiesToUpdate: ["age": .integer(33)])
        update.resultType = .count
        XCTAssertEqual(try context.execute(update).count, 1)
        XCTAssertEqual(try context.fetch("Employee", "name == 'Ada'")[0].get("age"), 33)
        let delete = BatchDeleteRequest(fetchRequest: FetchRequest(entity: try entity("Employee")))
        delete.resultType = .count
        XCTAssertEqual(try context.execute(delete).count, 3)
        XCTAssertEqual(try context.count("Employee"), 0)
    }

    func testBatchInsertWritesTheSameRowsAsASave() throws {
        try context.insert("Employee", ["name": "Ada", "age": 32])
        try context.save()
        try hire([("Bea", 25)])
        XCTAssertEqual(
            try shell("SELECT Z_PK, Z_ENT, Z_OPT, ZAGE, ZNAME, ZRATING FROM ZPERSON"),
            "1|3|1|32|Ada|1000.0\n2|3|1|25|Bea|1000.0")
        XCTAssertEqual(try shell("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = 'Person'"), "2")
        XCTAssertEqual(try shell("PRAGMA integrity_check"), "ok")
        try context.insert("Employee", ["name": "Cleo"])
        try context.save()
        XCTAssertEqual(try shell("SELECT max(Z_PK) FROM ZPERSON"), "3")
    }

    func testBatchInsertSetsEntityNumberAndInheritedDefaultsOfSubentities() throws {
        let request = BatchInsertRequest(
            entity: try entity("Manager"), rows: [["name": .string("Ann"), "level": .int(3)]])
        request.resultType = .objectIDs
        let id = try context.execute(request).objectIDs[0]
        XCTAssertEqual(id.entity.name, "Manager")
        XCTAssertEqual(try context.object(with: id).get("rating"), 1000.0)
        XCTAssertEqual(try shell("SELECT Z_ENT, ZLEVEL FROM ZPERSON"), "4|3")
    }

    func testInvalidRowFailsTheWholeBatch() throws {
        func fails(_ row: [String: PropertyValue], _ code: Int, _ key: String, line: UInt = #line) throws {
            let rows = [["name": .string("fine")], row]
            let error = failure(
                { _ = try context.execute(BatchInsertRequest(entity: try entity("Employee"), rows: rows)) }, line: line)
            XCTAssertEqual(error.code, code, error.message, line: line)
            XCTAssertEqual(error.key, key, line: line)
            XCTAssertTrue(error.message.hasPrefix("row 2 of the batch"), error.message, line: line)
            XCTAssertEqual(try people(), [], line: line)
        }
        try fails(["age": .int(1)], 1570, "name")
        try fails(["name": .null], 1570, "name")
        try fails(["name": .int(1)], 0, "name")
        try fails(["name": .string("x"), "age": .int(1 << 40)], 1610, "age")
        try fails(["name": .string("x"), "rating": .double(.nan)], 1550, "rating")
        try fails(["name": .string("x"), "nam": .int(1)], 0, "nam")
        try fails(["name": .string("x"), "department": .null], 0, "department")
        try fails(["name": .string("x"), "projects": .null], 0, "projects")
        try fails(["name": .string("x"), "speed": .double(1)], 0, "speed")
    }

    func testHandlerSuppliesRowsUntilItReturnsTrue() throws {
        for isMemory in [false, true] {
            if isMemory { try openMemory(GraphTestCase.company()) }
            var number: Int64 = 0
            let request = BatchInsertRequest(entity: try entity("Employee")) { row in
                XCTAssertTrue(row.isEmpty)
                number += 1
                row["name"] = .string("n\(number)")
                row["age"] = .int(number)
                return number > 2000
            }
            request.resultType = .count
            XCTAssertEqual(try context.execute(request).count, 2000)
            XCTAssertEqual(try context.count("Employee", "age == 1999 AND rating == 1000"), 1)
        }
    }

    func testBatchInsertIsRolledBackWhenTheHandlerThrows() throws {
        struct Broken: Error {}
        for isMemory in [false, true] {
            if isMemory { try openMemory(GraphTestCase.company()) }
            var number = 0
            let request = BatchInsertRequest(entity: try entity("Employee")) { row in
                number += 1
                row["name"] = .string("n")
                if number == 1500 { throw Broken() }
                return false
            }
            XCTAssertThrowsError(try context.execute(request)) { XCTAssertTrue($0 is Broken) }
            XCTAssertEqual(try context.count("Employee"), 0)
            try hire([("Ada", 1)])
            XCTAssertEqual(try people(), ["Ada 1"])
        }
    }

    func testHandlerCanReadButNotWriteTheStore() throws {
        for isMemory in [false, true] {
            if isMemory { try openMemory(GraphTestCase.company()) }
            try hire([("Ada", 1)])
            let second = Context(coordinator: coordinator)
            var errors: [CoreError] = []
            var found = 0
            var number = 0
            let request = BatchInsertRequest(entity: try entity("Employee")) { [unowned self] row in
                number += 1
                row["name"] = .string("n\(number)")
                found = try context.count("Employee", "name == 'Ada'")
                _ = try second.insert("Department", ["name": "x"])
                errors.append(failure { try second.save() })
                errors.append(failure { try hire([("Bea", 2)]) })
                try second.rollback()
                return number > 2
            }
            _ = try context.execute(request)
            XCTAssertEqual(found, 1)
            XCTAssertEqual(errors.map(\.status), Array(repeating: .invalidArgument, count: 6), "\(errors)")
            XCTAssertEqual(try people(), ["Ada 1", "n1 -", "n2 -"])
            try second.insert("Department", ["name": "x"])
            try second.save()
        }
    }

    func testObjectHandlerReusesOneObjectForAllRows() throws {
        for isMemory in [false, true] {
            if isMemory { try openMemory(GraphTestCase.company()) }
            var seen: Set<ObjectIdentifier> = []
            var number = 0
            let request = BatchInsertRequest(entity: try entity("Employee")) { (object: ManagedObject) in
                seen.insert(ObjectIdentifier(object))
                XCTAssertNil(try object.get("age", as: Int.self))
                XCTAssertEqual(try object.get("rating"), 1000.0)
                number += 1
                try object.set("name", "n\(number)")
                if number == 2 { try object.set("age", 7) }
                try object.set("speed", 1.0)
                return number > 3
            }
            _ = try context.execute(request)
            XCTAssertEqual(seen.count, 1)
            XCTAssertEqual(try people(), ["n1 -", "n2 7", "n3 -"])
            let leading = BatchInsertRequest(entity: try entity("Employee")) { (object: ManagedObject) in
                try object.set("name", "x")
                try object.set("spouse", object)
                return false
            }
            let error = failure { _ = try context.execute(leading) }
            XCTAssertEqual(error.key, "spouse", error.message)
            let deleting = BatchInsertRequest(entity: try entity("Employee")) { (object: ManagedObject) in
                try object.context?.delete(object)
                try object.context?.processPendingChanges()
                return false
            }
            XCTAssertEqual(failure { _ = try context.execute(deleting) }.status, .objectGone)
            XCTAssertEqual(try people().count, 3)
        }
    }

    func testBatchInsertResolvesUniqueConflictsByTheMergePolicy() throws {
        let model = Model()
        let item = try model.addEntity(named: "Item")
        try item.addAttribute(named: "code", type: .string)
        try item.addAttribute(named: "title", type: .string)
        try item.addAttribute(named: "rank", type: .integer32).setDefaultValue(.int(5))
        try item.addUniqueConstraint(["code"])
        func run(_ policy: MergePolicy) throws -> (count: Int, rows: [String]) {
            context.mergePolicy = policy
            let request = BatchInsertRequest(
                entity: item,
                rows: [
                    ["code": .string("a"), "title": .string("new")], ["code": .string("b")],
                    ["code": .string("b"), "title": .string("twice")],
                ])
            request.resultType = .count
            let count = try context.execute(request).count
            return (
                count,
                try fresh().fetch("Item", sort: ["code"]).map {
                    "\(try $0.get("code") ?? "?") \(try $0.get("title") ?? "-") \(try $0.get("rank", as: Int.self) ?? -1)"
                }
            )
        }
        for isMemory in [false, true] {
            for policy in MergePolicyType.allCases where !(isMemory && policy == .error) {
                try isMemory ? openMemory(model) : open(model)
                try context.insert("Item", ["code": "a", "title": "old", "rank": 9])
                try context.save()
                switch policy {
                case .error:
                    let error = failure { _ = try run(.error) }
                    XCTAssertEqual(error.code, 133021)
                    XCTAssertEqual(error.key, "code")
                    XCTAssertEqual(error.value, .string("a"))
                    XCTAssertEqual(try context.count("Item"), 1)
                case .objectTrump:
                    let found = try run(.objectTrump)
                    XCTAssertEqual(found.rows, ["a new 9", "b twice 5"])
                    XCTAssertEqual(found.count, 2)
                case .overwrite:
                    let found = try run(.overwrite)
                    XCTAssertEqual(found.rows, ["a new 5", "b twice 5"])
                    XCTAssertEqual(found.count, 2)
                case .storeTrump, .rollback:
                    let found = try run(.standard(policy))
                    XCTAssertEqual(found.rows, ["a old 9", "b - 5"])
                    XCTAssertEqual(found.count, 1)
                }
                if !isMemory, policy == .objectTrump {
                    XCTAssertEqual(try shell("SELECT ZCODE, Z_OPT FROM ZITEM ORDER BY ZCODE"), "a|2\nb|2")
                    XCTAssertEqual(try shell("SELECT Z_MAX FROM Z_PRIMARYKEY"), "2")
                }
            }
        }
    }

    func testBatchInsertStoresTransformablesAndBackingFiles() throws {
        let model = Model()
        let place = try model.addEntity(named: "Place")
        try place.addAttribute(named: "tags", type: .transformable)
        try place.addAttribute(named: "picture", type: .binary).setAllowsExternalStorage(true)
        try place.addAttribute(named: "link", type: .uri)
        try place.addAttribute(named: "cost", type: .decimal)
        try place.addAttribute(named: "id", type: .uuid)
        try place.addAttribute(named: "seen", type: .date)
        try open(model)
        let picture = Bytes([UInt8](repeating: 7, count: 200_000))
        let small = Bytes([1, 2, 3])
        let row: [String: PropertyValue] = [
            "tags": .array([.string("a"), .string("b")]), "picture": .bytes(picture),
            "link": .string("http://example.org/"),
            "cost": .decimal(try DecimalNumber("12.50")), "id": .uuid(UUIDValue(high: 1, low: 2)), "seen": .date(86400),
        ]
        _ = try context.execute(BatchInsertRequest(entity: place, rows: [row, ["picture": .bytes(small)]]))
        let objects = try context.fetch("Place", sort: ["cost"])
        XCTAssertEqual(try objects.map { try $0.value(forKeyPath: "picture") }, [.bytes(small), .bytes(picture)])
        XCTAssertEqual(try objects[1].value(forKeyPath: "link"), .uri(Text("http://example.org/")))
        XCTAssertEqual(try objects[1].value(forKeyPath: "cost"), .decimal(try DecimalNumber("12.5")))
        let tags = try objects[1].transformedValue(key: XCTUnwrap(place.property(named: "tags")).key)
        XCTAssertEqual(tags as? PropertyValue, .array([.string("a"), .string("b")]))
        let folder = folder + "/.company_SUPPORT/_EXTERNAL_DATA"
        XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: folder).count, 1)
        let broken = BatchInsertRequest(entity: place, rows: [row, ["cost": .string("no")]])
        _ = failure { _ = try context.execute(broken) }
        XCTAssertEqual(
            try FileManager.default.contentsOfDirectory(atPath: folder).count, 1, "the first row's file is removed")
        let delete = BatchDeleteRequest(fetchRequest: FetchRequest(entity: place))
        _ = try context.execute(delete)
        XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: folder).count, 0)
    }

    func testBatchRequestsSetCompositesByElementOrAsAWhole() throws {
        let model = Model()
        let place = try model.addEntity(named: "Place")
        let spot = try place.addAttribute(named: "spot", type: .composite)
        try spot.addElement(named: "x", type: .double).setDefaultValue(.double(1))
        try spot.addElement(named: "y", type: .double)
        for isMemory in [false, true] {
            try isMemory ? openMemory(model) : open(model)
            let rows: [[String: PropertyValue]] = [
                ["spot": .dictionary(["x": .double(3), "y": .double(4)])], ["spot.y": .double(5)], [:], ["spot": .null],
            ]
            _ = try context.execute(BatchInsertRequest(entity: place, rows: rows))
            XCTAssertEqual(
                try context.fetch("Place").map { try $0.value(forKeyPath: "spot") },
                [
                    .dictionary(["x": .double(3), "y": .double(4)]), .dictionary(["x": .double(1), "y": .double(5)]),
                    .dictionary(["x": .double(1)]), .null,
                ])
            let update = BatchUpdateRequest(
                entity: place, propertiesToUpdate: ["spot": .constant(.dictionary(["y": .double(7)]))])
            _ = try context.execute(update)
            XCTAssertEqual(
                Set(try context.fetch("Place").map { try $0.value(forKeyPath: "spot") }),
                [.dictionary(["y": .double(7)])])
        }
    }

    func testBatchRequestsComputeDerivedAttributes() throws {
        let model = Model()
        let note = try model.addEntity(named: "Note")
        try note.addAttribute(named: "title", type: .string)
        try note.addAttribute(named: "plain", type: .string).setDerivation(
            Derivation(ExpressionText("canonical:(title)")))
        try open(model)
        _ = try context.execute(BatchInsertRequest(entity: note, rows: [["title": .string("ÄRGER")]]))
        let found = try context.fetch("Note")[0]
        XCTAssertEqual(try found.get("plain"), "arger")
        let update = BatchUpdateRequest(entity: note, propertiesToUpdate: ["title": .string("Élan")])
        _ = try context.execute(update)
        XCTAssertEqual(try found.get("plain"), "elan")
        let wrong = BatchUpdateRequest(entity: note, propertiesToUpdate: ["plain": .string("x")])
        XCTAssertEqual(failure { _ = try context.execute(wrong) }.key, "plain")
    }

    /// A handler must not release the lock under which it runs: the transaction needs the context until its end.
    func testHandlerCannotUnlockTheContextOfItsRequest() throws {
        let worker = Context(coordinator: context.coordinator, queue: .privateQueue)
        worker.transactionAuthor = "batch"
        try worker.lock()
        var (refused, rows): (Int?, Int) = (nil, 0)
        let request = BatchInsertRequest(entity: try entity("Employee")) { (row: inout [String: PropertyValue]) in
            if rows == 1 { return true }
            rows += 1
            do { try worker.unlock() } catch { refused = (error as? CoreError)?.code }
            row["name"] = .string("Ada")
            return false
        }
        request.resultType = .count
        XCTAssertEqual(try worker.execute(request).count, 1)
        XCTAssertEqual(refused, 132000)
        try worker.unlock()
        XCTAssertEqual(try people().count, 1)
    }

    func testBatchInsertErrorOfATransformerSuggestsBytes() throws {
        ValueTransformers.register("Numbers", transform: { (_: [Int]) in Bytes([]) }, reverse: { _ in [] })
        defer { ValueTransformers.unregister("Numbers") }
        let model = Model()
        let place = try model.addEntity(named: "Place")
        try place.addAttribute(named: "tags", type: .transformable).setValueTransformerName("Numbers")
        try openMemory(model)
        let error = failure {
            _ = try context.execute(BatchInsertRequest(entity: place, rows: [["tags": .string("x")]]))
        }
        XCTAssertTrue(error.message.hasSuffix("not a string; pass the bytes of the value"), error.message)
    }

    /// Values that are valid for the attribute's type, but cannot be stored.
    func testBatchInsertRefusesValuesThatCannotBeStored() throws {
        let model = Model()
        let place = try model.addEntity(named: "Place")
        try place.addAttribute(named: "when", type: .date)
        try place.addAttribute(named: "size", type: .double)
        try place.addAttribute(named: "link", type: .uri)
        try place.addAttribute(named: "tags", type: .transformable).setValueTransformerName("NobodyKnowsIt")
        for isMemory in [false, true] {
            try isMemory ? openMemory(model) : open(model)
            let cases: [(String, PropertyValue)] = [
                ("when", .date(.infinity)), ("when", .date(.nan)), ("size", .double(-.infinity)),
                ("link", .string("no uri at all")), ("tags", .array([])),
            ]
            for (key, value) in cases {
                let error = failure {
                    _ = try context.execute(BatchInsertRequest(entity: place, rows: [[:], [key: value]]))
                }
                XCTAssertEqual(error.status, .validation, error.message)
                XCTAssertEqual(error.code, 1550)
                XCTAssertEqual(error.key, key)
                XCTAssertEqual(error.entity, "Place")
                XCTAssertTrue(error.message.hasPrefix("row 2 of the batch: Place.\(key) "), error.message)
            }
            _ = try context.execute(
                BatchInsertRequest(entity: place, rows: [["tags": .bytes(Bytes([1]))], ["tags": .null]]))
            XCTAssertEqual(try context.count("Place"), 2, "bytes and null do not need a transformer")
        }
    }

    func testBatchInsertRefusesAbstractEntities() throws {
        let model = Model()
        let shape = try model.addEntity(named: "Shape")
        try shape.setAbstract(true)
        let circle = try model.addEntity(named: "Circle")
        try circle.setParent(shape)
        for isMemory in [false, true] {
            try isMemory ? openMemory(model) : open(model)
            let error = failure { _ = try context.execute(BatchInsertRequest(entity: shape, rows: [[:]])) }
            XCTAssertEqual(error.status, .invalidArgument)
            XCTAssertEqual(error.entity, "Shape")
            _ = try context.execute(BatchInsertRequest(entity: circle, rows: [[:]]))
            XCTAssertEqual(try context.count("Shape"), 1)
        }
    }

    /// More rows than are requested at a time, with alternating defaults, nulls and values.
    func testBatchInsertStoresTheValuesOfEachOfManyRows() throws {
        for isMemory in [false, true] {
            if isMemory { try openMemory(GraphTestCase.company()) }
            let rows: [[String: PropertyValue]] = (0..<700).map { number in
                var row: [String: PropertyValue] = ["name": .string("n\(number)")]
                if number % 3 == 1 { row["rating"] = .null }
                if number % 3 == 2 { row["rating"] = .double(Double(number)) }
                if number % 2 == 0 { row["age"] = .int(Int64(number)) }
                return row
            }
            let request = BatchInsertRequest(entity: try entity("Employee"), rows: rows)
            request.resultType = .objectIDs
            let result: BatchResult = try context.execute(request)
            XCTAssertEqual(result.objectIDs.count, 700)
            let reader = fresh()
            for (number, id) in result.objectIDs.enumerated() {
                let object = try reader.object(with: id)
                XCTAssertEqual(try object.get("name"), "n\(number)")
                XCTAssertEqual(
                    try object.value(forKey: "rating"),
                    [.double(1000), .null, .double(Double(number))][number % 3])
                XCTAssertEqual(try object.value(forKey: "age"), number % 2 == 0 ? .int(Int64(number)) : .null)
            }
        }
    }

    func testBatchInsertInsertsItsRowsAtEachExecution() throws {
        let request = BatchInsertRequest(entity: try entity("Employee"), rows: [["name": .string("Ada")]])
        request.resultType = .count
        for count in 1...3 {
            XCTAssertEqual(try (context.execute(request) as BatchResult).count, 1)
            XCTAssertEqual(try people().count, count)
        }
    }
}
