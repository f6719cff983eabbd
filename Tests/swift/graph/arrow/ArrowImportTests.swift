import CPlatform
import Corestone
import Foundation
import XCTest

@testable import CorestoneGraph

/// Imports of the streams that this library exports, into contexts and stores.
final class ArrowImportTests: XCTestCase {
    private var folder = ""
    private var coordinator: Coordinator!
    private var context: Context!

    override func setUpWithError() throws {
        folder = NSTemporaryDirectory() + "corestone-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        coordinator = try Coordinator(model: GraphTestCase.company())
        var options = StoreOptions()
        options.normalSync = true
        _ = try coordinator.addSQLiteStore(at: "\(folder)/company.sqlite", options: options)
        context = Context(coordinator: coordinator)
    }

    override func tearDown() {
        (context, coordinator) = (nil, nil)
        try? FileManager.default.removeItem(atPath: folder)
    }

    private func staff() throws {
        let labs = try context.insert("Department", ["name": "Labs"])
        _ = try context.insert("Employee", ["name": "Ada", "age": 36, "department": labs])
        _ = try context.insert("Employee", ["name": "Bob", "department": labs])
        _ = try context.insert("Employee", ["name": "Dan", "age": 20])
        try context.save()
    }

    /// Exports employees, and passes the C stream to the body, which must release it.
    private func exporting<Result>(
        _ keyPaths: String..., batchSize: Int = 2, _ body: (UnsafeMutableRawPointer) throws -> Result
    ) throws -> Result {
        var stream = platform_arrow_stream()
        var options = ArrowOptions()
        options.batchSize = batchSize
        try context.fetchArrow("Employee", keyPaths: keyPaths, sort: ["name"], options: options).export(to: &stream)
        defer { XCTAssertNil(stream.release) }
        return try withUnsafeMutablePointer(to: &stream) { try body($0) }
    }

    private func employees(_ keyPath: String) throws -> [PropertyValue] {
        try context.fetch("Employee", sort: ["name"]).map { try $0.value(forKeyPath: keyPath) }
    }

    private func assertThrows(
        _ status: Status, _ words: String, line: UInt = #line, _ body: () throws -> Void
    ) {
        XCTAssertThrowsError(try body(), line: line) { error in
            XCTAssertEqual((error as? CoreError)?.status, status, line: line)
            let message = (error as? CoreError)?.message ?? ""
            XCTAssertTrue(message.contains(words), message, line: line)
        }
    }

    // MARK: Contexts

    func testInsertArrowInsertsAnObjectForEachRow() throws {
        try staff()
        let count = try exporting("name", "age", "department.name") { try context.insertArrow("Employee", from: $0) }
        XCTAssertEqual(count, 3)
        XCTAssertEqual(context.insertedObjects.count, 3)
        try context.save()
        XCTAssertEqual(
            try employees("age"), [.int(36), .int(36), .null, .null, .int(20), .int(20)])
        XCTAssertEqual(try context.count("Employee", "department.name == 'Labs'"), 4)
    }

    func testUpsertArrowChangesOnlyObjectsWithOtherValues() throws {
        try staff()
        var stream = platform_arrow_stream()
        try context.fetchArrow("Employee", keyPaths: ["objectID", "name", "age"]).export(to: &stream)
        let bob = try XCTUnwrap(try context.fetch("Employee", "name == 'Bob'").first)
        try bob.setValue(.int(50), forKey: "age")
        var options = ArrowImportOptions()
        options.keys = ["objectID"]
        let result = try context.upsertArrow("Employee", from: &stream, options: options)
        XCTAssertEqual(result, ArrowImportResult(inserted: 0, updated: 3))
        XCTAssertEqual(context.updatedObjects, [bob])
        XCTAssertEqual(try bob.value(forKey: "age"), .null)
    }

    func testRejectedImportRestoresObjectsAndRelationships() throws {
        try staff()
        _ = try context.insert("Department", ["name": "Ada"])
        _ = try context.insert("Department", ["name": "Bob"])
        try context.save()
        var options = ArrowImportOptions()
        options.keys = ["name"]
        options.columns = ["objectID": nil, "department.name": "notes"]
        // Each employee would move to the department of the same name, but there is no department Dan.
        var stream = platform_arrow_stream()
        let rows = try context.fetchArrow(
            "Employee", keyPaths: ["name", "objectID", "department.name"], sort: ["name"])
        rows.export(to: &stream)
        let result = try context.upsertArrow("Employee", from: &stream, options: options)
        XCTAssertEqual(result, ArrowImportResult(inserted: 0, updated: 3))
        try context.rollback()
        for isMapped in [false, true] {
            try context.fetchArrow("Employee", keyPaths: ["name", "age"], sort: ["name"]).export(to: &stream)
            options.columns = isMapped ? ["age": "department.name"] : ["age": nil, "name": "department.name"]
            options.keys = []
            XCTAssertThrowsError(try context.insertArrow("Employee", from: &stream, options: options)) { error in
                let message = (error as? CoreError)?.message ?? ""
                XCTAssertTrue(message.contains(isMapped ? "takes utf8, not int32" : "row 3 of the Arrow"), message)
            }
            XCTAssertFalse(context.hasChanges)
            XCTAssertEqual(try employees("department.name"), [.string("Labs"), .string("Labs"), .null])
        }
    }

