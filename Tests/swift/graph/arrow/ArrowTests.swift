import CPlatform
import Corestone
import Foundation
import XCTest

@testable import CorestoneGraph

/// Exports through the C data interface of Arrow, read as the Arrow specification defines it.
final class ArrowTests: XCTestCase {
    private var folder = ""
    private var coordinator: Coordinator!
    private var store: Store!
    private var context: Context!

    override func setUpWithError() throws {
        folder = NSTemporaryDirectory() + "corestone-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try open(GraphTestCase.company())
    }

    override func tearDown() {
        (context, store, coordinator) = (nil, nil, nil)
        try? FileManager.default.removeItem(atPath: folder)
    }

    private func open(_ model: Model, rollback: Bool = false) throws {
        coordinator = try Coordinator(model: model)
        var options = StoreOptions()
        options.normalSync = true
        options.rollbackJournal = rollback
        store = try coordinator.addSQLiteStore(at: "\(folder)/\(UUID().uuidString).sqlite", options: options)
        context = Context(coordinator: coordinator)
    }

    /// Labs with Ada (36), Bob and the manager Eve (40, bonus 3), and Dan (20) without a department.
    private func staff() throws {
        let labs = try context.insert("Department", ["name": "Labs"])
        let ada = try context.insert("Employee", ["name": "Ada", "age": 36, "department": labs])
        let bob = try context.insert("Employee", ["name": "Bob", "department": labs])
        try ada.set("spouse", bob)
        _ = try context.insert("Manager", ["name": "Eve", "age": 40, "bonus": 3.0, "department": labs])
        _ = try context.insert("Employee", ["name": "Dan", "age": 20])
        try context.save()
    }

    private func request(_ entity: String = "Employee", _ predicate: String? = nil, sort: String? = "name") throws
        -> FetchRequest
    {
        let request = FetchRequest(entity: try coordinator.model.requireEntity(named: entity))
        request.predicate = try predicate.map { try Predicate.parse($0) }
        request.sortDescriptors = sort.map { [SortDescriptor($0)] } ?? []
        return request
    }

    private func table(
        _ keyPaths: String..., request: FetchRequest? = nil, options: ArrowOptions = ArrowOptions()
    ) throws -> ArrowTable {
        try ArrowTable(context.fetchArrow(request ?? self.request(), keyPaths: keyPaths, options: options))
    }

    // MARK: Columns

    func testFetchArrowTakesEntityAndPropertyNames() throws {
        try staff()
        let stream = try context.fetchArrow(
            "Employee", "age > %d", 30, keyPaths: ["name", "department.name"], sort: ["-name"])
        XCTAssertEqual(try ArrowTable(stream).rows, [["Eve", "Labs"], ["Ada", "Labs"]])
    }

    func testKeyPathsWithCollectionOperatorsAreColumns() throws {
        try staff()
        _ = try context.insert("Department", ["name": "Void"])
        try context.save()
        let paths = ["name", "employees.@count", "employees.@sum.age", "employees.@max.name", "employees.@avg.age"]
        let wanted = [["Labs", "3", "76", "Eve", "\(76.0 / 3)"], ["Void", "0", "0", nil, "0.0"]]
        let request = try request("Department")
        func rows() throws -> [[String?]] {
            try ArrowTable(context.fetchArrow(request, keyPaths: paths)).rows
        }
        XCTAssertEqual(try rows(), wanted)
        // Values are computed from objects if the export also has a list, or if the request excludes unsaved changes.
        let listed = try ArrowTable(context.fetchArrow(request, keyPaths: paths + ["employees"]))
        XCTAssertEqual(try listed.rows.map { Array($0.prefix(5)) }, wanted)
        XCTAssertEqual(try ArrowTable(ArrowStream(context.fetch(request), keyPaths: paths)).rows, wanted)
        let labs = try XCTUnwrap(context.fetch("Department", "name == 'Labs'").first)
        _ = try context.insert("Employee", ["name": "Zoe", "age": 24, "department": labs])
        XCTAssertEqual(try rows(), [["Labs", "4", "100", "Zoe", "25.0"], wanted[1]])
        request.includesPendingChanges = false
        XCTAssertEqual(try rows(), wanted)
        XCTAssertEqual(try table("department.employees.@count", "name")["department.employees.@count"].count, 5)
    }

