import CCorestone
import XCTest

final class LayoutTests: ABITestCase {
    func testSizes() {
        XCTAssertEqual(MemoryLayout<cst_value>.size, 24)
        XCTAssertEqual(MemoryLayout<cst_value>.stride, 24)
        XCTAssertEqual(MemoryLayout<cst_value>.offset(of: \.aux), 4)
        XCTAssertEqual(MemoryLayout<cst_value>.offset(of: \.as), 8)
        XCTAssertEqual(MemoryLayout<cst_string>.size, 16)
        XCTAssertEqual(MemoryLayout<cst_buffer>.size, 24)
        XCTAssertEqual(MemoryLayout<cst_store_options>.size, 144)
        XCTAssertEqual(MemoryLayout<cst_sort>.size, 24)
    }

    func testVersion() {
        var parts: (Int32, Int32, Int32) = (-1, -1, -1)
        cst_version(&parts.0, &parts.1, &parts.2)
        XCTAssertEqual(string(cst_version_string()), "\(parts.0).\(parts.1).\(parts.2)")
        cst_version(nil, nil, nil)
    }

    func testBuffers() {
        var predicate: OpaquePointer?
        var buffer = cst_buffer()
        ok { cst_predicate_parse(text("name == 'x'"), 0, nil, &predicate, $0) }
        ok { cst_predicate_copy_format(predicate, &buffer, $0) }
        XCTAssertEqual(buffer.data[buffer.size], 0)
        XCTAssertGreaterThan(buffer.capacity, buffer.size)
        let (size, capacity) = (buffer.size, buffer.capacity)
        ok { cst_predicate_copy_format(predicate, &buffer, $0) }
        XCTAssertEqual(buffer.size, size)
        XCTAssertEqual(buffer.capacity, capacity, "the memory is used again")
        cst_buffer_dispose(&buffer)
        XCTAssertNil(buffer.data)
        cst_buffer_dispose(nil)
        release(predicate)
    }
}
