import CCorestone
import XCTest

final class ContextTests: CompanyTestCase {
    func testSavedObjectIsFetchedByAnotherContext() {
        let ada = insert("Ada", age: 36)
        XCTAssertEqual(state(ada), CST_OBJECT_INSERTED | CST_OBJECT_TEMPORARY_ID | CST_OBJECT_HAS_CHANGES)
        var hasChanges = false
        ok { cst_context_has_changes(context, &hasChanges, $0) }
        XCTAssertTrue(hasChanges)
        save()
        XCTAssertEqual(state(ada), 0)
        let results = fetch(newContext())
        XCTAssertEqual(cst_results_count(results), 1)
        let copy = object(results, 0)
        XCTAssertNotEqual(copy, ada)
        XCTAssertEqual(state(copy), CST_OBJECT_FAULT)
        XCTAssertEqual(getText(copy, nameKey), "Ada")
        XCTAssertEqual(get(copy, age).as.integer, 36)
        var count: UInt64 = 0
        var request: OpaquePointer?
        ok { cst_fetch_request_new(person, &request, $0) }
        ok { cst_context_count(context, request, &count, $0) }
        XCTAssertEqual(count, 1)
        ok { cst_fetch_request_set_limit(request, .max, $0) }
        ok { cst_fetch_request_set_offset(request, .max, $0) }
        ok { cst_context_count(context, request, &count, $0) }
        XCTAssertEqual(count, 0)
        release(request)
    }

    func testFailedInsertManyInsertsNoObjects() {
        let keys = [nameKey, age]
        var values: [cst_value] = [.text("Ada"), .int(1), .text("Bob"), .int(2)]
        var objects = [OpaquePointer?](repeating: nil, count: 2)
        ok { cst_context_insert_many(context, person, 2, 2, keys, values, &objects, $0) }
        XCTAssertEqual(objects.map { getText($0, nameKey) }, ["Ada", "Bob"])
        for object in objects { keep(object) }
        values[3] = .int(100_000)
        let before = cst_handle_count()
        objects = [nil, nil]
        fails(
            CST_E_VALIDATION,
            {
                cst_context_insert_many(self.context, self.person, 2, 2, keys, values, &objects, $0)
            })
        XCTAssertEqual(objects, [nil, nil])
        XCTAssertEqual(cst_handle_count(), before)
        save()
        XCTAssertEqual(cst_results_count(fetch()), 2)
        fails(
            CST_E_INVALID_ARGUMENT,
            {
                cst_context_insert_many(self.context, self.person, Int.max, 2, keys, values, nil, $0)
            })
        fails(
            CST_E_INVALID_ARGUMENT, { cst_context_insert_many(self.context, self.person, 2, 2, nil, values, nil, $0) })
        ok { cst_context_insert_many(context, person, 0, 0, nil, nil, nil, $0) }
    }

    func testFailedInsertManyLeavesRelatedObjectsUnchanged() {
        let labs = insert(entity: department)
        save()
        let keys = [toDepartment, age]
        let values: [cst_value] = [.object(labs), .int(1), .object(labs), .int(100_000)]
        fails(CST_E_VALIDATION, { cst_context_insert_many(self.context, self.person, 2, 2, keys, values, nil, $0) })
        XCTAssertEqual(state(labs) & CST_OBJECT_DELETED, 0)
        XCTAssertEqual(memberCount(labs, employees), 0)
    }

    func testCallsOnObjectsFailWithObjectGoneAfterReset() {
        let ada = insert("Ada")
        let results = fetch()
        ok { cst_context_reset(context, $0) }
        var value = cst_value.int(1)
        fails(CST_E_OBJECT_GONE, { cst_object_get(ada, self.nameKey, &value, $0) })
        XCTAssertEqual(Int(value.type), CST_NULL, "a failed get sets the value to null")
        fails(CST_E_OBJECT_GONE, { cst_object_set(ada, self.nameKey, &value, $0) })
        var flags: UInt32 = 0
        ok { cst_object_state(ada, &flags, $0) }
        XCTAssertEqual(flags, UInt32(CST_OBJECT_FAULT))
        XCTAssertEqual(object(results, 0), ada)
        var owner: OpaquePointer?
        XCTAssertEqual(Int(ok { cst_object_context(ada, &owner, $0) }), CST_NOT_FOUND)
    }

