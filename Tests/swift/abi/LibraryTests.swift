import CCorestone
import XCTest

final class LibraryTests: HeaderTestCase {
    func testVersionMatchesTheHeader() {
        var (major, minor, patch): (Int32, Int32, Int32) = (-1, -1, -1)
        cst_version(&major, &minor, &patch)
        XCTAssertEqual([major, minor, patch], [CST_VERSION_MAJOR, CST_VERSION_MINOR, CST_VERSION_PATCH])
        XCTAssertEqual(cst_version_string().swift, "\(major).\(minor).\(patch)")
        cst_version(nil, nil, nil)
    }

    func testReleaseRetainAndDisposeAcceptNull() {
        XCTAssertEqual(cst_release(nil), cst_status(CST_OK))
        XCTAssertNil(cst_retain(nil))
        cst_buffer_dispose(nil)
    }

    func testBufferGrowsAndIsReused() {
        var buffer = cst_buffer()
        for length in [0, 1, 15, 16, 17, 4096, 3] {
            var error: Handle?
            let status = cst_error_new_custom(
                text("D"), 1, text(String(repeating: "x", count: length)), nil, nil, &error)
            XCTAssertEqual(status, cst_status(CST_OK))
            XCTAssertEqual(cst_error_copy_description(error, &buffer), cst_status(CST_OK))
            XCTAssertTrue(buffer.text?.hasPrefix(String(repeating: "x", count: length)) == true)
            XCTAssertEqual(buffer.data[buffer.size], 0)
            XCTAssertGreaterThan(buffer.capacity, buffer.size)
            release(error)
        }
        cst_buffer_dispose(&buffer)
        XCTAssertNil(buffer.data)
        XCTAssertEqual(buffer.size + buffer.capacity, 0)
        cst_buffer_dispose(&buffer)
    }
}