    func testTypesOfCollectionOperatorsDoNotDependOnTheValues() throws {
        let table = try ArrowTable(
            context.fetchArrow(
                request("Department"),
                keyPaths: ["employees.@count", "employees.@sum.age", "employees.@avg.age", "employees.@min.name"]))
        XCTAssertEqual(table.formats, ["l", "l", "g", "u"])
    }

    func testUnsuitableCollectionOperatorsAreRejected() throws {
        for (path, words) in [
            ("employees.@sum.name", "does not have one value of a known type"),
            ("employees.@distinctUnionOfObjects.age", "does not have one value of a known type"),
            ("employees.@sum", "does not have one value of a known type"),
            ("name.@count", "must follow a to-many relationship"), ("@count", "must follow a to-many relationship"),
            ("employes.@count", "did you mean"), ("employees.@sum.agge", "agge"),
        ] {
            XCTAssertThrowsError(try context.fetchArrow(request("Department"), keyPaths: [path])) {
                XCTAssertTrue("\($0)".contains(words), "\(path): \($0)")
            }
        }
    }

    func testStreamCopyReturnsAllRowsUnlessReadingHasBegun() throws {
        try staff()
        for isChanged in [false, true] {
            if isChanged { _ = try context.insert("Employee", ["name": "New"]) }
            let stream = try context.fetchArrow(request(), keyPaths: ["name"], options: ArrowOptions(batchSize: 3))
            let (first, second) = (try stream.copy(), try stream.copy())
            let wanted = ["Ada", "Bob", "Dan", "Eve"] + (isChanged ? ["New"] : [])
            XCTAssertEqual(try ArrowTable(first)["name"], wanted)
            XCTAssertEqual(try ArrowTable(stream)["name"], wanted)
            XCTAssertEqual(try ArrowTable(second)["name"], wanted)
            XCTAssertThrowsError(try stream.copy())
        }
        var exported = platform_arrow_stream()
        XCTAssertThrowsError(try ArrowStream.exported(at: &exported))
        try context.fetchArrow(request()).export(to: &exported)
        XCTAssertEqual(try ArrowTable(ArrowStream.exported(at: &exported).copy()).batches, [5])
        exported.release(&exported)
        XCTAssertThrowsError(try ArrowStream.exported(at: &exported))
    }

    func testColumnsFollowPropertiesAndResultTypeOfTheRequest() throws {
        try staff()
        let request = try request()
        request.propertiesToFetch = ["name", "department.name"]
        XCTAssertEqual(try table(request: request).names, ["name", "department.name"])
        request.propertiesToFetch = []
        request.resultType = .objectIDs
        XCTAssertEqual(try table(request: request).names, ["objectID"])
        request.resultType = .count
        XCTAssertThrowsError(try table(request: request))
        request.resultType = .objects
        request.batchSize = 2
        guard case .objects(let lazy) = try context.execute(request) else { return XCTFail() }
        XCTAssertEqual(try ArrowTable(ArrowStream(lazy, keyPaths: ["name"]))["name"], ["Ada", "Bob", "Dan", "Eve"])
    }

    func testColumnsAreTheAttributesWhenNoKeyPathIsGiven() throws {
        try staff()
        let table = try table(request: request("Department"))
        XCTAssertEqual(table.names, ["name", "budget"])
        XCTAssertEqual(table.formats, ["u", "d:38,18"])
        XCTAssertEqual(table["name"], ["Labs"])
        XCTAssertEqual(table["budget"], [nil])
        XCTAssertEqual(table.strayBuffers, 0)
    }

    func testKeyPathsTraverseToOneRelationships() throws {
        try staff()
        let table = try table("department.name", "spouse.department.name", "spouse.age", "name")
        XCTAssertEqual(table["department.name"], ["Labs", "Labs", nil, "Labs"])
        XCTAssertEqual(table["spouse.department.name"], ["Labs", "Labs", nil, nil])
        XCTAssertEqual(table["spouse.age"], [nil, "36", nil, nil])
    }

    func testObjectColumnsContainURIsOrPrimaryKeys() throws {
        try staff()
        let employees = try context.fetch(request())
        let labs = try XCTUnwrap(context.fetch(request("Department")).first)
        let uris = try table("objectID", "department", "department.objectID", "spouse.objectID")
        XCTAssertEqual(uris["objectID"], employees.map(\.objectID.uri))
        XCTAssertEqual(uris["department"], [labs.objectID.uri, labs.objectID.uri, nil, labs.objectID.uri])
        XCTAssertEqual(uris["department"], uris["department.objectID"])
        XCTAssertEqual(uris["spouse.objectID"], [employees[1].objectID.uri, employees[0].objectID.uri, nil, nil])
        let keys = try table("objectID", "department", options: ArrowOptions(showsKeys: true))
        XCTAssertEqual(keys.formats, ["l", "l"])
        XCTAssertEqual(keys["objectID"], employees.map { "\($0.primaryKey)" })
    }

