import CCorestone
import XCTest

final class ModelTests: ABITestCase {
    private var model, entity: OpaquePointer?

    override func setUpWithError() throws {
        try super.setUpWithError()
        ok { cst_model_new(&model, $0) }
        keep(model)
        ok { cst_model_add_entity(model, text("Thing"), &entity, $0) }
    }

    func testPropertyInfoDescribesAttributesAndRelationships() {
        let flags = UInt32(CST_PROPERTY_OPTIONAL | CST_PROPERTY_INDEXED)
        ok {
            cst_entity_add_attribute(entity, text("size"), cst_attribute_type(CST_ATTRIBUTE_INTEGER_32), flags, nil, $0)
        }
        ok { cst_entity_add_relationship(entity, text("parts"), entity, UInt32(CST_PROPERTY_TO_MANY), nil, $0) }
        XCTAssertEqual(cst_entity_property_count(entity), 2)
        var info = cst_property_info()
        info.struct_size = MemoryLayout<cst_property_info>.size
        ok { cst_entity_property_at(entity, 0, &info, $0) }
        XCTAssertEqual(string(info.name), "size")
        XCTAssertEqual(Int(info.kind), CST_PROPERTY_ATTRIBUTE)
        XCTAssertEqual(info.flags, flags)
        XCTAssertEqual(info.key, UInt32.max, "keys are not assigned before the model is frozen")
        XCTAssertNil(string(info.inverse))
        ok { cst_entity_property_at(entity, 1, &info, $0) }
        XCTAssertEqual(Int(info.kind), CST_PROPERTY_RELATIONSHIP)
        XCTAssertEqual(info.destination, entity)
        XCTAssertEqual(Int(info.delete_rule), CST_DELETE_NULLIFY)
        XCTAssertEqual(Int(ok { cst_entity_property_at(entity, 2, &info, $0) }), CST_END)
        XCTAssertEqual(Int(ok { cst_entity_property_at(entity, -1, &info, $0) }), CST_END)
        info.struct_size = MemoryLayout<cst_property_info>.offset(of: \.kind)!
        info.kind = 77
        ok { cst_entity_property_at(entity, 0, &info, $0) }
        XCTAssertEqual(string(info.name), "size")
        XCTAssertEqual(info.kind, 77, "bytes beyond the host's struct stay unchanged")
        info.struct_size = 0
        fails(CST_E_INVALID_ARGUMENT, { cst_entity_property_at(self.entity, 0, &info, $0) })
    }

    func testUserInfoIsSetAndRead() {
        ok { cst_entity_set_user_info(entity, text("a"), text("b"), $0) }
        var value = cst_string()
        ok { cst_entity_user_info(entity, text("a"), &value, $0) }
        XCTAssertEqual(string(value), "b")
        XCTAssertEqual(Int(ok { cst_entity_user_info(entity, text("c"), &value, $0) }), CST_NOT_FOUND)
        XCTAssertNil(value.data)
    }

    func testFirstModelErrorIsRepeatedByLaterCalls() {
        fails(CST_E_MODEL, { cst_model_add_entity(self.model, text("no identifier"), &self.entity, $0) })
        fails(CST_E_MODEL, { cst_model_add_entity(self.model, text("Fine"), &self.entity, $0) }) { error in
            XCTAssert(self.string(cst_error_message(error))?.contains("no identifier") == true)
        }
        var coordinator: OpaquePointer?
        fails(CST_E_MODEL, { cst_coordinator_new(self.model, &coordinator, $0) })
        XCTAssertNil(coordinator)
    }

    func testInvalidArgumentErrorIsRepeatedByFreeze() {
        fails(
            CST_E_INVALID_ARGUMENT, { cst_entity_add_attribute(self.entity, text("x"), 12, 0, nil, $0) })
        fails(CST_E_INVALID_ARGUMENT, { cst_model_freeze(self.model, $0) }) { error in
            XCTAssertEqual(self.string(cst_error_key(error)), "x")
        }
    }

    func testFrozenModelRejectsChanges() {
        ok { cst_model_freeze(model, $0) }
        var isFrozen = false
        ok { cst_model_is_frozen(model, &isFrozen, $0) }
        XCTAssertTrue(isFrozen)
        fails(CST_E_MODEL, { cst_entity_set_abstract(self.entity, true, $0) })
    }

    func testCompiledModelAndVersionHashAreCopied() {
        ok { cst_entity_add_attribute(entity, text("size"), cst_attribute_type(CST_ATTRIBUTE_INTEGER_32), 0, nil, $0) }
        var bytes = cst_buffer()
        ok { cst_model_copy_compiled(model, &bytes, $0) }
        XCTAssertEqual(String(cString: bytes.data).prefix(6), "bplist")
        cst_buffer_dispose(&bytes)
        var hash = [UInt8](repeating: 0, count: 32)
        ok { cst_entity_version_hash(entity, &hash, $0) }
        XCTAssertNotEqual(hash, [UInt8](repeating: 0, count: 32))
    }

    func testAttributeDefaultIsSetOnNewObjects() {
        var attribute: OpaquePointer?
        ok {
            cst_entity_add_attribute(
                entity, text("size"), cst_attribute_type(CST_ATTRIBUTE_INTEGER_16), 0, &attribute, $0)
        }
        var value = cst_value.int(7)
        ok { cst_attribute_set_default(attribute, &value, $0) }
        var key: cst_key = 0
        ok { cst_entity_key(entity, text("size"), &key, $0) }
        var object: OpaquePointer?
        ok { cst_object_new(entity, &object, $0) }
        keep(object)
        value = .null
        ok { cst_object_get(object, key, &value, $0) }
        XCTAssertEqual(value.as.integer, 7)
        var context: OpaquePointer?
        XCTAssertEqual(Int(ok { cst_object_context(object, &context, $0) }), CST_NOT_FOUND)
    }
}
