import CCorestone
import XCTest

final class ErrorFieldTests: HeaderTestCase {
    private func custom(_ domain: cst_string, _ code: Int64, _ message: String) -> Handle? {
        var error: Handle?
        XCTAssertEqual(cst_error_new_custom(domain, code, text(message), nil, nil, &error), cst_status(CST_OK))
        return keep(error)
    }

    func testCustomErrorHasOnlyItsOwnFields() {
        let problem = Problem(custom(text("Bank"), -77, "no funds"))
        XCTAssertEqual(problem.status, cst_status(CST_E_CALLBACK))
        XCTAssertEqual(problem.code, -77)
        XCTAssertEqual(problem.domain, "Bank")
        XCTAssertEqual(problem.message, "no funds")
        XCTAssertNil(problem.entity)
        XCTAssertNil(problem.key)
        XCTAssertNil(problem.objectURI)
        XCTAssertNil(problem.file)
        XCTAssertEqual(problem.sqliteCode, 0)
        XCTAssertEqual(problem.offset, -1)
        XCTAssertEqual(problem.details.count, 0)
        XCTAssertEqual(problem.valueStatus, cst_status(CST_NOT_FOUND))
        XCTAssertEqual(problem.valueType, cst_type(CST_NULL))
    }

    func testCustomErrorHasTheDomainHostByDefault() {
        XCTAssertEqual(Problem(custom(.null, .max, "")).domain, "Host")
        XCTAssertEqual(Problem(custom(.null, .min, "")).code, .min)
    }

    func testUserdataOfACustomErrorIsDestroyedOnce() {
        let counter = UnsafeMutablePointer<Int>.allocate(capacity: 1)
        counter.initialize(to: 0)
        defer { counter.deallocate() }
        let destroy: cst_destroy_fn = { $0?.assumingMemoryBound(to: Int.self).pointee += 1 }
        var error: Handle?
        XCTAssertEqual(cst_error_new_custom(.null, 1, text("x"), counter, destroy, &error), cst_status(CST_OK))
        XCTAssertEqual(cst_error_userdata(error), UnsafeMutableRawPointer(counter))
        retain(error)
        release(error)
        XCTAssertEqual(counter.pointee, 0)
        release(error)
        XCTAssertEqual(counter.pointee, 1)
        // The userdata is freed at once if the call fails: without an error slot, or with a message that is not UTF-8.
        XCTAssertEqual(
            cst_error_new_custom(.null, 1, text("x"), counter, destroy, nil), cst_status(CST_E_INVALID_ARGUMENT))
        XCTAssertEqual(counter.pointee, 2)
        error = nil
        XCTAssertEqual(
            cst_error_new_custom(.null, 1, bytes([0xC3]), counter, destroy, &error), cst_status(CST_E_INVALID_UTF8))
        XCTAssertEqual(counter.pointee, 3)
        XCTAssertNil(error)
        XCTAssertNil(cst_error_userdata(fails()))
    }

    /// An error of the library's own, kept.
    private func fails() -> Handle? {
        var error: Handle?
        XCTAssertEqual(cst_model_freeze(nil, &error), cst_status(CST_E_INVALID_HANDLE))
        return keep(error)
    }

    func testErrorFunctionsReturnDefaultsForInvalidHandles() {
        let other = keep(made { cst_model_new($0, $1) })
        for wrong in [nil, other] {
            XCTAssertEqual(cst_error_status(wrong), cst_status(CST_E_INVALID_HANDLE))
            XCTAssertEqual(cst_error_code(wrong), 0)
            XCTAssertNil(cst_error_domain(wrong).data)
            XCTAssertNil(cst_error_message(wrong).data)
            XCTAssertNil(cst_error_entity(wrong).data)
            XCTAssertNil(cst_error_key(wrong).data)
            XCTAssertNil(cst_error_object_uri(wrong).data)
            XCTAssertNil(cst_error_file(wrong).data)
            XCTAssertEqual(cst_error_sqlite_code(wrong), 0)
            XCTAssertEqual(cst_error_offset(wrong), -1)
            XCTAssertEqual(cst_error_detail_count(wrong), 0)
            XCTAssertNil(cst_error_detail_at(wrong, 0))
            XCTAssertNil(cst_error_userdata(wrong))
            var value = cst_value.raw(0xFF, filledWith: 0xFF)
            XCTAssertEqual(cst_error_value(wrong, &value), cst_status(CST_E_INVALID_HANDLE))
            XCTAssertTrue(value.isNull)
            var buffer = cst_buffer()
            XCTAssertEqual(cst_error_copy_description(wrong, &buffer), cst_status(CST_E_INVALID_HANDLE))
            cst_buffer_dispose(&buffer)
        }
        XCTAssertEqual(cst_error_value(fails(), nil), cst_status(CST_E_INVALID_ARGUMENT))
        XCTAssertEqual(cst_error_copy_description(fails(), nil), cst_status(CST_E_INVALID_ARGUMENT))
    }

    func testFailureWithoutAnErrorSlotLeavesNoHandle() {
        let before = cst_handle_count()
        XCTAssertEqual(cst_model_freeze(nil, nil), cst_status(CST_E_INVALID_HANDLE))
        XCTAssertEqual(cst_handle_count(), before)
    }

    func testSuccessLeavesTheErrorSlotUnchanged() {
        let model = keep(made { cst_model_new($0, $1) })
        var slot = Handle(bitPattern: 0x77)
        XCTAssertEqual(cst_model_freeze(model, &slot), cst_status(CST_OK))
        XCTAssertEqual(slot, Handle(bitPattern: 0x77))
    }