    func testToManyRelationshipIsExportedAsAList() throws {
        try staff()
        _ = try context.insert("Department", ["name": "Nobody"])
        try context.save()
        let labs = try context.fetch(request("Department"))[0]
        let table = try table("employees", request: request("Department"))
        XCTAssertEqual(table.formats, ["+l"])
        let members = try Set(labs.members("employees").map(\.objectID.uri))
        let listed = try XCTUnwrap(table["employees"][0]).dropFirst().dropLast().components(separatedBy: ", ")
        XCTAssertEqual(Set(listed), members)
        XCTAssertEqual(table["employees"][1], "[]")
    }

    func testPropertiesOfSubentitiesCanBeExported() throws {
        try staff()
        XCTAssertEqual(try table("bonus", "name")["bonus"], [nil, nil, nil, "3.0"])
        let alone = try request()
        alone.includesSubentities = false
        XCTAssertEqual(try table("name", request: alone)["name"], ["Ada", "Bob", "Dan"])
    }

    func testInvalidColumnsAreNamedInTheError() throws {
        for (path, word) in [
            ("nmae", "did you mean \"name\""), ("speed", "not stored"), ("projects.title", "to-many"),
            ("name.first", "name"), ("department.nmae", "did you mean \"name\""), ("department.", "Department"),
        ] {
            XCTAssertThrowsError(try table(path), path) { error in
                let message = (error as? CoreError)?.message ?? "\(error)"
                XCTAssertTrue(message.contains(word), message)
            }
        }
        XCTAssertThrowsError(try table("name", "name"))
        XCTAssertThrowsError(try table("name", options: ArrowOptions(batchSize: 0)))
    }

    func testColumnMetadataDescribesTheModel() throws {
        try staff()
        let stream = try context.fetchArrow(request(), keyPaths: ["age", "department"])
        XCTAssertEqual(
            try ArrowTable.metadata(stream, of: "age"),
            ["corestone.entity": "Employee", "corestone.type": "Integer 32", "corestone.optional": "true"])
        XCTAssertEqual(try ArrowTable.metadata(stream, of: "department")["corestone.destination"], "Department")
    }

    // MARK: Types

    private func items() throws {
        let model = Model()
        let item = try model.addEntity(named: "Item")
        for (name, type) in [
            ("flag", .boolean), ("small", .integer16), ("whole", .integer32), ("large", .integer64), ("single", .float),
            ("real", .double), ("exact", .decimal), ("text", .string), ("data", .binary), ("when", .date),
            ("id", .uuid), ("link", .uri), ("shape", .transformable),
        ] as [(String, AttributeType)] {
            try item.addAttribute(named: name, type: type)
        }
        try item.addAttribute(named: "file", type: .binary).setAllowsExternalStorage(true)
        let place = try item.addAttribute(named: "place", type: .composite)
        try place.addElement(named: "latitude", type: .double)
        try place.addElement(named: "note", type: .string)
        try open(model)
    }

    private let values: [String: PropertyValue] = [
        "flag": .bool(true), "small": .int(-7), "whole": .int(70000), "large": .int(1 << 40), "single": .double(1.5),
        "real": .double(0.1), "exact": .decimal(try! DecimalNumber("-12.5")), "text": .string("Zoë"),
        "data": .bytes(Bytes([1, 2, 255])), "when": .date(0.25), "link": .uri("https://example.com/"),
        "id": .uuid(UUIDValue("00112233-4455-6677-8899-AABBCCDDEEFF")!),
        "file": .bytes(Bytes([UInt8](repeating: 7, count: 300_000))),
        "place": .dictionary(["latitude": .double(52.5)]),
    ]

