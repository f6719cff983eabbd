import CCorestone
import XCTest

/// States, committed values, refreshing, IDs, lifetimes of objects.
final class ObjectStateTests: StaffTestCase {
    private func isChanged(_ object: Handle?, _ name: String) -> Bool {
        var changed = false
        ok { cst_object_is_changed(object, key(name), &changed, $0) }
        return changed
    }

    private func committed(_ object: Handle?, _ name: String) -> cst_value {
        var value = cst_value.raw(0xFF, filledWith: 0xFF)
        ok { cst_object_get_committed(object, key(name), &value, $0) }
        return value
    }

    func testStateFollowsInsertUpdateAndDelete() {
        let ada = employee("Ada")
        XCTAssertEqual(state(ada), CST_OBJECT_INSERTED | CST_OBJECT_TEMPORARY_ID | CST_OBJECT_HAS_CHANGES)
        save()
        XCTAssertEqual(state(ada), 0)
        set(ada, "number", .int(1))
        XCTAssertEqual(state(ada), CST_OBJECT_UPDATED | CST_OBJECT_HAS_CHANGES)
        ok { cst_context_delete(context, ada, $0) }
        XCTAssertEqual(state(ada) & CST_OBJECT_DELETED, CST_OBJECT_DELETED)
        ok { cst_context_rollback(context, $0) }
        ok { cst_object_refresh(ada, false, $0) }
        XCTAssertEqual(state(ada), CST_OBJECT_FAULT)
        XCTAssertEqual(get(ada, "name").text, "Ada")
        XCTAssertEqual(state(ada), 0)
    }

    func testCommittedValuesAreThoseOfTheLastSave() {
        let (ada, lab) = (employee("Ada", number: 1), named("Department", "Lab"))
        XCTAssertTrue(committed(ada, "number").isNull, "the object was never saved")
        set(ada, "department", .object(lab))
        save()
        set(ada, "number", .int(2))
        set(ada, "department", .null)
        XCTAssertEqual(committed(ada, "number").integer, 1)
        XCTAssertTrue(isChanged(ada, "number"))
        XCTAssertFalse(isChanged(ada, "name"))
        let id = keep(made { cst_object_copy_id(lab, $0, $1) })
        for _ in 0..<50 {
            let target = committed(ada, "department")
            XCTAssertEqual(target.type, cst_type(CST_OBJECT_ID))
            XCTAssertTrue(cst_object_id_equal(target.as.object_id, id))
        }
        var value = cst_value()
        refuses(CST_E_TYPE_MISMATCH) { cst_object_get_committed(ada, key("reports"), &value, $0) }
        save()
        XCTAssertEqual(committed(ada, "number").integer, 2)
        XCTAssertTrue(committed(ada, "department").isNull)
    }

    func testRefreshKeepsOrDiscardsUnsavedChanges() {
        let ada = employee("Ada", number: 1)
        save()
        let other = secondContext()
        let id = keep(made { cst_object_copy_id(ada, $0, $1) })
        let twin = keep(made { cst_context_existing_object(other, id, $0, $1) })
        set(twin, "number", .int(2))
        set(twin, "notes", value("theirs"))
        ok { cst_context_save(other, $0) }
        set(ada, "number", .int(3))
        ok { cst_object_refresh(ada, true, $0) }
        XCTAssertEqual(get(ada, "number").integer, 3)
        XCTAssertEqual(get(ada, "notes").text, "theirs")
        ok { cst_object_refresh(ada, false, $0) }
        XCTAssertEqual(get(ada, "number").integer, 2)
    }

    func testTemporaryIDBecomesPermanentAtSave() {
        let ada = employee("Ada")
        let temporary = keep(made { cst_object_copy_id(ada, $0, $1) })
        var isTemporary = false
        ok { cst_object_id_is_temporary(temporary, &isTemporary, $0) }
        XCTAssertTrue(isTemporary)
        save()
        let id = keep(made { cst_object_copy_id(ada, $0, $1) })
        ok { cst_object_id_is_temporary(id, &isTemporary, $0) }
        XCTAssertFalse(isTemporary)
        XCTAssertFalse(cst_object_id_equal(temporary, id))
        let uri = buffered { cst_object_id_copy_uri(id, $0, $1) }
        XCTAssertTrue(uri.hasPrefix("x-coredata://"), uri)
        let same = keep(made { cst_coordinator_object_id(coordinator, text(uri), $0, $1) })
        XCTAssertTrue(cst_object_id_equal(id, same))
        XCTAssertEqual(cst_object_id_hash(id), cst_object_id_hash(same))
        XCTAssertNotEqual(cst_object_id_hash(id), 0)
        XCTAssertEqual(made { cst_object_id_entity(id, $0, $1) }, entities["Employee"])
        // The temporary ID still finds the object.
        XCTAssertEqual(keep(made { cst_context_registered_object(context, temporary, $0, $1) }), ada)
        XCTAssertFalse(cst_object_id_equal(nil, nil))
        XCTAssertEqual(cst_object_id_hash(ada), 0)
        var none: Handle?
        returns(CST_NOT_FOUND) {
            cst_coordinator_object_id(
                coordinator, text("x-coredata://00000000-0000-0000-0000-000000000000/Employee/p1"), &none, $0)
        }
        for wrong in [
            "", "x", "x-coredata://", "x-coredata:///Employee/t1", "x-coredata://a/Employee/p0", "x-coredata://a/b/p-1",
        ] {
            returns(CST_NOT_FOUND) { cst_coordinator_object_id(coordinator, text(wrong), &none, $0) }
        }
    }

