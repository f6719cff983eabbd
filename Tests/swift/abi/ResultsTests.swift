import CCorestone
import XCTest

final class ResultsTests: CompanyTestCase {
    private func people() -> OpaquePointer? {
        let keys = [nameKey, age]
        let values: [cst_value] = [.text("Ada"), .int(1), .text("Zoë"), .null, .text(""), .int(3)]
        ok { cst_context_insert_many(context, person, 3, 2, keys, values, nil, $0) }
        save()
        return fetch(newContext())
    }

    func testResultsReturnWindowsAndEndOutOfRange() {
        let results = people()
        XCTAssertEqual(cst_results_count(results), 3)
        var one: OpaquePointer?
        XCTAssertEqual(Int(ok { cst_results_get_object(results, 3, &one, $0) }), CST_END)
        XCTAssertEqual(Int(ok { cst_results_get_object(results, -1, &one, $0) }), CST_END)
        var objects = [OpaquePointer?](repeating: nil, count: 3)
        var count = 9
        ok { cst_results_get_objects(results, 1, -1, &objects, &count, $0) }
        XCTAssertEqual(count, 2)
        XCTAssertEqual(objects[0], object(results, 1))
        XCTAssertEqual(Int(ok { cst_results_get_objects(results, 3, 1, &objects, &count, $0) }), CST_END)
        XCTAssertEqual(count, 0)
    }

    func testColumnsHaveTheValuesOfAllObjects() {
        let results = people()
        var values = [cst_value](repeating: .null, count: 3)
        var count = 0
        ok { cst_results_get_column(results, nameKey, 0, 3, &values, &count, $0) }
        XCTAssertEqual(values.map { string($0.as.string) }, ["", "Ada", "Zoë"])
        ok { cst_results_get_column_path(results, text("age"), 0, 3, &values, &count, $0) }
        XCTAssertEqual(values.map { Int($0.type) }, [CST_INT, CST_INT, CST_NULL])
        fails(CST_E_INVALID_ARGUMENT, { cst_results_get_column(results, 5, 0, 3, &values, &count, $0) })
        XCTAssertEqual(count, 0)
        ok { cst_results_get_column_path(results, text("friends.@count"), 0, 3, &values, &count, $0) }
        XCTAssertEqual(values.map(\.as.integer), [0, 0, 0])
    }

    func testPackedColumnsHaveTheDocumentedLayout() {
        let results = people()
        let keys = [nameKey, age, toDepartment, salary]
        var buffer = cst_buffer()
        ok { cst_results_copy_columns(results, 0, -1, 4, keys, &buffer, $0) }
        var reader = ColumnReader(buffer)
        XCTAssertEqual(reader.words(2), [3, 4])
        XCTAssertEqual(reader.words(1), [3])
        XCTAssertEqual(reader.bytes(3), [0, 0, 0])
        XCTAssertEqual(reader.words(1), [7], "bytes of AdaZoë")
        XCTAssertEqual(reader.words(4), [0, 0, 3, 6], "code points")
        XCTAssertEqual(reader.bytes(7), Array("AdaZoë".utf8))
        XCTAssertEqual(reader.words(1), [1])
        XCTAssertEqual(reader.bytes(3), [0, 0, 1])
        XCTAssertEqual(reader.words(3), [3, 1, 0])
        XCTAssertEqual(reader.words(1), [6])
        XCTAssertEqual(reader.bytes(3), [1, 1, 1])
        XCTAssertEqual(reader.words(3), [0, 0, 0])
        XCTAssertEqual(reader.words(1), [3], "decimals are text")
        XCTAssertEqual(reader.bytes(3), [1, 1, 1])
        XCTAssertEqual(reader.words(5), [0, 0, 0, 0, 0])
        XCTAssertEqual(reader.place, buffer.size)
        fails(CST_E_TYPE_MISMATCH, { cst_results_copy_columns(results, 0, 3, 1, [self.friends], &buffer, $0) })
        fails(CST_E_INVALID_ARGUMENT, { cst_results_copy_columns(results, 0, 3, 1, nil, &buffer, $0) })
        cst_buffer_dispose(&buffer)
    }

    func testPackedColumnOfARelationshipHasKeysOfTheTargets() {
        let (ada, bob) = (insert("Ada"), insert("Bob"))
        let labs = insert(entity: department)
        set(ada, toDepartment, .object(labs))
        save()
        set(bob, toDepartment, .object(labs))
        var buffer = cst_buffer()
        ok { cst_results_copy_columns(fetch(), 0, 2, 1, [toDepartment], &buffer, $0) }
        var reader = ColumnReader(buffer)
        XCTAssertEqual(reader.words(3), [2, 1, 6])
        XCTAssertEqual(reader.bytes(2), [0, 0])
        XCTAssertEqual(reader.words(2), [1, 1], "the keys of the saved and of the changed target")
        cst_buffer_dispose(&buffer)
    }

    func testPackedColumnsOfEmptyResultsHaveTheTypesOfTheEntity() {
        var buffer = cst_buffer()
        ok { cst_results_copy_columns(fetch(), 0, 10, 2, [nameKey, age], &buffer, $0) }
        var reader = ColumnReader(buffer)
        XCTAssertEqual(reader.words(2), [0, 2])
        XCTAssertEqual(reader.words(3), [3, 0, 0], "text: no bytes, one offset")
        XCTAssertEqual(reader.words(1), [1])
        cst_buffer_dispose(&buffer)
    }

    func testFetchIDsReturnsIDsThatFindTheirObjects() {
        _ = people()
        var request, ids, object, id: OpaquePointer?
        ok { cst_fetch_request_new(person, &request, $0) }
        ok { cst_context_fetch_ids(context, request, &ids, $0) }
        XCTAssertEqual(cst_results_count(ids), 3)
        ok { cst_results_copy_id(ids, 0, &id, $0) }
        XCTAssertEqual(Int(ok { cst_context_existing_object(context, id, &object, $0) }), CST_OK)
        fails(CST_E_INVALID_ARGUMENT, { cst_results_get_object(ids, 0, &object, $0) })
        for handle in [request, ids, object, id] { release(handle) }
    }
}

/// Reads a buffer that `cst_results_copy_columns` wrote.
private struct ColumnReader {
    private let data: UnsafeRawPointer
    private(set) var place = 0

    init(_ buffer: cst_buffer) { data = UnsafeRawPointer(buffer.data) }

    mutating func words(_ count: Int) -> [Int64] {
        defer { place += count * 8 }
        return (0..<count).map { data.load(fromByteOffset: place + $0 * 8, as: Int64.self) }
    }

    mutating func bytes(_ count: Int) -> [UInt8] {
        defer { place += (count + 7) & ~7 }
        return (0..<count).map { data.load(fromByteOffset: place + $0, as: UInt8.self) }
    }
}