    private func checkItem(_ table: ArrowTable, file: StaticString = #filePath, line: UInt = #line) {
        let expected = [
            "flag": "true", "small": "-7", "whole": "70000", "large": "\(1 << 40 as Int64)", "single": "1.5",
            "real": "0.1",
            "exact": "-12500000000000000000", "text": "Zoë", "data": "0102ff", "when": "978307200250000",
            "link": "https://example.com/", "id": "00112233445566778899aabbccddeeff",
            "file": String(repeating: "07", count: 300_000), "place": "{latitude=52.5, note=nil}",
        ]
        for (name, text) in expected {
            XCTAssertEqual(table[name].first, text, name, file: file, line: line)
            XCTAssertEqual(table[name].last, .some(nil), name, file: file, line: line)
        }
        XCTAssertEqual(
            table.formats, ["b", "s", "i", "l", "f", "g", "d:38,18", "u", "z", "tsu:UTC", "w:16", "u", "z", "Z", "+s"],
            file: file, line: line)
        XCTAssertEqual(table.strayBuffers, 0, file: file, line: line)
    }

    func testEveryAttributeTypeIsExported() throws {
        try items()
        let object = try context.insert("Item")
        for (name, value) in values { try object.setValue(value, forKey: name) }
        let nothing = try context.insert("Item")
        try context.save()
        let all = try request("Item", sort: nil)
        XCTAssertEqual(try table(request: all).columns.count, 15)
        checkItem(try table(request: all))
        let fresh = Context(coordinator: coordinator)
        checkItem(try ArrowTable(fresh.fetchArrow(all)))
        // Objects, unsaved ones too, and rows of dictionaries.
        checkItem(try ArrowTable(ArrowStream([object, nothing])))
        let unsaved = try context.insert("Item")
        for (name, value) in values { try unsaved.setValue(value, forKey: name) }
        checkItem(try ArrowTable(ArrowStream([unsaved, context.insert("Item")])))
        XCTAssertEqual(try table("place.latitude", request: all)["place.latitude"].first, "52.5")
    }

    func testDictionaryColumnsHaveTheTypesOfTheirAttributes() throws {
        try staff()
        let request = try request()
        request.propertiesToFetch = [
            "name", "age", "department", "department.name",
            .expression(ExpressionDescription(name: "double", expression: try Expression.parse("age * 2"))),
        ]
        let table = try ArrowTable(context.fetchArrow(request))
        XCTAssertEqual(table.names, ["name", "age", "department", "department.name", "double"])
        XCTAssertEqual(table.formats, ["u", "i", "u", "u", "l"])
        XCTAssertEqual(table["double"], ["72", nil, "40", "80"])
        XCTAssertEqual(table["department"][0], try context.fetch(self.request("Department"))[0].objectID.uri)
        let rows = FetchedRows(columns: ["a", "b"], rows: [[.int(1), .null], [.double(0.5), .null]])
        XCTAssertEqual(try ArrowTable(ArrowStream(rows)).formats, ["g", "n"])
        let mixed = FetchedRows(columns: ["a"], rows: [[.int(1)], [.string("x")]])
        XCTAssertThrowsError(try ArrowStream(mixed)) { XCTAssertEqual(($0 as? CoreError)?.status, .typeMismatch) }
    }

    func testDecimalScaleFitsAllValues() throws {
        try items()
        func formats(_ texts: String..., text: Bool = false) throws -> (String, [String?]) {
            for object in try context.fetch(request("Item", sort: nil)) { try context.delete(object) }
            for text in texts {
                try context.insert("Item").setValue(.decimal(try DecimalNumber(text)), forKey: "exact")
            }
            let options = ArrowOptions(batchSize: 2, showsDecimalsAsText: text)
            let unsaved = try table("exact", request: request("Item", sort: nil), options: options)
            try context.save()
            let saved = try table("exact", request: request("Item", sort: nil), options: options)
            XCTAssertEqual(saved.formats, unsaved.formats)
            XCTAssertEqual(saved["exact"], unsaved["exact"])
            return (saved.formats[0], saved["exact"])
        }
        let usual = try formats("1.5", "0", "-3", "99")
        XCTAssertEqual(usual.0, "d:38,18")
        XCTAssertEqual(usual.1, ["1500000000000000000", "0", "-3000000000000000000", "99000000000000000000"])
        let wide = try formats("1e25", "0.5")
        XCTAssertEqual(wide.0, "d:38,12")
        XCTAssertEqual(wide.1, ["1" + String(repeating: "0", count: 37), "500000000000"])
        let fine = try formats("0.00000000000000000000125", "7", "8")
        XCTAssertEqual(fine.0, "d:38,23")
        XCTAssertEqual(fine.1[0], "125")
        let text = try formats("1e30", "0.000000000000000000125", "7")
        XCTAssertEqual(text.0, "u")
        XCTAssertEqual(text.1.count, 3)
        XCTAssertEqual(try text.1.map { try DecimalNumber($0 ?? "") }[1], try DecimalNumber("0.000000000000000000125"))
        XCTAssertEqual(try formats("1.5", text: true).1, ["1.5"])
    }

