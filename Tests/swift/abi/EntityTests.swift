import CCorestone
import XCTest

final class EntityTests: HeaderTestCase {
    private var model: Handle?
    private var animal: Handle?
    private var dog: Handle?

    override func setUpWithError() throws {
        try super.setUpWithError()
        model = keep(made { cst_model_new($0, $1) })
        animal = made { cst_model_add_entity(model, text("Animal"), $0, $1) }
        dog = made { cst_model_add_entity(model, text("Dog"), $0, $1) }
    }

    private func info(_ entity: Handle?, _ index: Int, size: Int = MemoryLayout<cst_property_info>.size)
        -> cst_property_info
    {
        var info = cst_property_info()
        info.struct_size = size
        ok { cst_entity_property_at(entity, index, &info, $0) }
        return info
    }

    func testEntityReturnsItsParentAndRejectsCycles() {
        var parent: Handle?
        returns(CST_NOT_FOUND) { cst_entity_parent(dog, &parent, $0) }
        ok { cst_entity_set_parent(dog, animal, $0) }
        XCTAssertEqual(made { cst_entity_parent(dog, $0, $1) }, animal)
        refuses(CST_E_MODEL) { cst_entity_set_parent(animal, dog, $0) }
    }

    func testParentOfAnotherModelIsRejected() {
        let other = keep(made { cst_model_new($0, $1) })
        let cat = made { cst_model_add_entity(other, text("Cat"), $0, $1) }
        refuses(CST_E_MODEL) { cst_entity_set_parent(dog, cat, $0) }
    }

    func testSetAbstractMakesTheEntityAbstract() {
        ok { cst_entity_set_abstract(animal, true, $0) }
        var isAbstract = false
        ok { cst_entity_is_abstract(animal, &isAbstract, $0) }
        XCTAssertTrue(isAbstract)
        refuses(CST_E_INVALID_ARGUMENT) { cst_entity_is_abstract(animal, nil, $0) }
    }

    func testUserInfoIsSetReadAndRemoved() {
        var found = cst_string()
        returns(CST_NOT_FOUND) { cst_entity_user_info(dog, text("k"), &found, $0) }
        XCTAssertNil(found.data)
        ok { cst_entity_set_user_info(dog, text("k"), text("välue"), $0) }
        ok { cst_entity_user_info(dog, text("k"), &found, $0) }
        XCTAssertEqual(found.swift, "välue")
        ok { cst_entity_set_user_info(dog, text("k"), .null, $0) }
        returns(CST_NOT_FOUND) { cst_entity_user_info(dog, text("k"), &found, $0) }
    }

    func testInheritedPropertiesPrecedeOwnProperties() {
        ok { cst_entity_set_parent(dog, animal, $0) }
        ok { cst_entity_add_attribute(dog, text("tricks"), cst_attribute_type(CST_ATTRIBUTE_INTEGER_16), 0, nil, $0) }
        ok {
            cst_entity_add_attribute(
                animal, text("name"), cst_attribute_type(CST_ATTRIBUTE_STRING),
                UInt32(CST_PROPERTY_OPTIONAL | CST_PROPERTY_INDEXED), nil, $0)
        }
        let owner = made {
            cst_entity_add_relationship(dog, text("packs"), dog, UInt32(CST_PROPERTY_TO_MANY), $0, $1)
        }
        ok { cst_relationship_set_counts(owner, 2, 9, $0) }
        ok { cst_relationship_set_delete_rule(owner, UInt32(CST_DELETE_DENY), $0) }
        ok { cst_relationship_set_inverse(owner, owner, $0) }
        XCTAssertEqual(cst_entity_property_count(dog), 3)
        XCTAssertEqual(cst_entity_property_count(animal), 1)

        var name = info(dog, 0)
        XCTAssertEqual(name.name.swift, "name")
        XCTAssertEqual(name.kind, UInt32(CST_PROPERTY_ATTRIBUTE))
        XCTAssertEqual(Int(name.flags), CST_PROPERTY_OPTIONAL | CST_PROPERTY_INDEXED)
        XCTAssertEqual(Int(name.attribute_type), CST_ATTRIBUTE_STRING)
        XCTAssertEqual(name.key, cst_key.max, "no key before the model is frozen")
        XCTAssertNil(name.destination)
        let packs = info(dog, 2)
        XCTAssertEqual(packs.kind, UInt32(CST_PROPERTY_RELATIONSHIP))
        XCTAssertEqual(Int(packs.flags), CST_PROPERTY_TO_MANY)
        XCTAssertEqual(packs.destination, dog)
        XCTAssertEqual(packs.inverse.swift, "packs")
        XCTAssertEqual(packs.delete_rule, UInt32(CST_DELETE_DENY))
        XCTAssertEqual([packs.minimum_count, packs.maximum_count], [2, 9])

        // A parent's key works on a child, and is the same there.
        var (own, inherited): (cst_key, cst_key) = (0, 0)
        ok { cst_entity_key(animal, text("name"), &own, $0) }
        ok { cst_entity_key(dog, text("name"), &inherited, $0) }
        XCTAssertEqual(own, inherited)
        name = info(dog, 0)
        XCTAssertEqual(name.key, own)
        returns(CST_NOT_FOUND) { cst_entity_key(animal, text("tricks"), &own, $0) }
        XCTAssertEqual(own, cst_key.max)
        var beyond = cst_property_info()
        beyond.struct_size = MemoryLayout<cst_property_info>.size
        returns(CST_END) { cst_entity_property_at(dog, 3, &beyond, $0) }
        returns(CST_END) { cst_entity_property_at(dog, -1, &beyond, $0) }
    }

