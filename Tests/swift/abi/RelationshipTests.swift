import CCorestone
import XCTest

final class RelationshipTests: CompanyTestCase {
    func testMembersAreAddedOnceToARelationshipThatIsItsOwnInverse() {
        let (ada, bob, eve) = (insert("Ada"), insert("Bob"), insert("Eve"))
        XCTAssertEqual(Int(ok { cst_object_add_member(ada, friends, bob, $0) }), CST_OK)
        XCTAssertEqual(Int(ok { cst_object_add_member(ada, friends, bob, $0) }), CST_UNCHANGED)
        XCTAssertEqual(memberCount(bob, friends), 1, "its own inverse")
        var isMember = false
        ok { cst_object_has_member(bob, friends, ada, &isMember, $0) }
        XCTAssertTrue(isMember)
        ok { cst_object_add_members(ada, friends, 2, [bob, eve], $0) }
        XCTAssertEqual(memberCount(ada, friends), 2)
        XCTAssertEqual(Int(ok { cst_object_remove_member(ada, friends, bob, $0) }), CST_OK)
        XCTAssertEqual(Int(ok { cst_object_remove_member(ada, friends, bob, $0) }), CST_UNCHANGED)
        ok { cst_object_set_members(ada, friends, 0, nil, $0) }
        XCTAssertEqual(memberCount(eve, friends), 0)
        fails(CST_E_INVALID_HANDLE, { cst_object_add_members(ada, self.friends, 2, [bob, nil], $0) })
        XCTAssertEqual(memberCount(ada, friends), 0)
        fails(CST_E_TYPE_MISMATCH, { cst_object_add_member(ada, self.nameKey, bob, $0) })
        fails(CST_E_INVALID_ARGUMENT, { cst_object_insert_member(ada, self.friends, 0, bob, $0) })
    }

    func testOrderedMembersAreMoved() {
        let ada = insert("Ada")
        let all = ["a", "b", "c"].map { (title: StaticString) -> OpaquePointer? in
            let object = insert(entity: task)
            set(object, self.title, .text(title))
            return object
        }
        ok { cst_object_set_members(ada, tasks, 3, all, $0) }
        ok { cst_object_insert_member(ada, tasks, 0, all[2], $0) }
        fails(CST_E_INVALID_ARGUMENT, { cst_object_insert_member(ada, self.tasks, 4, all[0], $0) })
        fails(CST_E_INVALID_ARGUMENT, { cst_object_insert_member(ada, self.tasks, -1, all[0], $0) })
        save()
        let results = fetch(newContext())
        var members: OpaquePointer?
        ok { cst_object_copy_members(object(results, 0), tasks, &members, $0) }
        keep(members)
        XCTAssertEqual((0..<3).map { getText(object(members, $0), title) }, ["c", "a", "b"])
    }

    func testDeleteNullifiesAndCascades() {
        let (ada, labs) = (insert("Ada"), insert(entity: department))
        let job = insert(entity: task)
        ok { cst_object_add_member(ada, tasks, job, $0) }
        set(ada, toDepartment, .object(labs))
        XCTAssertEqual(memberCount(labs, employees), 1)
        save()
        ok { cst_context_delete(context, ada, $0) }
        ok { cst_context_process_pending_changes(context, $0) }
        XCTAssertEqual(memberCount(labs, employees), 0, "nullified")
        XCTAssertNotEqual(state(job) & CST_OBJECT_DELETED, 0, "cascaded")
        save()
        var value = cst_value.null
        fails(CST_E_OBJECT_GONE, { cst_object_get(ada, self.nameKey, &value, $0) })
    }

    func testObjectsOfAnotherContextAreRejected() {
        let ada = insert("Ada")
        let other = newContext()
        var bob: OpaquePointer?
        ok { cst_context_insert(other, person, &bob, $0) }
        keep(bob)
        fails(CST_E_INVALID_ARGUMENT, { cst_object_add_member(ada, self.friends, bob, $0) })
        fails(CST_E_INVALID_ARGUMENT, { cst_context_delete(self.context, bob, $0) })
    }
}