    func testDateOutOfRangeIsExportedAsNull() throws {
        try items()
        for seconds in [63_113_904_000, -978_307_200.0000005, 1e15, -1e15] {
            try context.insert("Item").setValue(.date(seconds), forKey: "when")
        }
        try context.save()
        let dates = try table("when", request: request("Item", sort: nil))["when"]
        XCTAssertEqual(dates, ["64092211200000000", "0", nil, nil])
    }

    func testOffsetsAre64BitWhenTextIsTooLongFor32Bit() throws {
        try staff()
        ArrowBuilder.largestOffset = 7
        defer { ArrowBuilder.largestOffset = Int(Int32.max) }
        let employees = try context.fetch(request())
        let whole = try ArrowTable(ArrowStream(employees, keyPaths: ["name"]))
        XCTAssertEqual(whole.formats, ["U"])
        XCTAssertEqual(whole["name"], ["Ada", "Bob", "Dan", "Eve"])
        // The schema of rows that were not yet read is fixed.
        XCTAssertThrowsError(try table("name")) { XCTAssertEqual(($0 as? CoreError)?.status, .unsupported) }
        XCTAssertEqual(try table("name", options: ArrowOptions(batchSize: 2))["name"].count, 4)
    }

    // MARK: Which rows

    func testExportIncludesUnsavedChangesLikeAFetch() throws {
        try staff()
        let employees = try context.fetch(request())
        try employees[0].set("name", "Zed")
        try context.delete(employees[1])
        _ = try context.insert(
            "Employee", ["name": "Cid", "age": 50, "department": employees[3].get("department") as ManagedObject?])
        let window = try request("Employee", "age > 10")
        (window.limit, window.offset) = (2, 1)
        XCTAssertEqual(try table("name")["name"], ["Cid", "Dan", "Eve", "Zed"])
        XCTAssertEqual(try table("name", request: window)["name"], ["Dan", "Eve"])
        let saved = try request()
        saved.includesPendingChanges = false
        XCTAssertEqual(try table("name", "department.name", request: saved)["name"], ["Ada", "Bob", "Dan", "Eve"])
        // Changes of the target of a key path are exported too.
        try context.rollback()
        try XCTUnwrap(context.fetch(request("Department")).first).set("name", "Shop")
        XCTAssertEqual(try table("department.name")["department.name"], ["Shop", "Shop", nil, "Shop"])
        XCTAssertEqual(try table("department.name", request: saved)["department.name"], ["Labs", "Labs", nil, "Labs"])
    }

    func testExportAppliesPredicatesThatAreEvaluatedInMemory() throws {
        try staff()
        let request = try request("Employee", "speed == nil AND age > 30")
        XCTAssertEqual(try table("name", request: request)["name"], ["Ada", "Eve"])
        request.includesPendingChanges = false
        try XCTUnwrap(context.fetch(self.request()).first).set("age", 1)
        let saved = try table("name", "age", "objectID", "department.objectID", request: request)
        XCTAssertEqual(saved["age"], ["36", "40"])
        XCTAssertEqual(saved["department.objectID"][0], try context.fetch(self.request("Department"))[0].objectID.uri)
    }

    func testExportReadsStoresWithoutSnapshots() throws {
        try open(GraphTestCase.company(), rollback: true)
        try staff()
        XCTAssertEqual(try table("name", "department.name")["department.name"], ["Labs", "Labs", nil, "Labs"])
        coordinator = try Coordinator(model: GraphTestCase.company())
        _ = try coordinator.add(MemoryStore(model: coordinator.model))
        context = Context(coordinator: coordinator)
        try staff()
        XCTAssertEqual(try table("name", "department.name")["department.name"], ["Labs", "Labs", nil, "Labs"])
    }

    func testExportSupportsEmptyResultsAndEntitiesWithoutAttributes() throws {
        let none = try table("name", "department.name", "projects")
        XCTAssertEqual(none.names, ["name", "department.name", "projects"])
        XCTAssertEqual(none.batches, [])
        XCTAssertThrowsError(try ArrowStream([]))
        XCTAssertEqual(try ArrowTable(ArrowStream([], of: request().entity)).batches, [0])
        let model = Model()
        try model.addEntity(named: "Bare")
        try open(model)
        _ = try context.insert("Bare")
        try context.save()
        let bare = try table(request: request("Bare", sort: nil))
        XCTAssertEqual((bare.names, bare.batches).0, [])
        XCTAssertEqual(bare.batches, [1])
    }

