import CCorestone
import XCTest

final class HandleTests: CompanyTestCase {
    private func custom() -> OpaquePointer? {
        var error: OpaquePointer?
        XCTAssertEqual(cst_error_new_custom(text("App"), 1, text("m"), nil, nil, &error), 0)
        return error
    }

    func testReleaseAcceptsNullAndRejectsGarbage() {
        XCTAssertEqual(Int(cst_release(nil)), CST_OK)
        XCTAssertNil(cst_retain(nil))
        var local = 0
        withUnsafeMutablePointer(to: &local) { place in
            let garbage: [UInt] = [1, 2, 8, 0xFFF, .max, .max >> 1, UInt(bitPattern: place), 1 << 63, 3 << 32 | 1]
            for bits in garbage {
                let garbage = OpaquePointer(bitPattern: bits)
                XCTAssertNil(retain(garbage))
                XCTAssertEqual(Int(release(garbage)), CST_E_INVALID_HANDLE)
                fails(CST_E_INVALID_HANDLE, { cst_context_save(garbage, $0) })
                XCTAssertEqual(cst_model_entity_count(garbage), 0)
            }
        }
    }

    func testReleasedHandlesStayInvalidWhenTheirSlotsAreReused() {
        var old: [OpaquePointer?] = []
        for _ in 0..<100 {
            let error = custom()
            old.append(error)
            XCTAssertEqual(Int(release(error)), CST_OK)
        }
        let fresh = (0..<100).map { _ in custom() }
        XCTAssertTrue(Set(fresh).isDisjoint(with: old))
        for handle in old {
            XCTAssertEqual(Int(cst_error_status(handle)), CST_E_INVALID_HANDLE)
            XCTAssertEqual(Int(release(handle)), CST_E_INVALID_HANDLE)
            XCTAssertNil(retain(handle))
        }
        for handle in fresh {
            XCTAssertEqual(Int(cst_error_status(handle)), CST_E_CALLBACK)
            release(handle)
        }
    }

    func testHandleOfTheWrongTypeIsRejected() {
        fails(CST_E_INVALID_HANDLE, { cst_context_save(self.model, $0) }) { error in
            XCTAssert(self.string(cst_error_message(error))?.contains("model") == true)
        }
        fails(CST_E_INVALID_HANDLE, { cst_model_freeze(self.context, $0) })
    }

    func testHandleIsCountedOnceUntilItsLastRelease() {
        let before = cst_handle_count()
        let error = custom()
        XCTAssertEqual(cst_handle_count(), before + 1)
        XCTAssertEqual(retain(error), error)
        XCTAssertEqual(cst_handle_count(), before + 1)
        XCTAssertEqual(Int(release(error)), CST_OK)
        XCTAssertEqual(cst_error_code(error), 1)
        XCTAssertEqual(Int(release(error)), CST_OK)
        XCTAssertEqual(Int(release(error)), CST_E_INVALID_HANDLE)
        XCTAssertEqual(cst_handle_count(), before)
    }

    func testReleasingBorrowedHandlesFails() {
        let ada = insert("Ada")
        let results = fetch()
        XCTAssertEqual(object(results, 0), ada, "one handle per object")
        XCTAssertEqual(Int(release(person)), CST_E_INVALID_HANDLE)
        XCTAssertEqual(getText(ada, nameKey), "Ada")
        var lent: OpaquePointer?
        ok { cst_coordinator_model(coordinator, &lent, $0) }
        XCTAssertEqual(lent, model)
        XCTAssertEqual(Int(release(model)), CST_OK)
        XCTAssertEqual(Int(release(lent)), CST_E_INVALID_HANDLE, "the coordinator owns its model")
        XCTAssertEqual(cst_model_entity_count(lent), 4)
        XCTAssertNotNil(retain(lent))
    }

    func testContextOutlivesItsHandleWhileItsObjectsAreRetained() {
        let other = newContext()
        var object: OpaquePointer?
        ok { cst_context_insert(other, person, &object, $0) }
        set(object, nameKey, .text("Ada"))
        XCTAssertEqual(Int(release(other)), CST_OK)
        XCTAssertEqual(Int(release(other)), CST_E_INVALID_HANDLE, "released before")
        XCTAssertEqual(getText(object, nameKey), "Ada")
        var lent: OpaquePointer?
        ok { cst_object_context(object, &lent, $0) }
        save(lent)
        XCTAssertEqual(Int(release(object)), CST_OK)
        fails(CST_E_INVALID_HANDLE, { cst_context_save(lent, $0) })
    }

