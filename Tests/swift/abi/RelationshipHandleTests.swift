import CCorestone
import XCTest

/// To-one, to-many and ordered relationships of objects.
final class RelationshipHandleTests: StaffTestCase {
    func testSettingAToOneTargetUpdatesItsInverse() {
        let (ada, lab, office) = (employee("Ada"), named("Department", "Lab"), named("Department", "Office"))
        set(ada, "department", .object(lab))
        XCTAssertEqual(get(ada, "department").target, lab)
        XCTAssertEqual(members(lab, "employees", "Department"), [ada])
        set(ada, "department", .object(office))
        XCTAssertEqual(members(lab, "employees", "Department"), [])
        set(ada, "department", .null)
        XCTAssertTrue(get(ada, "department").isNull)
        XCTAssertEqual(members(office, "employees", "Department"), [])
    }

    func testRelationshipThatIsItsOwnInverseStaysSymmetric() {
        let (ada, bob, carl) = (employee("Ada"), employee("Bob"), employee("Carl"))
        set(ada, "spouse", .object(bob))
        XCTAssertEqual(get(bob, "spouse").target, ada)
        set(carl, "spouse", .object(bob))
        XCTAssertTrue(get(ada, "spouse").isNull)
        set(ada, "spouse", .object(ada))
        XCTAssertEqual(get(ada, "spouse").target, ada)
    }

    func testTargetsOfTheWrongTypeAreRejected() {
        let (ada, project) = (employee("Ada"), named("Project", "P"))
        for wrong in [.object(project), value("x"), .int(1)] as [cst_value] {
            var value = wrong
            let problem = refuses(CST_E_TYPE_MISMATCH) { cst_object_set(ada, key("department"), &value, $0) }
            XCTAssertEqual(problem.key, "department")
        }
        var value = cst_value.object(nil)
        refuses(CST_E_INVALID_HANDLE) { cst_object_set(ada, key("department"), &value, $0) }
        value = .object(model)
        refuses(CST_E_INVALID_HANDLE) { cst_object_set(ada, key("department"), &value, $0) }
    }

    func testTargetOfAnotherContextIsRejected() {
        let ada = employee("Ada")
        let foreign = keep(insert("Department", in: secondContext()))
        var value = cst_value.object(foreign)
        refuses(CST_E_INVALID_ARGUMENT) { cst_object_set(ada, key("department"), &value, $0) }
    }

    func testMembersAreAddedRemovedCountedAndReplaced() {
        let (lab, ada, bob) = (named("Department", "Lab"), employee("Ada"), employee("Bob"))
        let employees = key("employees", "Department")
        ok { cst_object_add_member(lab, employees, ada, $0) }
        returns(CST_UNCHANGED) { cst_object_add_member(lab, employees, ada, $0) }
        XCTAssertEqual(get(ada, "department").target, lab)
        var count = 99
        ok { cst_object_member_count(lab, employees, &count, $0) }
        XCTAssertEqual(count, 1)
        var isMember = false
        ok { cst_object_has_member(lab, employees, ada, &isMember, $0) }
        XCTAssertTrue(isMember)
        ok { cst_object_has_member(lab, employees, bob, &isMember, $0) }
        XCTAssertFalse(isMember)
        returns(CST_UNCHANGED) { cst_object_remove_member(lab, employees, bob, $0) }
        ok { cst_object_remove_member(lab, employees, ada, $0) }
        XCTAssertTrue(get(ada, "department").isNull)
        ok { cst_object_set_members(lab, employees, 2, [ada, bob], $0) }
        XCTAssertEqual(Set(members(lab, "employees", "Department")), [ada, bob])
        ok { cst_object_set_members(lab, employees, 0, nil, $0) }
        XCTAssertEqual(members(lab, "employees", "Department"), [])
    }