    func testBatchesHaveTheRequestedSize() throws {
        for number in 0..<1000 { _ = try context.insert("Employee", ["name": "n\(number)", "age": number]) }
        try context.save()
        let sorted = try request(sort: "age")
        XCTAssertEqual(
            try table("age", request: sorted, options: ArrowOptions(batchSize: 300)).batches, [300, 300, 300, 100])
        XCTAssertEqual(
            try table("age", request: sorted, options: ArrowOptions(batchSize: 300))["age"], (0..<1000).map { "\($0)" })
        let children = Context(parent: context)
        XCTAssertEqual(
            try ArrowTable(children.fetchArrow(sorted, keyPaths: ["age"], options: ArrowOptions(batchSize: 300)))
                .batches,
            [300, 300, 300, 100])
    }

    // MARK: Snapshots

    func testStreamReadsTheSnapshotOfItsCreation() throws {
        for number in 0..<1000 { _ = try context.insert("Employee", ["name": "n\(number)", "age": number]) }
        try context.save()
        let stream = try context.fetchArrow(request(), keyPaths: ["age"], options: ArrowOptions(batchSize: 100))
        var array = platform_arrow_array()
        XCTAssertTrue(try stream.next(into: &array))
        array.release(&array)
        let other = Context(coordinator: coordinator)
        for object in try other.fetch(request()) { try other.delete(object) }
        try other.save()
        XCTAssertEqual(try other.count(request()), 0)
        let rest = try ArrowTable(stream)
        XCTAssertEqual(rest.batches, Array(repeating: 100, count: 9))
        XCTAssertEqual(try ArrowTable(other.fetchArrow(request())).batches, [])
    }

    func testAbandonedStreamDoesNotPinLaterReads() throws {
        try staff()
        for round in 0..<20 {
            let stream = try context.fetchArrow(request(), keyPaths: ["name"], options: ArrowOptions(batchSize: 1))
            var array = platform_arrow_array()
            XCTAssertTrue(try stream.next(into: &array))
            array.release(&array)
            _ = stream
            _ = try context.insert("Employee", ["name": "R\(round)"])
            try context.save()
            XCTAssertEqual(try table("name")["name"].count, 5 + round)
        }
    }

    func testStreamCanBeReadOnAnyThread() throws {
        for number in 0..<5000 { _ = try context.insert("Employee", ["name": "n\(number)", "age": number]) }
        try context.save()
        let streams = try (0..<4).map { _ in
            try context.fetchArrow(request(), keyPaths: ["age"], options: ArrowOptions(batchSize: 500))
        }
        let counts = Locked([Int](repeating: 0, count: 4))
        DispatchQueue.concurrentPerform(iterations: 4) { place in
            let count = (try? ArrowTable(streams[place]).batches.reduce(0, +)) ?? -1
            counts.withLock { $0[place] = count }
        }
        XCTAssertEqual(counts.withLock { $0 }, [5000, 5000, 5000, 5000])
    }

    func testStreamOutlivesItsContextButFailsAfterStoreRemoval() throws {
        try staff()
        let stream = try context.fetchArrow(request(), keyPaths: ["name"], options: ArrowOptions(batchSize: 1))
        var exported = platform_arrow_stream()
        try context.fetchArrow(request(), keyPaths: ["name"]).export(to: &exported)
        (context, store, coordinator) = (nil, nil, nil)
        XCTAssertEqual(try ArrowTable(stream).batches.count, 4)
        var array = platform_arrow_array()
        XCTAssertEqual(exported.get_next(&exported, &array), 0)
        XCTAssertEqual(array.length, 4)
        exported.release(&exported)
        XCTAssertNil(exported.release)
        array.release(&array)

        try open(GraphTestCase.company())
        try staff()
        try context.fetchArrow(request(), keyPaths: ["name"]).export(to: &exported)
        try coordinator.remove(store)
        XCTAssertNotEqual(exported.get_next(&exported, &array), 0)
        XCTAssertNil(array.release)
        XCTAssertTrue(try String(cString: XCTUnwrap(exported.get_last_error(&exported))).contains("removed"))
        exported.release(&exported)
    }