    func testInsertingAnUnattachedObjectInsertsItsRelatedObjects() {
        var ada: OpaquePointer?
        ok { cst_object_new(person, &ada, $0) }
        set(ada, nameKey, .text("Ada"))
        var bob: OpaquePointer?
        ok { cst_object_new(person, &bob, $0) }
        set(bob, nameKey, .text("Bob"))
        ok { cst_object_add_member(ada, friends, bob, $0) }
        XCTAssertEqual(memberCount(bob, friends), 1)
        ok { cst_context_insert_object(context, ada, $0) }
        XCTAssertEqual(Int(ok { cst_context_insert_object(context, ada, $0) }), CST_UNCHANGED)
        var owner: OpaquePointer?
        ok { cst_object_context(bob, &owner, $0) }
        XCTAssertEqual(owner, context, "related objects are inserted too")
        save()
        XCTAssertEqual(cst_results_count(fetch()), 2)
        release(ada)
        release(bob)
    }

    func testUnattachedObjectListsItsMembers() {
        var ada, bob, members: OpaquePointer?
        ok { cst_object_new(person, &ada, $0) }
        ok { cst_object_new(person, &bob, $0) }
        ok { cst_object_add_member(ada, friends, bob, $0) }
        ok { cst_object_copy_members(ada, friends, &members, $0) }
        XCTAssertEqual(object(members, 0), bob)
        nonisolated(unsafe) let (list, friend) = (members, bob)
        onOtherThread {
            var object: OpaquePointer?
            XCTAssertEqual(Int(cst_results_get_object(list, 0, &object, nil)), CST_E_WRONG_THREAD)
            XCTAssertEqual(Int(cst_object_state(friend, nil, nil)), CST_E_INVALID_ARGUMENT)
            var flags: UInt32 = 0
            XCTAssertEqual(Int(cst_object_state(friend, &flags, nil)), CST_E_WRONG_THREAD)
        }
        // Without a context, a cycle of objects would never be broken.
        ok { cst_object_remove_member(ada, friends, bob, $0) }
        for handle in [members, ada, bob] { XCTAssertEqual(Int(release(handle)), CST_OK) }
    }

    func testCopyChangedReturnsInsertedUpdatedDeletedAndRegisteredObjects() {
        let ada = insert("Ada")
        let bob = insert("Bob")
        save()
        set(ada, age, .int(1))
        ok { cst_context_delete(context, bob, $0) }
        for (which, expected) in [
            (CST_CHANGED_INSERTED, 0), (CST_CHANGED_UPDATED, 1), (CST_CHANGED_DELETED, 1), (CST_CHANGED_REGISTERED, 2),
        ] {
            var results: OpaquePointer?
            ok { cst_context_copy_changed(context, UInt32(which), &results, $0) }
            XCTAssertEqual(cst_results_count(results), expected, "set \(which)")
            release(results)
        }
        var results: OpaquePointer?
        fails(CST_E_INVALID_ARGUMENT, { cst_context_copy_changed(self.context, 9, &results, $0) })
        ok { cst_context_rollback(context, $0) }
        XCTAssertEqual(Int(get(ada, age).type), CST_NULL)
        XCTAssertEqual(state(bob) & CST_OBJECT_DELETED, 0)
    }

    func testCallsOnAConfinedContextFailOnOtherThreads() {
        nonisolated(unsafe) let ada = insert("Ada")
        nonisolated(unsafe) let (context, person, results) = (self.context, self.person, fetch())
        let nameKey = self.nameKey
        onOtherThread {
            var (value, object): (cst_value, OpaquePointer?) = (.null, nil)
            XCTAssertEqual(Int(cst_object_get(ada, nameKey, &value, nil)), CST_E_WRONG_THREAD)
            XCTAssertEqual(Int(cst_object_set(ada, nameKey, &value, nil)), CST_E_WRONG_THREAD)
            XCTAssertEqual(Int(cst_context_insert(context, person, &object, nil)), CST_E_WRONG_THREAD)
            XCTAssertEqual(Int(cst_results_get_object(results, 0, &object, nil)), CST_E_WRONG_THREAD)
            XCTAssertEqual(Int(cst_results_copy_id(results, 0, &object, nil)), CST_E_WRONG_THREAD, "not saved yet")
            XCTAssertEqual(Int(cst_object_context(ada, &object, nil)), CST_OK)
        }
        save()
        onOtherThread {
            var id: OpaquePointer?
            XCTAssertEqual(Int(cst_results_copy_id(results, 0, &id, nil)), CST_OK)
            XCTAssertEqual(Int(cst_release(UnsafeMutableRawPointer(id))), CST_OK)
        }
    }
}