    func testImportIsUndoneInOneStep() throws {
        try staff()
        try context.setUndoManager(UndoManager())
        _ = try exporting("name", "department") { try context.insertArrow("Employee", from: $0) }
        try context.processPendingChanges()
        XCTAssertEqual(try context.count("Employee"), 6)
        try context.undo()
        XCTAssertEqual(try context.count("Employee"), 3)
        XCTAssertFalse(context.hasChanges)
    }

    func testImportIsRejectedOutsideOfTheContextsQueue() throws {
        try staff()
        let other = Context(coordinator: coordinator, queue: .privateQueue)
        assertThrows(.wrongThread, "outside its private queue") {
            try exporting("name") { _ = try other.insertArrow("Employee", from: $0) }
        }
        let count = try exporting("name") { stream in
            try other.performAndWait { try $0.insertArrow("Employee", from: stream) }
        }
        XCTAssertEqual(count, 3)
        try other.performAndWait { try $0.rollback() }
    }

    func testCancellationRevertsTheImport() throws {
        try staff()
        var calls: [Int] = []
        var options = ArrowImportOptions()
        options.progress = { rows, isEnd in
            calls.append(rows)
            return !isEnd
        }
        assertThrows(.cancelled, "the Arrow import of Employee was cancelled, and nothing was changed") {
            try exporting("name") { _ = try context.insertArrow("Employee", from: $0, options: options) }
        }
        XCTAssertEqual(calls, [3])
        XCTAssertFalse(context.hasChanges)
    }

    // MARK: Batch requests

    func testBatchRequestReadsAStreamOfTheSameStore() throws {
        try staff()
        let employee = try coordinator.model.requireEntity(named: "Employee")
        let request = try exporting("name", "age") { try BatchInsertRequest(entity: employee, arrow: $0) }
        request.resultType = .objectIDs
        let result: BatchResult = try context.execute(request)
        XCTAssertEqual(result.count, 3)
        XCTAssertEqual(result.objectIDs.count, 3)
        XCTAssertEqual(try context.count("Employee", "age == 36"), 2)
        assertThrows(.invalidArgument, "was already read") { let _: BatchResult = try context.execute(request) }
        assertThrows(.invalidArgument, "leave the column \"department\" out") {
            _ = try exporting("name", "department") { try BatchInsertRequest(entity: employee, arrow: $0) }
        }
    }

    // MARK: Values

    func testHalfPrecisionIsExact() {
        let numbers: [(UInt16, Double)] = [
            (0x0000, 0), (0x3C00, 1), (0xC000, -2), (0x7BFF, 65504), (0x0001, 0x1p-24), (0x03FF, 0x3FFp-24),
            (0x0400, 0x1p-14), (0x3555, 0.333251953125), (0x7C00, .infinity), (0xFC00, -.infinity),
        ]
        for (bits, number) in numbers { XCTAssertEqual(arrowDouble(half: bits), number, "\(bits)") }
        XCTAssertTrue(arrowDouble(half: 0x7E00).isNaN)
        XCTAssertEqual(arrowDouble(half: 0x8000).sign, .minus)
    }

    func testFormatsAreParsedWholly() {
        let types: [(String, ArrowInputType?)] = [
            ("w:16", .fixedBytes(16)), ("w:", nil), ("w:-1", nil), ("w:4294967296", nil), ("w:1x", nil),
            ("d:10,2", .decimal(width: 16, scale: 2)), ("d:5,1,32", .decimal(width: 4, scale: 1)),
            ("d:38,-5", .decimal(width: 16, scale: -5)), ("d:5", nil), ("d:5,1,16", nil), ("d:5,1,256", nil),
            ("d:0,0", nil), ("d:5,300", nil), ("d:5,,", nil),
            ("tsu:", .timestamp(perSecond: 1_000_000, hasZone: false)),
            ("tsn:UTC", .timestamp(perSecond: 1_000_000_000, hasZone: true)), ("tsx:", nil), ("ts", nil),
            ("+w:3", .fixedList(3)), ("+l", .list(.narrow)), ("ll", nil), ("", nil), (":", nil), ("vu", .text(.views)),
        ]
        for (format, type) in types { XCTAssertEqual(ArrowInputType(format: format), type, format) }
        XCTAssertEqual(arrowTypeName("tsn:Europe/Berlin"), "timestamp[ns, Europe/Berlin]")
        XCTAssertEqual(arrowTypeName("d:40,3,256"), "decimal256(40, 3)")
        XCTAssertEqual(arrowTypeName("?"), "the format \"?\"")
    }
}