    func testPinnedContextExportsItsGeneration() throws {
        try staff()
        try context.setQueryGeneration(from: .current)
        XCTAssertEqual(try table("name")["name"].count, 4)
        let other = Context(coordinator: coordinator)
        _ = try other.insert("Employee", ["name": "New"])
        try other.save()
        XCTAssertEqual(try table("name")["name"].count, 4)
        XCTAssertEqual(try ArrowTable(other.fetchArrow(request(), keyPaths: ["name"]))["name"].count, 5)
    }

    // MARK: Schemas and errors

    func testSchemaMarksAllColumnsNullableExceptObjectID() throws {
        try staff()
        let stream = try context.fetchArrow(
            request(), keyPaths: ["objectID", "name", "department", "department.objectID", "projects"])
        var schema = platform_arrow_schema()
        try stream.exportSchema(to: &schema)
        defer { schema.release(&schema) }
        XCTAssertEqual((0..<5).map { schema.children[$0]!.pointee.flags }, [0, 2, 2, 2, 2])
        XCTAssertEqual(schema.flags, 0)
        XCTAssertEqual(String(cString: schema.format), "+s")
    }

    func testEachKindOfColumnHasItsMetadata() throws {
        try items()
        let stream = try context.fetchArrow(request("Item", sort: nil))
        XCTAssertEqual(
            try ArrowTable.metadata(stream, of: "id"),
            [
                "corestone.entity": "Item", "corestone.type": "UUID", "corestone.optional": "true",
                "ARROW:extension:name": "arrow.uuid", "ARROW:extension:metadata": "",
            ])
        try open(GraphTestCase.company())
        let people = try context.fetchArrow(request(), keyPaths: ["objectID", "name", "projects", "department.name"])
        XCTAssertEqual(try ArrowTable.metadata(people, of: "objectID"), [:])
        XCTAssertEqual(
            try ArrowTable.metadata(people, of: "name"),
            ["corestone.entity": "Person", "corestone.type": "String", "corestone.optional": "false"])
        XCTAssertEqual(
            try ArrowTable.metadata(people, of: "projects"),
            [
                "corestone.entity": "Employee", "corestone.type": "Relationship", "corestone.optional": "true",
                "corestone.destination": "Project",
            ])
        XCTAssertEqual(try ArrowTable.metadata(people, of: "department.name")["corestone.entity"], "Department")
    }

    func testSchemaMetadataNamesTheEntity() throws {
        try staff()
        for (stream, name) in [
            (try context.fetchArrow(request()), "Employee"),
            (try ArrowStream(context.fetch(request("Manager"))), "Manager"),
        ] {
            var schema = platform_arrow_schema()
            try stream.exportSchema(to: &schema)
            defer { schema.release(&schema) }
            // A count, then sizes and bytes of keys and values.
            var expected: [UInt8] = []
            for part in [1, 16] { withUnsafeBytes(of: Int32(part)) { expected += $0 } }
            expected += "corestone.entity".utf8
            withUnsafeBytes(of: Int32(name.utf8.count)) { expected += $0 }
            expected += name.utf8
            XCTAssertEqual(Array(UnsafeRawBufferPointer(start: schema.metadata, count: expected.count)), expected)
        }
    }

    /// The message of a failed call is kept until the next successful call. A failed read ends the stream.
    func testExportedStreamReportsTheErrorOfItsLastCall() throws {
        try staff()
        ArrowBuilder.largestOffset = 7
        defer { ArrowBuilder.largestOffset = Int(Int32.max) }
        var exported = platform_arrow_stream()
        try context.fetchArrow(request(), keyPaths: ["name"]).export(to: &exported)
        var array = platform_arrow_array()
        XCTAssertNil(exported.get_last_error(&exported))
        XCTAssertEqual(exported.get_next(&exported, &array), EINVAL)
        XCTAssertTrue(
            try String(cString: XCTUnwrap(exported.get_last_error(&exported))).contains(
                "pass a smaller batch_size (batchSize)"))
        XCTAssertEqual(exported.get_next(&exported, nil), EINVAL)
        XCTAssertEqual(exported.get_next(&exported, &array), 0)
        XCTAssertNil(array.release, "the end")
        XCTAssertNil(exported.get_last_error(&exported))
        XCTAssertEqual(exported.get_schema(&exported, nil), EINVAL)
        exported.release(&exported)
        XCTAssertEqual(exported.get_next?(nil, &array), EINVAL)
        try context.fetchArrow(request(), keyPaths: ["name"]).export(to: &exported)
        try coordinator.remove(store)
        XCTAssertEqual(exported.get_next(&exported, &array), EIO)
        exported.release(&exported)
    }

