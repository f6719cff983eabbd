import CCorestone
import Foundation
import XCTest

/// A store in memory with two departments and an employee of the first, saved by a context of the test's thread.
///
/// The test owns the handles of the employee and of the second department, but not that of the first department.
class ContextHandleTestCase: XCTestCase {
    private(set) var coordinator: OpaquePointer?
    var context: OpaquePointer?
    var employee: OpaquePointer?
    var lab: OpaquePointer?
    private(set) var nameKey: cst_key = 0
    private(set) var departmentKey: cst_key = 0
    private(set) var departmentNameKey: cst_key = 0
    private var model: OpaquePointer?
    private var store: OpaquePointer?

    private static let text = """
        {"Department": {"name": "string?", "employees": "to-many Employee inverse department"},
         "Employee": {"name": "string?", "department": "to-one Department? inverse employees"}}
        """

    override func setUpWithError() throws {
        let text = ContextHandleTestCase.text
        text.withCString { start in
            let view = cst_string(data: start, size: text.utf8.count)
            _ = ok { cst_model_new_from_text(view, &model, $0) }
        }
        ok { cst_coordinator_new(model, &coordinator, $0) }
        ok { cst_coordinator_add_store(coordinator, literal("InMemory"), literal("handles"), nil, &store, $0) }
        ok { cst_context_new(coordinator, cst_queue(CST_QUEUE_CALLER), &context, $0) }
        var employees, departments: OpaquePointer?
        ok { cst_model_entity(model, literal("Employee"), &employees, $0) }
        ok { cst_model_entity(model, literal("Department"), &departments, $0) }
        ok { cst_entity_key(employees, literal("name"), &nameKey, $0) }
        ok { cst_entity_key(employees, literal("department"), &departmentKey, $0) }
        ok { cst_entity_key(departments, literal("name"), &departmentNameKey, $0) }
        var sales: OpaquePointer?
        ok { cst_context_insert(context, departments, &sales, $0) }
        ok { cst_context_insert(context, departments, &lab, $0) }
        ok { cst_context_insert(context, employees, &employee, $0) }
        setDepartment(sales)
        ok { cst_context_save(context, $0) }
        release(sales)
    }

    override func tearDown() {
        for handle in [employee, lab, context, store, coordinator, model] { release(handle) }
    }

    // MARK: Calls

    /// Runs a call that must not fail.
    @discardableResult
    func ok(
        _ call: (UnsafeMutablePointer<OpaquePointer?>) -> cst_status, file: StaticString = #filePath, line: UInt = #line
    ) -> cst_status {
        var error: OpaquePointer?
        let status = call(&error)
        let message = cst_error_message(error).data.map { String(cString: $0) } ?? ""
        XCTAssertGreaterThanOrEqual(status, 0, message, file: file, line: line)
        release(error)
        return status
    }

    @discardableResult
    func release(_ handle: OpaquePointer?) -> cst_status { cst_release(UnsafeMutableRawPointer(handle)) }

    /// Releases a handle on another thread, and waits for that thread.
    func releaseElsewhere(_ handle: OpaquePointer?) {
        nonisolated(unsafe) let released = UnsafeMutableRawPointer(handle)
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            XCTAssertEqual(cst_release(released), 0)
            done.signal()
        }
        done.wait()
    }

    /// Makes a call of a context without an effect on its objects.
    func enter(_ context: OpaquePointer?) {
        var changes = false
        ok { cst_context_has_changes(context, &changes, $0) }
    }

    func setDepartment(_ target: OpaquePointer?) {
        var value = cst_value()
        value.type = UInt32(CST_OBJECT)
        value.as.object = target
        ok { cst_object_set(employee, departmentKey, &value, $0) }
    }

    /// The borrowed handle of the employee's department.
    func borrowedDepartment() -> OpaquePointer? {
        var value = cst_value()
        ok { cst_object_get(employee, departmentKey, &value, $0) }
        return value.type == UInt32(CST_OBJECT) ? value.as.object : nil
    }

    func isValid(_ object: OpaquePointer?) -> Bool {
        var flags: UInt32 = 0
        return cst_object_state(object, &flags, nil) == 0
    }
}

/// Returns a static string as a C string of unlimited lifetime.
func literal(_ string: StaticString) -> cst_string {
    cst_string(
        data: UnsafeRawPointer(string.utf8Start).assumingMemoryBound(to: CChar.self), size: string.utf8CodeUnitCount)
}
