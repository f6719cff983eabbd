import CCorestone
import XCTest

/// Attributes and relationships of a model that is not frozen.
final class PropertyTests: HeaderTestCase {
    private var model: Handle?
    private var entity: Handle?

    override func setUpWithError() throws {
        try super.setUpWithError()
        model = keep(made { cst_model_new($0, $1) })
        entity = made { cst_model_add_entity(model, text("E"), $0, $1) }
    }

    @discardableResult
    private func attribute(_ name: String, _ type: Int, _ flags: Int = CST_PROPERTY_OPTIONAL) -> Handle? {
        made { cst_entity_add_attribute(entity, text(name), cst_attribute_type(type), UInt32(flags), $0, $1) }
    }

    private func relationship(_ name: String, _ flags: Int = 0) -> Handle? {
        made {
            cst_entity_add_relationship(entity, text(name), entity, UInt32(flags | CST_PROPERTY_OPTIONAL), $0, $1)
        }
    }

    func testNewObjectsHaveDefaultValues() {
        let number = attribute("number", CST_ATTRIBUTE_INTEGER_32)
        let name = attribute("name", CST_ATTRIBUTE_STRING)
        var value = cst_value.int(42)
        ok { cst_attribute_set_default(number, &value, $0) }
        value = self.value("Ada")
        ok { cst_attribute_set_default(name, &value, $0) }
        let object = keep(made { cst_object_new(entity, $0, $1) })
        var key = cst_key()
        ok { cst_entity_key(entity, text("number"), &key, $0) }
        ok { cst_object_get(object, key, &value, $0) }
        XCTAssertEqual(value.integer, 42)
        ok { cst_entity_key(entity, text("name"), &key, $0) }
        ok { cst_object_get(object, key, &value, $0) }
        XCTAssertEqual(value.text, "Ada")
    }

    func testDefaultOfTheWrongTypeIsRejected() {
        let number = attribute("number", CST_ATTRIBUTE_INTEGER_32)
        var value = self.value("nine")
        let problem = refuses(CST_E_TYPE_MISMATCH) { cst_attribute_set_default(number, &value, $0) }
        XCTAssertEqual(problem.key, "number")
    }

    func testDefaultAcceptsANullValueButNotANullPointer() {
        let number = attribute("number", CST_ATTRIBUTE_INTEGER_32)
        var null = cst_value.null
        ok { cst_attribute_set_default(number, &null, $0) }
        refuses(CST_E_INVALID_ARGUMENT) { cst_attribute_set_default(number, nil, $0) }
    }

    func testUserInfoOfAttributesAndRelationshipsIsSetAndRead() {
        let (number, friends) = (
            attribute("n", CST_ATTRIBUTE_INTEGER_32), relationship("friends", CST_PROPERTY_TO_MANY)
        )
        var found = cst_string()
        returns(CST_NOT_FOUND) { cst_attribute_user_info(number, text("k"), &found, $0) }
        ok { cst_attribute_set_user_info(number, text("k"), text("v"), $0) }
        ok { cst_attribute_user_info(number, text("k"), &found, $0) }
        XCTAssertEqual(found.swift, "v")
        returns(CST_NOT_FOUND) { cst_relationship_user_info(friends, text("k"), &found, $0) }
        XCTAssertNil(found.data)
        ok { cst_relationship_set_user_info(friends, text("k"), text(""), $0) }
        ok { cst_relationship_user_info(friends, text("k"), &found, $0) }
        XCTAssertEqual(found.swift, "")
        refuses(CST_E_INVALID_HANDLE) { cst_attribute_user_info(friends, text("k"), &found, $0) }
        refuses(CST_E_INVALID_HANDLE) { cst_relationship_user_info(number, text("k"), &found, $0) }
        refuses(CST_E_INVALID_ARGUMENT) { cst_attribute_user_info(number, .null, &found, $0) }
    }

    func testDeleteRulesAndCountsAreSetAndUnknownRulesFail() {
        let friends = relationship("friends", CST_PROPERTY_TO_MANY)
        for rule in 0...3 { ok { cst_relationship_set_delete_rule(friends, UInt32(rule), $0) } }
        ok { cst_relationship_set_counts(friends, 0, 0, $0) }
        refuses(CST_E_INVALID_ARGUMENT) { cst_relationship_set_delete_rule(friends, 4, $0) }
        // The model keeps its first error.
        refuses(CST_E_INVALID_ARGUMENT) { cst_relationship_set_delete_rule(friends, 1, $0) }
    }

    func testMinimumCountAboveTheMaximumIsRejected() {
        let friends = relationship("friends", CST_PROPERTY_TO_MANY)
        refuses(CST_E_MODEL) { cst_relationship_set_counts(friends, 5, 4, $0) }
    }

    func testTransformerNameAcceptsTextAndNull() {
        let blob = attribute("blob", CST_ATTRIBUTE_TRANSFORMABLE)
        ok { cst_attribute_set_transformer_name(blob, text("T"), $0) }
        ok { cst_attribute_set_transformer_name(blob, .null, $0) }
    }

    func testEveryAttributeTypeIsAccepted() {
        for type in [100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1100, 1200, 1800] {
            attribute("a\(type)", type)
        }
        attribute("a0", 0, CST_PROPERTY_OPTIONAL | CST_PROPERTY_TRANSIENT)
        ok { cst_model_freeze(model, $0) }
        XCTAssertEqual(cst_entity_property_count(entity), 14)
    }

    func testPropertyInfoReturnsTheSameDestinationHandleEachTime() {
        let other = relationship("other")
        let info = { () -> Handle? in
            var info = cst_property_info()
            info.struct_size = MemoryLayout<cst_property_info>.size
            self.ok { cst_entity_property_at(self.entity, 0, &info, $0) }
            return info.destination
        }
        XCTAssertEqual(info(), entity)
        XCTAssertEqual(info(), entity)
        XCTAssertNotEqual(other, entity)
    }
}