    func testMembersAndKeyPathTargetsCanBeExportedAsPrimaryKeys() throws {
        try staff()
        let employees = try context.fetch(request())
        let labs = try XCTUnwrap(context.fetch(request("Department")).first)
        let options = ArrowOptions(showsKeys: true)
        for objects in [true, false] {
            func table(_ entity: String, _ path: String) throws -> ArrowTable {
                let found = try request(entity)
                return try ArrowTable(
                    objects
                        ? ArrowStream(context.fetch(found), keyPaths: [path], options: options)
                        : context.fetchArrow(found, keyPaths: [path], options: options))
            }
            let members = try table("Department", "employees")
            let listed = try XCTUnwrap(members["employees"][0]).dropFirst().dropLast().components(separatedBy: ", ")
            XCTAssertEqual(
                Set(listed), Set(try labs.members("employees").map { "\($0.primaryKey)" }), "\(objects)")
            let spouses = try table("Employee", "spouse.objectID")
            XCTAssertEqual(spouses.formats, ["l"])
            XCTAssertEqual(
                spouses["spouse.objectID"],
                ["\(employees[1].primaryKey)", "\(employees[0].primaryKey)", nil, nil])
        }
    }

    // MARK: Subentities

    /// Two subentities of one entity, with properties of the same name.
    private func shapes(_ second: AttributeType) throws {
        let model = Model()
        let shape = try model.addEntity(named: "Shape")
        try shape.addAttribute(named: "rank", type: .integer16)
        let (circle, square) = (try model.addEntity(named: "Circle"), try model.addEntity(named: "Square"))
        try circle.addAttribute(named: "size", type: .integer32)
        try square.addAttribute(named: "size", type: second)
        for subentity in [circle, square] { try subentity.setParent(shape) }
        let tag = try model.addEntity(named: "Tag")
        let tags = try circle.addRelationship(named: "tags", destination: tag, isToMany: true)
        let of = try tag.addRelationship(named: "circle", destination: circle)
        try tags.setInverse(of)
        try open(model)
        _ = try context.insert("Shape", ["rank": 1])
        let round = try context.insert("Circle", ["rank": 2, "size": 7])
        _ = try context.insert("Square", ["rank": 3])
        try context.insert("Tag", ["circle": round])
        try context.save()
    }

    func testSamePropertyOfTwoSubentitiesSharesAColumnIfTypesMatch() throws {
        try shapes(.integer32)
        try context.fetch(request("Square", sort: nil))[0].set("size", 8)
        let all = try request("Shape", sort: "rank")
        XCTAssertEqual(try table("size", request: all)["size"], [nil, "7", "8"], "with unsaved changes")
        try context.save()
        XCTAssertEqual(try table("size", request: all)["size"], [nil, "7", "8"])
        try shapes(.string)
        XCTAssertThrowsError(try table("size", request: request("Shape", sort: "rank"))) { error in
            XCTAssertEqual((error as? CoreError)?.status, .invalidArgument)
            XCTAssertEqual((error as? CoreError)?.key, "size")
            XCTAssertTrue("\(error)".contains("a different property in Circle and Square"), "\(error)")
        }
    }

    func testRelationshipOfASubentityIsNullForOtherEntities() throws {
        try shapes(.integer32)
        let all = try request("Shape", sort: "rank")
        let tag = try XCTUnwrap(context.fetch(request("Tag", sort: nil)).first).objectID.uri
        XCTAssertEqual(try table("tags", request: all)["tags"], [nil, "[\(tag)]", nil])
        XCTAssertEqual(
            try ArrowTable(ArrowStream(context.fetch(all), of: all.entity, keyPaths: ["tags"]))["tags"],
            [nil, "[\(tag)]", nil])
    }

    func testGroupedDictionariesAreExported() throws {
        try staff()
        let request = try request(sort: nil)
        request.resultType = .dictionaries
        request.propertiesToGroupBy = ["department.name"]
        request.propertiesToFetch = [
            "department.name",
            .expression(ExpressionDescription(name: "n", expression: try Expression.parse("count:(name)"))),
        ]
        let table = try ArrowTable(context.fetchArrow(request))
        XCTAssertEqual(table.names, ["department.name", "n"])
        XCTAssertEqual(table.rows, [[nil, "1"], ["Labs", "3"]])
    }
}
