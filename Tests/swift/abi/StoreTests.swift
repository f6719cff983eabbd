import CCorestone
import XCTest

final class StoreTests: CompanyTestCase {
    private func add(_ options: UnsafePointer<cst_store_options>?, _ error: UnsafeMutablePointer<OpaquePointer?>)
        -> cst_status
    {
        withText(path("other.sqlite")) { cst_coordinator_add_store(coordinator, nullText, $0, options, nil, error) }
    }

    func testInvalidStoreOptionsAreRejected() {
        var options = cst_store_options()
        fails(CST_E_INVALID_ARGUMENT, { self.add(&options, $0) })
        options.struct_size = 3
        fails(CST_E_INVALID_ARGUMENT, { self.add(&options, $0) })
        options.struct_size = MemoryLayout<cst_store_options>.size
        options.flags = 1 << 31
        fails(CST_E_UNSUPPORTED, { self.add(&options, $0) })
        options.flags = UInt32(CST_STORE_MUST_EXIST)
        fails(CST_E_STORE_IO, { self.add(&options, $0) })
    }

    func testStoreOptionsOfOtherSizesAreAccepted() {
        let size = MemoryLayout<cst_store_options>.size
        withUnsafeTemporaryAllocation(byteCount: size + 16, alignment: 8) { memory in
            memory.initializeMemory(as: UInt8.self, repeating: 0)
            memory.storeBytes(of: size + 16, as: Int.self)
            memory[size + 3] = 1
            let options = memory.baseAddress?.assumingMemoryBound(to: cst_store_options.self)
            fails(CST_E_UNSUPPORTED, { self.add(options, $0) })
            memory[size + 3] = 0
            ok { add(options, $0) }
        }
        withUnsafeTemporaryAllocation(byteCount: size, alignment: 8) { memory in
            memory.initializeMemory(as: UInt8.self, repeating: 0xFF)
            memory.storeBytes(of: 8, as: Int.self)
            let options = memory.baseAddress?.assumingMemoryBound(to: cst_store_options.self)
            // The host sets only the size: all other options have their defaults.
            withText(path("third.sqlite")) { path in
                _ = ok { cst_coordinator_add_store(coordinator, text("sqlite"), path, options, nil, $0) }
            }
        }
    }

    func testInvalidStoreTypesAndPathsAreRejected() {
        fails(
            CST_E_INVALID_ARGUMENT,
            {
                cst_coordinator_add_store(self.coordinator, text("Postgres"), text("x"), nil, nil, $0)
            })
        fails(CST_E_INVALID_ARGUMENT, { cst_coordinator_add_store(self.coordinator, nullText, nullText, nil, nil, $0) })
        fails(
            CST_E_INVALID_ARGUMENT,
            { cst_coordinator_add_store(self.coordinator, nullText, text("a\0b"), nil, nil, $0) })
        XCTAssertEqual(string(cst_store_path(store)), path("company.sqlite"))
        XCTAssertEqual(string(cst_store_identifier(store))?.count, 36)
        var isReadOnly = true
        ok { cst_store_is_read_only(store, &isReadOnly, $0) }
        XCTAssertFalse(isReadOnly)
    }

    func testObjectsOfARemovedStoreFailWithObjectGone() {
        _ = insert("Ada")
        save()
        let other = newContext()
        var request, ids: OpaquePointer?
        ok { cst_fetch_request_new(person, &request, $0) }
        ok { cst_context_fetch_ids(other, request, &ids, $0) }
        keep(request)
        keep(ids)
        var id, object: OpaquePointer?
        ok { cst_results_copy_id(ids, 0, &id, $0) }
        ok { cst_context_object_with_id(other, id, &object, $0) }
        keep(id)
        keep(object)
        ok { cst_coordinator_remove_store(coordinator, store, $0) }
        release(store)
        store = nil
        var value = cst_value.null
        fails(CST_E_OBJECT_GONE, { cst_object_get(object, self.nameKey, &value, $0) })
        var uri = cst_buffer()
        ok { cst_object_id_copy_uri(id, &uri, $0) }
        XCTAssert(String(cString: uri.data).hasPrefix("x-coredata://"))
        cst_buffer_dispose(&uri)
    }

    func testObjectIDIsFoundByItsURI() {
        let ada = insert("Ada")
        var temporary: OpaquePointer?
        ok { cst_object_copy_id(ada, &temporary, $0) }
        keep(temporary)
        save()
        var id, found: OpaquePointer?
        ok { cst_object_copy_id(ada, &id, $0) }
        keep(id)
        var uri = cst_buffer()
        ok { cst_object_id_copy_uri(id, &uri, $0) }
        ok { cst_coordinator_object_id(coordinator, cst_string(data: uri.data, size: -1), &found, $0) }
        keep(found)
        XCTAssertTrue(cst_object_id_equal(id, found))
        XCTAssertEqual(cst_object_id_hash(id), cst_object_id_hash(found))
        XCTAssertFalse(cst_object_id_equal(id, temporary))
        XCTAssertFalse(cst_object_id_equal(id, nil))
        XCTAssertEqual(cst_object_id_hash(nil), 0)
        cst_buffer_dispose(&uri)
        var object: OpaquePointer?
        ok { cst_context_registered_object(context, id, &object, $0) }
        XCTAssertEqual(object, ada)
        release(object)
        XCTAssertEqual(Int(ok { cst_context_registered_object(newContext(), id, &object, $0) }), CST_NOT_FOUND)
        XCTAssertEqual(Int(ok { cst_coordinator_object_id(coordinator, text("nonsense"), &found, $0) }), CST_NOT_FOUND)
    }
}
