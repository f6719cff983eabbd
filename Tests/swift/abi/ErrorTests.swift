import CCorestone
import XCTest

private func countDestruction(_ userdata: UnsafeMutableRawPointer?) {
    userdata?.assumingMemoryBound(to: Int.self).pointee += 1
}

final class ErrorTests: CompanyTestCase {
    private let destroyed = UnsafeMutablePointer<Int>.allocate(capacity: 1)

    override func setUpWithError() throws {
        try super.setUpWithError()
        destroyed.initialize(to: 0)
    }

    func testCustomErrorHasOnlyItsOwnFields() {
        var error: OpaquePointer?
        XCTAssertEqual(cst_error_new_custom(text("App"), -7, text("on fire"), destroyed, countDestruction, &error), 0)
        XCTAssertEqual(Int(cst_error_status(error)), CST_E_CALLBACK)
        XCTAssertEqual(cst_error_code(error), -7)
        XCTAssertEqual(string(cst_error_domain(error)), "App")
        XCTAssertEqual(string(cst_error_message(error)), "on fire")
        XCTAssertNil(string(cst_error_entity(error)))
        XCTAssertNil(string(cst_error_key(error)))
        XCTAssertNil(string(cst_error_object_uri(error)))
        XCTAssertNil(string(cst_error_file(error)))
        XCTAssertEqual(cst_error_offset(error), -1)
        XCTAssertEqual(cst_error_sqlite_code(error), 0)
        XCTAssertEqual(cst_error_userdata(error), UnsafeMutableRawPointer(destroyed))
        var value = cst_value.null
        XCTAssertEqual(Int(cst_error_value(error, &value)), CST_NOT_FOUND)
        XCTAssertEqual(Int(cst_error_value(error, nil)), CST_E_INVALID_ARGUMENT)
        XCTAssertNil(cst_error_detail_at(error, 0))
        XCTAssertEqual(destroyed.pointee, 0)
        release(error)
        XCTAssertEqual(destroyed.pointee, 1)
    }

    func testDestroyRunsOnceWhenCreatingACustomErrorFails() {
        XCTAssertEqual(
            Int(cst_error_new_custom(text("App"), 1, text("m"), destroyed, countDestruction, nil)),
            CST_E_INVALID_ARGUMENT)
        XCTAssertEqual(destroyed.pointee, 1)
    }

    func testDetailsAreBorrowedFromTheirValidationError() {
        _ = insert(entity: person)
        _ = insert(entity: person)
        var detail: OpaquePointer?
        fails(CST_E_VALIDATION, { cst_context_save(self.context, $0) }) { error in
            XCTAssertEqual(cst_error_code(error), Int64(CST_CODE_VALIDATION_MULTIPLE_ERRORS))
            XCTAssertEqual(cst_error_detail_count(error), 2)
            detail = cst_error_detail_at(error, 0)
            XCTAssertEqual(detail, cst_error_detail_at(error, 0))
            XCTAssertEqual(self.string(cst_error_entity(detail)), "Person")
            XCTAssertEqual(self.string(cst_error_key(detail)), "name")
            XCTAssertNil(cst_error_detail_at(error, 2))
            XCTAssertNil(cst_error_detail_at(error, -1))
            var description = cst_buffer()
            XCTAssertEqual(Int(cst_error_copy_description(error, &description)), CST_OK)
            XCTAssert(String(cString: description.data).contains("1570"))
            cst_buffer_dispose(&description)
        }
        XCTAssertEqual(Int(cst_error_status(detail)), CST_E_INVALID_HANDLE)
    }

    func testRejectedMemberIsReportedByItsID() {
        let ada = insert("Ada")
        let labs = insert(entity: department)
        fails(CST_E_TYPE_MISMATCH, { cst_object_add_member(ada, self.friends, labs, $0) }) { error in
            var value = cst_value.null
            XCTAssertEqual(Int(cst_error_value(error, &value)), CST_OK)
            XCTAssertEqual(Int(value.type), CST_OBJECT_ID)
            var isTemporary = false
            self.ok { cst_object_id_is_temporary(value.as.object_id, &isTemporary, $0) }
            XCTAssertTrue(isTemporary)
        }
    }

    func testInvalidUTF8ErrorNamesTheByte() {
        let bytes: [CChar] = [0x61, 0x62, -1, 0]
        bytes.withUnsafeBufferPointer { bytes in
            let bad = cst_string(data: bytes.baseAddress, size: 3)
            var predicate: OpaquePointer?
            fails(CST_E_INVALID_UTF8, { cst_predicate_parse(bad, 0, nil, &predicate, $0) }) { error in
                XCTAssert(self.string(cst_error_message(error))?.contains("byte 2") == true)
            }
            XCTAssertNil(predicate)
        }
    }

    func testErrorNamesTheMissingOutputParameter() {
        fails(CST_E_INVALID_ARGUMENT, { cst_context_insert(self.context, self.person, nil, $0) }) { error in
            XCTAssert(self.string(cst_error_message(error))?.contains("out_object") == true)
        }
        XCTAssertEqual(Int(cst_context_insert(context, person, nil, nil)), CST_E_INVALID_ARGUMENT)
    }
}