    func testRejectedMembersLeaveTheRelationshipUnchanged() {
        let (lab, ada, project) = (named("Department", "Lab"), employee("Ada"), named("Project", "P"))
        let employees = key("employees", "Department")
        refuses(CST_E_TYPE_MISMATCH) { cst_object_add_member(lab, employees, project, $0) }
        refuses(CST_E_TYPE_MISMATCH) { cst_object_add_members(lab, employees, 2, [ada, project], $0) }
        refuses(CST_E_TYPE_MISMATCH) { cst_object_set_members(lab, employees, 2, [ada, project], $0) }
        refuses(CST_E_INVALID_HANDLE) { cst_object_add_members(lab, employees, 2, [ada, nil], $0) }
        refuses(CST_E_INVALID_ARGUMENT) { cst_object_add_members(lab, employees, 2, nil, $0) }
        refuses(CST_E_TYPE_MISMATCH) { cst_object_add_member(ada, key("department"), lab, $0) }
        XCTAssertEqual(members(lab, "employees", "Department"), [])
        var count = 99
        refuses(CST_E_TYPE_MISMATCH) { cst_object_member_count(ada, key("name"), &count, $0) }
        XCTAssertEqual(count, 0)
    }

    func testOrderedMembersAreInsertedMovedAndReplaced() {
        let project = named("Project", "P")
        let tasks = key("tasks", "Project")
        let all = (0..<4).map { _ in keep(insert("Task")) }
        ok { cst_object_add_members(project, tasks, 3, Array(all[0..<3]), $0) }
        XCTAssertEqual(members(project, "tasks", "Project"), Array(all[0..<3]))
        ok { cst_object_insert_member(project, tasks, 0, all[3], $0) }
        XCTAssertEqual(members(project, "tasks", "Project"), [all[3], all[0], all[1], all[2]])
        ok { cst_object_insert_member(project, tasks, 3, all[3], $0) }
        XCTAssertEqual(members(project, "tasks", "Project"), all)
        ok { cst_object_set_members(project, tasks, 4, all.reversed(), $0) }
        XCTAssertEqual(members(project, "tasks", "Project"), all.reversed())
        for wrong in [4, 5, .max, -1] {
            refuses(CST_E_INVALID_ARGUMENT) { cst_object_insert_member(project, tasks, wrong, all[0], $0) }
        }
        save()
        let request = request("Project")
        let second = secondContext()
        let results = keep(fetch(request, in: second))
        let order = members(object(results, 0), "tasks", "Project").map { task -> String in
            let id = keep(made { cst_object_copy_id(task, $0, $1) })
            return buffered { cst_object_id_copy_uri(id, $0, $1) }
        }
        let expected = all.reversed().map { task -> String in
            let id = keep(made { cst_object_copy_id(task, $0, $1) })
            return buffered { cst_object_id_copy_uri(id, $0, $1) }
        }
        XCTAssertEqual(order, expected)
        let lab = named("Department", "Lab")
        refuses(CST_E_INVALID_ARGUMENT) {
            cst_object_insert_member(lab, key("employees", "Department"), 0, employee("Ada"), $0)
        }
    }

    func testCopiedMembersAreASnapshot() {
        let (lab, ada) = (named("Department", "Lab"), employee("Ada"))
        set(ada, "department", .object(lab))
        let results = keep(made { cst_object_copy_members(lab, key("employees", "Department"), $0, $1) })
        set(ada, "department", .null)
        XCTAssertEqual(cst_results_count(results), 1)
        XCTAssertEqual(object(results, 0), ada)
    }

    func testBorrowedTargetStaysValidUntilTheRelationshipChanges() {
        let ada = employee("Ada")
        let lab = insert("Department")
        set(lab, "name", value("Lab"), "Department")
        set(ada, "department", .object(lab))
        save()
        release(lab)
        let before = cst_handle_count()
        let borrowed = get(ada, "department").target
        for _ in 0..<100 { XCTAssertEqual(get(ada, "department").target, borrowed) }
        XCTAssertLessThanOrEqual(cst_handle_count(), before + 1)
        XCTAssertEqual(get(borrowed, "name", "Department").text, "Lab")
        // Other properties may change meanwhile.
        set(ada, "number", .int(5))
        XCTAssertEqual(get(borrowed, "name", "Department").text, "Lab")
        set(ada, "department", .null)
        var value = cst_value()
        refuses(CST_E_INVALID_HANDLE) { cst_object_get(borrowed, key("name", "Department"), &value, $0) }
    }

