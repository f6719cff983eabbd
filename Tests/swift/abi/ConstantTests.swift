import CCorestone
import XCTest

/// Constants that bindings copy as numbers. `EveryStructTests` checks the layout of the structs.
final class ConstantTests: XCTestCase {
    func testCodesInTheInterfaceKeepTheirNumbers() {
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