    func testRetainedEntityKeepsItsModel() {
        var model, entity: OpaquePointer?
        ok { cst_model_new(&model, $0) }
        ok { cst_model_add_entity(model, text("Thing"), &entity, $0) }
        retain(entity)
        XCTAssertEqual(Int(release(model)), CST_OK)
        XCTAssertEqual(string(cst_entity_name(entity)), "Thing")
        var key: cst_key = 0
        XCTAssertEqual(Int(ok { cst_entity_key(entity, text("none"), &key, $0) }), CST_NOT_FOUND)
        XCTAssertEqual(Int(release(entity)), CST_OK)
        XCTAssertNil(string(cst_entity_name(entity)), "the model is freed, and its entities with it")
    }

    func testToOneTargetIsKeptByItsSourceAfterItsRelease() {
        let ada = insert("Ada")
        let labs = insert(entity: department, isKept: false)
        set(ada, toDepartment, .object(labs))
        XCTAssertEqual(get(ada, toDepartment).as.object, labs)
        XCTAssertEqual(Int(release(labs)), CST_OK)
        XCTAssertEqual(state(labs) & CST_OBJECT_INSERTED, CST_OBJECT_INSERTED, "still borrowed from its source")
        set(ada, toDepartment, .null)
        fails(CST_E_INVALID_HANDLE, { cst_object_get(labs, self.departmentName, &self.value, $0) })
    }

    private var value = cst_value.null

    func testContextIsFreedDespiteARetainCycleOfItsObjects() {
        let before = cst_handle_count()
        var context: OpaquePointer?
        ok { cst_context_new(coordinator, cst_queue(CST_QUEUE_CALLER), &context, $0) }
        var ada, labs: OpaquePointer?
        ok { cst_context_insert(context, person, &ada, $0) }
        ok { cst_context_insert(context, department, &labs, $0) }
        set(ada, toDepartment, .object(labs))
        _ = get(ada, toDepartment)
        release(ada)
        release(labs)
        release(context)
        XCTAssertEqual(cst_handle_count(), before)
    }

    func testHandlesReleasedOnAnotherThreadAreFreedByTheNextCall() {
        let before = cst_handle_count()
        nonisolated(unsafe) let handles = (0..<100).map { _ in insert("Ada", isKept: false) }
        nonisolated(unsafe) let results = fetch(isKept: false)
        for index in 0..<100 { _ = object(results, index) }
        onOtherThread {
            for handle in handles { XCTAssertEqual(Int(cst_release(UnsafeMutableRawPointer(handle))), CST_OK) }
            XCTAssertEqual(Int(cst_release(UnsafeMutableRawPointer(results))), CST_OK)
            XCTAssertEqual(cst_results_count(results), 0, "invalid at once")
        }
        save()
        XCTAssertEqual(cst_handle_count(), before)
        XCTAssertEqual(cst_results_count(fetch()), 100, "the insertions are still there")
    }

    func testRetainAndReleaseAreThreadSafe() {
        nonisolated(unsafe) let shared = custom()
        let group = DispatchGroup()
        for _ in 0..<8 {
            Thread.detachNewThread(group) {
                for _ in 0..<20_000 {
                    XCTAssertNotNil(cst_retain(UnsafeMutableRawPointer(shared)))
                    var own: OpaquePointer?
                    XCTAssertEqual(cst_error_new_custom(text("App"), 2, text("own"), nil, nil, &own), 0)
                    XCTAssertEqual(cst_error_code(own), 2)
                    XCTAssertEqual(Int(cst_release(UnsafeMutableRawPointer(own))), CST_OK)
                    XCTAssertEqual(Int(cst_error_status(own)), CST_E_INVALID_HANDLE)
                    XCTAssertEqual(Int(cst_release(UnsafeMutableRawPointer(shared))), CST_OK)
                }
            }
        }
        group.wait()
        XCTAssertEqual(cst_error_code(shared), 1)
        XCTAssertEqual(Int(release(shared)), CST_OK)
    }
}

extension Thread {
    /// A thread that the group waits for.
    static func detachNewThread(_ group: DispatchGroup, _ body: @escaping @Sendable () -> Void) {
        group.enter()
        detachNewThread {
            body()
            group.leave()
        }
    }
}
