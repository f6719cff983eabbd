import CCorestone
import XCTest

/// The header's structs as hosts that build them by hand (ctypes, for example) rely on them.
final class StructLayoutTests: XCTestCase {
    func testValues() {
        XCTAssertEqual(MemoryLayout<cst_value>.size, 24)
        XCTAssertEqual(MemoryLayout<cst_value>.stride, 24)
        XCTAssertEqual(MemoryLayout<cst_value>.alignment, 8)
        XCTAssertEqual(MemoryLayout<cst_value>.offset(of: \.type), 0)
        XCTAssertEqual(MemoryLayout<cst_value>.offset(of: \.aux), 4)
        XCTAssertEqual(MemoryLayout<cst_value>.offset(of: \.as), 8)
        XCTAssertEqual(MemoryLayout<cst_decimal>.size, 16)
    }

    func testStrings() {
        XCTAssertEqual(MemoryLayout<cst_string>.size, 16)
        XCTAssertEqual(MemoryLayout<cst_string>.offset(of: \.size), 8)
        XCTAssertEqual(MemoryLayout<cst_bytes>.size, 16)
        XCTAssertEqual(MemoryLayout<cst_buffer>.size, 24)
        XCTAssertEqual(MemoryLayout<cst_buffer>.offset(of: \.size), 8)
        XCTAssertEqual(MemoryLayout<cst_buffer>.offset(of: \.capacity), 16)
        XCTAssertEqual(MemoryLayout<cst_sort>.size, 24)
        XCTAssertEqual(MemoryLayout<cst_sort>.offset(of: \.flags), 16)
    }

    func testStructsWithASize() {
        XCTAssertEqual(MemoryLayout<cst_store_options>.size, 144)
        XCTAssertEqual(MemoryLayout<cst_store_options>.offset(of: \.struct_size), 0)
        XCTAssertEqual(MemoryLayout<cst_store_options>.offset(of: \.flags), 8)
        XCTAssertEqual(MemoryLayout<cst_store_options>.offset(of: \.busy_timeout_ms), 12)
        XCTAssertEqual(MemoryLayout<cst_store_options>.offset(of: \.cache_kb), 16)
        XCTAssertEqual(MemoryLayout<cst_store_options>.offset(of: \.configuration), 24)
        XCTAssertEqual(MemoryLayout<cst_property_info>.offset(of: \.struct_size), 0)
        XCTAssertEqual(MemoryLayout<cst_property_info>.offset(of: \.name), 8)
        XCTAssertEqual(MemoryLayout<cst_property_info>.offset(of: \.kind), 24)
        XCTAssertEqual(MemoryLayout<cst_property_info>.offset(of: \.flags), 28)
        XCTAssertEqual(MemoryLayout<cst_property_info>.offset(of: \.attribute_type), 32)
        XCTAssertEqual(MemoryLayout<cst_property_info>.offset(of: \.key), 36)
        XCTAssertEqual(MemoryLayout<cst_property_info>.offset(of: \.destination), 40)
        XCTAssertEqual(MemoryLayout<cst_property_info>.offset(of: \.inverse), 48)
        XCTAssertEqual(MemoryLayout<cst_property_info>.offset(of: \.delete_rule), 64)
        XCTAssertEqual(MemoryLayout<cst_property_info>.offset(of: \.entity), 80)
        XCTAssertEqual(MemoryLayout<cst_property_info>.size, 88)
    }

    func testCodesThatHostsWriteDown() {
        XCTAssertEqual([CST_OK, CST_NOT_FOUND, CST_END, CST_UNCHANGED], [0, 1, 2, 3])
        XCTAssertEqual([CST_NULL, CST_BOOL, CST_INT, CST_DOUBLE, CST_DECIMAL, CST_STRING], [0, 1, 2, 3, 4, 5])
        XCTAssertEqual([CST_BYTES, CST_DATE, CST_UUID, CST_OBJECT, CST_OBJECT_ID, CST_URI], [6, 7, 8, 9, 10, 11])
        XCTAssertEqual(CST_E_INVALID_HANDLE, -3)
        XCTAssertEqual(CST_CODE_MANAGED_OBJECT_MERGE, 133020)
        XCTAssertEqual(CST_ATTRIBUTE_TRANSFORMABLE, 1800)
        XCTAssertEqual(CST_ATTRIBUTE_OBJECT_ID, 2000)
        XCTAssertEqual(CST_ATTRIBUTE_COMPOSITE, 2100)
    }
}