    func testPropertyInfoRespectsTheStructSizeOfTheHost() {
        ok { cst_entity_add_attribute(dog, text("tricks"), cst_attribute_type(CST_ATTRIBUTE_INTEGER_16), 0, nil, $0) }
        // The struct of an older host: bytes beyond its size stay unchanged.
        withUnsafeTemporaryAllocation(byteCount: 128, alignment: 8) { room in
            room.initializeMemory(as: UInt8.self, repeating: 0xAB)
            room.storeBytes(of: 32, as: Int.self)
            let info = room.baseAddress?.assumingMemoryBound(to: cst_property_info.self)
            ok { cst_entity_property_at(dog, 0, info, $0) }
            XCTAssertEqual(room.load(fromByteOffset: 8, as: cst_string.self).swift, "tricks")
            XCTAssertEqual(room.load(as: Int.self), 32)
            XCTAssertTrue(room[32...].allSatisfy { $0 == 0xAB })
            // The struct of a newer host: unknown fields are set to zero.
            room.storeBytes(of: 120, as: Int.self)
            ok { cst_entity_property_at(dog, 0, info, $0) }
            XCTAssertTrue(room[88..<120].allSatisfy { $0 == 0 })
            XCTAssertTrue(room[120...].allSatisfy { $0 == 0xAB })
            for size in [0, 7, 1 << 20, -1] {
                room.storeBytes(of: size, as: Int.self)
                refuses(CST_E_INVALID_ARGUMENT) { cst_entity_property_at(dog, 0, info, $0) }
            }
        }
        refuses(CST_E_INVALID_ARGUMENT) { cst_entity_property_at(dog, 0, nil, $0) }
    }

    func testVersionHashHas32Bytes() {
        var hash = [UInt8](repeating: 0, count: 40)
        ok { cst_entity_version_hash(dog, &hash, $0) }
        XCTAssertTrue(hash[..<32].contains { $0 != 0 })
        XCTAssertEqual(hash[32...], [0, 0, 0, 0, 0, 0, 0, 0])
        refuses(CST_E_INVALID_ARGUMENT) { cst_entity_version_hash(dog, nil, $0) }
    }

    func testModelWithIndexAndUniqueConstraintFreezes() {
        ok { cst_entity_add_attribute(dog, text("a"), cst_attribute_type(CST_ATTRIBUTE_STRING), 1, nil, $0) }
        let names = [text("a")]
        ok { cst_entity_add_index(dog, text("byA"), 1, names, $0) }
        ok { cst_entity_add_unique_constraint(dog, 1, names, $0) }
        ok { cst_model_freeze(model, $0) }
    }

    func testFreezeFailsWhenAnIndexNamesAMissingProperty() {
        let names = [text("nope")]
        ok { cst_entity_add_index(dog, text("x"), 1, names, $0) }
        refuses(CST_E_MODEL) { cst_model_freeze(model, $0) }
    }

    /// A model keeps its first error, so each invalid call needs a new model.
    private func failsInNewModel(
        _ status: Int, line: UInt = #line, _ call: (_ cat: Handle?, _ error: ErrorSlot) -> cst_status
    ) {
        let fresh = made { cst_model_new($0, $1) }
        let cat = made { cst_model_add_entity(fresh, text("Cat"), $0, $1) }
        let first = refuses(status, line: line) { call(cat, $0) }
        XCTAssertEqual(refuses(status, line: line) { cst_model_freeze(fresh, $0) }.message, first.message, line: line)
        release(fresh)
    }

    func testInvalidArgumentsOfEntityFunctionsFail() {
        let string = cst_attribute_type(CST_ATTRIBUTE_STRING)
        let names = [text("a")]
        var relationship: Handle?
        failsInNewModel(CST_E_INVALID_ARGUMENT) { cst_entity_add_attribute($0, text("a"), string, 1 << 30, nil, $1) }
        failsInNewModel(CST_E_INVALID_ARGUMENT) { cst_entity_add_attribute($0, text("a"), 12345, 0, nil, $1) }
        failsInNewModel(CST_E_MODEL) { cst_entity_add_attribute($0, text("a b"), string, 0, nil, $1) }
        failsInNewModel(CST_E_INVALID_ARGUMENT) {
            cst_entity_add_relationship($0, text("r"), $0, UInt32(CST_PROPERTY_INDEXED), &relationship, $1)
        }
        failsInNewModel(CST_E_INVALID_ARGUMENT) { cst_entity_add_index($0, text("x"), 1, nil, $1) }
        failsInNewModel(CST_E_INVALID_ARGUMENT) { cst_entity_add_index($0, text("x"), .max, names, $1) }
        failsInNewModel(CST_E_INVALID_ARGUMENT) { cst_entity_add_unique_constraint($0, -1, names, $1) }
        failsInNewModel(CST_E_INVALID_UTF8) { cst_entity_set_class_name($0, bytes([0xFF]), $1) }
        XCTAssertNil(relationship)
    }

    func testEntityFunctionsRejectInvalidHandles() {
        XCTAssertNil(cst_entity_name(nil).data)
        XCTAssertEqual(cst_entity_property_count(model), 0)
        refuses(CST_E_INVALID_HANDLE) { cst_entity_set_class_name(nil, text("X"), $0) }
        var parent = dog
        refuses(CST_E_INVALID_HANDLE) { cst_entity_parent(model, &parent, $0) }
        XCTAssertNil(parent)
    }
}
