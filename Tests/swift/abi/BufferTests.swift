import CCorestone
import XCTest

final class BufferTests: ABITestCase {
    func testVersionStringMatchesVersionNumbers() {
        var parts: (Int32, Int32, Int32) = (-1, -1, -1)
        cst_version(&parts.0, &parts.1, &parts.2)
        XCTAssertEqual(string(cst_version_string()), "\(parts.0).\(parts.1).\(parts.2)")
        cst_version(nil, nil, nil)
    }

    func testBufferIsReusedByTheNextCall() {
        var predicate: OpaquePointer?
        var buffer = cst_buffer()
        ok { cst_predicate_parse(text("name == 'x'"), 0, nil, &predicate, $0) }
        ok { cst_predicate_copy_format(predicate, &buffer, $0) }
        XCTAssertEqual(buffer.data[buffer.size], 0)
        XCTAssertGreaterThan(buffer.capacity, buffer.size)
        let (size, capacity) = (buffer.size, buffer.capacity)
        ok { cst_predicate_copy_format(predicate, &buffer, $0) }
        XCTAssertEqual(buffer.size, size)
        XCTAssertEqual(buffer.capacity, capacity, "the allocation is reused")
        cst_buffer_dispose(&buffer)
        XCTAssertNil(buffer.data)
        cst_buffer_dispose(nil)
        release(predicate)
    }
}
