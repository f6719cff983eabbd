import CCorestone
import CorestoneGraph
import XCTest

@testable import CorestoneABI

/// Borrowed handles of to-one targets: an object keeps the handle of its target until the relationship changes.
final class BorrowedTargetTests: ContextHandleTestCase {
    private func slot(_ key: cst_key) throws -> UInt { try CorestoneABI.object(employee).borrowedTargetSlot(key: key) }

    func testTargetIsBorrowedByTheFirstRead() throws {
        XCTAssertEqual(try slot(departmentKey), 0)
        let borrowed = borrowedDepartment()
        XCTAssertNotNil(borrowed)
        XCTAssertEqual(try slot(departmentKey), UInt(bitPattern: borrowed))
        XCTAssertEqual(borrowedDepartment(), borrowed)
        XCTAssertTrue(isValid(borrowed))
        XCTAssertEqual(release(borrowed), cst_status(CST_E_INVALID_HANDLE), "a borrowed handle was released")
    }

    func testOtherPropertiesHaveNoBorrowedTarget() throws {
        _ = borrowedDepartment()
        XCTAssertEqual(try slot(nameKey), 0)
        XCTAssertEqual(try slot(departmentNameKey), 0, "the key belongs to another entity")
        XCTAssertEqual(try slot(.max), 0)
    }

    func testBorrowedTargetEndsWhenTheRelationshipChanges() throws {
        let borrowed = borrowedDepartment()
        setDepartment(lab)
        XCTAssertEqual(try slot(departmentKey), 0)
        XCTAssertFalse(isValid(borrowed))
        XCTAssertEqual(borrowedDepartment(), lab)
        XCTAssertEqual(try slot(departmentKey), UInt(bitPattern: lab))
    }

    func testBorrowedTargetEndsWhenItsSourceBecomesAFault() throws {
        let borrowed = borrowedDepartment()
        ok { cst_object_refresh(employee, false, $0) }
        XCTAssertEqual(try slot(departmentKey), 0)
        XCTAssertFalse(isValid(borrowed))
        let again = borrowedDepartment()
        XCTAssertTrue(isValid(again))
        XCTAssertNotEqual(again, borrowed)
    }

    func testBorrowedTargetEndsWhenARefreshKeepsOtherChanges() throws {
        let borrowed = borrowedDepartment()
        var value = cst_value()
        value.type = UInt32(CST_STRING)
        value.as.string = literal("Ada")
        ok { cst_object_set(employee, nameKey, &value, $0) }
        XCTAssertTrue(isValid(borrowed), "a change of another property ended the borrowed handle")
        ok { cst_object_refresh(employee, true, $0) }
        XCTAssertEqual(try slot(departmentKey), 0)
        XCTAssertFalse(isValid(borrowed))
        XCTAssertTrue(isValid(borrowedDepartment()))
    }

    func testBorrowedTargetOfAChangeEndsWithTheRollback() throws {
        setDepartment(lab)
        let borrowed = borrowedDepartment()
        release(lab)
        lab = nil
        XCTAssertTrue(isValid(borrowed))
        ok { cst_context_rollback(context, $0) }
        XCTAssertEqual(try slot(departmentKey), 0)
        XCTAssertFalse(isValid(borrowed))
        XCTAssertTrue(isValid(borrowedDepartment()))
    }

    func testBorrowedTargetEndsWithTheReset() throws {
        let borrowed = borrowedDepartment()
        // The handle of an object that has left its context does not lead to the object any more.
        let source = try CorestoneABI.object(employee)
        ok { cst_context_reset(context, $0) }
        XCTAssertEqual(source.borrowedTargetSlot(key: departmentKey), 0)
        XCTAssertFalse(isValid(borrowed))
    }
}