    func testObjectIDIsReadableOnAnotherThread() {
        let ada = employee("Ada")
        save()
        let id = keep(made { cst_object_copy_id(ada, $0, $1) })
        onAnotherThread {
            XCTAssertNotEqual(cst_object_id_hash(id), 0)
            XCTAssertTrue(buffered { cst_object_id_copy_uri(id, $0, $1) }.contains("/Employee/p"))
        }
    }

    func testObjectsAndResultsKeepTheirContextInAnyOrderOfRelease() {
        let own = made { cst_context_new(coordinator, cst_queue(CST_QUEUE_CALLER), $0, $1) }
        let ada = insert(in: own)
        let results = made { cst_context_copy_changed(own, UInt32(CST_CHANGED_INSERTED), $0, $1) }
        release(own)
        set(ada, "name", value("Ada"))
        XCTAssertEqual(get(ada, "name").text, "Ada")
        XCTAssertEqual(made { cst_object_context(ada, $0, $1) }, own)
        release(ada)
        XCTAssertEqual(get(object(results, 0), "name").text, "Ada")
        release(results)
        refuses(CST_E_INVALID_HANDLE) { cst_context_save(own, $0) }
    }

    func testUnattachedObjectIsConfinedToItsThread() {
        let draft = keep(made { cst_object_new(entities["Employee"], $0, $1) })
        set(draft, "name", value("Draft"))
        XCTAssertEqual(get(draft, "name").text, "Draft")
        var context: Handle?
        returns(CST_NOT_FOUND) { cst_object_context(draft, &context, $0) }
        onAnotherThread {
            var value = cst_value()
            refuses(CST_E_WRONG_THREAD) { cst_object_get(draft, key("name"), &value, $0) }
            refuses(CST_E_WRONG_THREAD) { cst_object_set(draft, key("name"), &value, $0) }
        }
        ok { cst_context_insert_object(self.context, draft, $0) }
        XCTAssertEqual(made { cst_object_context(draft, $0, $1) }, self.context)
        save()
        XCTAssertEqual(state(draft), 0)
    }

    func testUnattachedObjectEndsWhenAnotherThreadReleasesIt() {
        let draft = made { cst_object_new(entities["Employee"], $0, $1) }
        onAnotherThread { release(draft) }
        var value = cst_value()
        refuses(CST_E_INVALID_HANDLE) { cst_object_get(draft, key("name"), &value, $0) }
    }

    func testCallsOnObjectsFailWithObjectGoneAfterReset() {
        let ada = employee("Ada")
        save()
        ok { cst_context_reset(context, $0) }
        var (value, flags, out): (cst_value, UInt32, Handle?) = (.int(1), 0, nil)
        refuses(CST_E_OBJECT_GONE) { cst_object_get(ada, key("name"), &value, $0) }
        XCTAssertTrue(value.isNull)
        value = .int(1)
        refuses(CST_E_OBJECT_GONE) { cst_object_set(ada, key("number"), &value, $0) }
        ok { cst_object_state(ada, &flags, $0) }
        XCTAssertEqual(flags, UInt32(CST_OBJECT_FAULT))
        refuses(CST_E_OBJECT_GONE) { cst_object_copy_id(ada, &out, $0) }
        refuses(CST_E_OBJECT_GONE) { cst_object_refresh(ada, true, $0) }
        refuses(CST_E_OBJECT_GONE) { cst_context_delete(context, ada, $0) }
        returns(CST_NOT_FOUND) { cst_object_context(ada, &out, $0) }
    }

    func testAnotherThreadReleasesHandlesWhileTheContextReturnsThemAgain() {
        for round in 0..<20 { set(employee("E\(round)"), "number", .int(Int64(round))) }
        save()
        let request = request()
        let (stop, handed, failures) = (Counter(), Shared([UInt]()), Counter())
        let lock = NSLock()
        let thread = Thread {
            while stop.count == 0 {
                lock.lock()
                let batch = handed.value
                handed.value = []
                lock.unlock()
                for token in batch where cst_release(UnsafeMutableRawPointer(bitPattern: token)) != 0 { failures.add() }
            }
            stop.add()
        }
        thread.start()
        for _ in 0..<300 {
            let results = fetch(request)
            for index in 0..<cst_results_count(results) {
                let handle = retain(object(results, index))
                XCTAssertNotNil(get(handle, "name").text)
                lock.lock()
                handed.value.append(UInt(bitPattern: handle))
                lock.unlock()
            }
            release(results)
        }
        while true {
            lock.lock()
            let isEmpty = handed.value.isEmpty
            lock.unlock()
            if isEmpty { break }
            usleep(1000)
        }
        stop.add()
        while stop.count < 2 { usleep(1000) }
        XCTAssertEqual(failures.count, 0)
        var changes = true
        ok { cst_context_has_changes(context, &changes, $0) }
    }
}