    func testErrorIsReadableOnAnotherThread() {
        let error = fails()
        onAnotherThread {
            XCTAssertEqual(cst_error_status(error), cst_status(CST_E_INVALID_HANDLE))
            XCTAssertNotNil(cst_error_message(error).swift)
        }
    }
}

/// Errors with details, values and objects.
final class ErrorDetailTests: StaffTestCase {
    func testValidationErrorHasADetailForEachInvalidProperty() {
        let (one, two) = (keep(insert()), keep(insert("Department")))
        var error: Handle?
        XCTAssertEqual(cst_context_save(context, &error), cst_status(CST_E_VALIDATION))
        let problem = Problem(error)
        XCTAssertEqual(problem.code, Int64(CST_CODE_VALIDATION_MULTIPLE_ERRORS))
        XCTAssertEqual(problem.domain, "NSCocoaErrorDomain")
        XCTAssertEqual(problem.details.count, 2)
        XCTAssertEqual(Set(problem.details.map(\.entity)), ["Employee", "Department"])
        for detail in problem.details {
            XCTAssertEqual(detail.status, cst_status(CST_E_VALIDATION))
            XCTAssertEqual(detail.code, Int64(CST_CODE_VALIDATION_MISSING_MANDATORY_PROPERTY))
            XCTAssertEqual(detail.key, "name")
            XCTAssertTrue(detail.objectURI?.hasPrefix("x-coredata:///") == true)
        }
        // Details are borrowed: they end with the error unless retained.
        let (first, second) = (cst_error_detail_at(error, 0), cst_error_detail_at(error, 1))
        XCTAssertNil(cst_error_detail_at(error, 2))
        XCTAssertNil(cst_error_detail_at(error, .max))
        XCTAssertEqual(cst_error_detail_at(error, 0), first)
        retain(second)
        var buffer = cst_buffer()
        XCTAssertEqual(cst_error_copy_description(error, &buffer), cst_status(CST_OK))
        XCTAssertTrue(buffer.text?.contains("name") == true)
        XCTAssertTrue(buffer.text?.contains("1560") == true)
        cst_buffer_dispose(&buffer)
        release(error)
        XCTAssertEqual(cst_error_status(first), cst_status(CST_E_INVALID_HANDLE))
        XCTAssertEqual(cst_error_status(second), cst_status(CST_E_VALIDATION))
        release(second)
        set(one, "name", value("Ada"))
        set(two, "name", value("R&D"), "Department")
        save()
    }

    func testReleasingABorrowedDetailFails() {
        keep(insert())
        keep(insert())
        var error: Handle?
        XCTAssertEqual(cst_context_save(context, &error), cst_status(CST_E_VALIDATION))
        keep(error)
        let detail = cst_error_detail_at(error, 0)
        XCTAssertEqual(
            release(detail), cst_status(CST_E_INVALID_HANDLE), "the host owns no reference to a borrowed handle")
        XCTAssertEqual(cst_error_status(detail), cst_status(CST_E_VALIDATION))
    }

    func testErrorHasTheRejectedValue() {
        let ada = employee("Ada")
        var number = cst_value.int(40_000)
        var problem = refuses(CST_E_VALIDATION) { cst_object_set(ada, key("level"), &number, $0) }
        XCTAssertEqual(problem.code, Int64(CST_CODE_VALIDATION_NUMBER_TOO_LARGE))
        XCTAssertEqual(problem.entity, "Employee")
        XCTAssertEqual(problem.key, "level")
        XCTAssertEqual(problem.valueStatus, cst_status(CST_OK))
        XCTAssertEqual(problem.valueInteger, 40_000)

        var wrong = value("forty")
        problem = refuses(CST_E_TYPE_MISMATCH) { cst_object_set(ada, key("number"), &wrong, $0) }
        XCTAssertEqual(problem.key, "number")
        XCTAssertEqual(problem.valueText, "forty")
    }

    func testRejectedObjectIsReportedByItsID() {
        let (ada, project) = (employee("Ada"), named("Project", "Engine"))
        var wrong = cst_value.object(project)
        var error: Handle?
        XCTAssertEqual(cst_object_set(ada, key("department"), &wrong, &error), cst_status(CST_E_TYPE_MISMATCH))
        keep(error)
        var refused = cst_value()
        XCTAssertEqual(cst_error_value(error, &refused), cst_status(CST_OK))
        XCTAssertEqual(refused.type, cst_type(CST_OBJECT_ID))
        let id = keep(made { cst_object_copy_id(project, $0, $1) })
        XCTAssertTrue(cst_object_id_equal(id, refused.as.object_id))
        XCTAssertEqual(Problem(error).entity, "Employee")
    }

    func testPredicateSyntaxErrorHasItsOffset() {
        let problem = refuses(CST_E_PREDICATE_SYNTAX) { error in
            var predicate: Handle?
            return cst_predicate_parse(text("name == "), 0, nil, &predicate, error)
        }
        XCTAssertGreaterThanOrEqual(problem.offset, 7)
    }

    func testStoreErrorNamesTheFile() {
        let wrong = path("no such folder/store.sqlite")
        let problem = refuses(CST_E_STORE_IO) {
            cst_coordinator_add_store(coordinator, .null, text(wrong), nil, nil, $0)
        }
        XCTAssertEqual(problem.file, wrong)
    }
}