    func testBorrowedTargetStaysValidAfterSave() {
        let (ada, lab) = (employee("Ada"), named("Department", "Lab"))
        set(ada, "department", .object(lab))
        save()
        XCTAssertEqual(get(ada, "department").target, lab)
        let office = insert("Department")
        set(office, "name", value("Office"), "Department")
        set(ada, "department", .object(office))
        release(office)
        let lent = get(ada, "department").target
        save()
        XCTAssertEqual(get(lent, "name", "Department").text, "Office")
        XCTAssertEqual(get(ada, "department").target, lent)
    }

    func testRetainedTargetStaysValidAfterTheRelationshipChanges() {
        let (ada, lab) = (employee("Ada"), named("Department", "Lab"))
        set(ada, "department", .object(lab))
        let borrowed = get(ada, "department").target
        XCTAssertEqual(borrowed, lab, "an object has one live handle")
        retain(borrowed)
        set(ada, "department", .null)
        XCTAssertEqual(get(borrowed, "name", "Department").text, "Lab")
        release(borrowed)
        XCTAssertEqual(get(lab, "name", "Department").text, "Lab")
    }

    func testReleasingABorrowedTargetFails() {
        let ada = employee("Ada")
        let lab = insert("Department")
        set(lab, "name", value("Lab"), "Department")
        set(ada, "department", .object(lab))
        release(lab)
        let borrowed = get(ada, "department").target
        XCTAssertEqual(release(borrowed), cst_status(CST_E_INVALID_HANDLE))
        XCTAssertEqual(get(borrowed, "name", "Department").text, "Lab")
    }

    func testToOneTargetFollowsSaveRollbackRefreshDeleteAndInverseChanges() {
        let (ada, lab, office) = (employee("Ada"), named("Department", "Lab"), named("Department", "Office"))
        set(ada, "department", .object(lab))
        save()
        XCTAssertEqual(get(ada, "department").target, lab)
        set(ada, "department", .object(office))
        XCTAssertEqual(get(ada, "department").target, office)
        ok { cst_context_rollback(context, $0) }
        XCTAssertEqual(get(ada, "department").target, lab)
        set(ada, "department", .object(office))
        XCTAssertEqual(get(ada, "department").target, office)
        save()
        XCTAssertEqual(get(ada, "department").target, office)
        ok { cst_object_add_member(lab, key("employees", "Department"), ada, $0) }
        XCTAssertEqual(get(ada, "department").target, lab)
        ok { cst_object_refresh(ada, true, $0) }
        XCTAssertEqual(get(ada, "department").target, lab)
        ok { cst_context_rollback(context, $0) }
        ok { cst_object_refresh(ada, false, $0) }
        XCTAssertEqual(get(ada, "department").target, office)
        ok { cst_context_delete(context, office, $0) }
        ok { cst_context_process_pending_changes(context, $0) }
        XCTAssertTrue(get(ada, "department").isNull)
        ok { cst_context_rollback(context, $0) }
        XCTAssertEqual(get(ada, "department").target, office)
        // Another context changes the relationship, and this one reads it again.
        let (other, id) = (secondContext(), keep(made { cst_object_copy_id(ada, $0, $1) }))
        let twin = keep(made { cst_context_existing_object(other, id, $0, $1) })
        set(twin, "department", .null)
        ok { cst_context_save(other, $0) }
        XCTAssertEqual(get(ada, "department").target, office)
        ok { cst_context_refresh_all(context, $0) }
        XCTAssertTrue(get(ada, "department").isNull)
    }
}
