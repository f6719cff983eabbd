import CCorestone
import XCTest

final class ModelBuildingTests: HeaderTestCase {
    private func model() -> Handle? { keep(made { cst_model_new($0, $1) }) }
    @discardableResult
    private func entity(_ model: Handle?, _ name: String) -> Handle? {
        made { cst_model_add_entity(model, text(name), $0, $1) }
    }

    func testEntitiesKeepTheOrderOfTheirAddition() {
        let model = model()
        let names = ["Zebra", "Apple", "Mango"]
        let entities = names.map { entity(model, $0) }
        XCTAssertEqual(cst_model_entity_count(model), 3)
        for (place, entity) in entities.enumerated() {
            XCTAssertEqual(made { cst_model_entity_at(model, place, $0, $1) }, entity)
            XCTAssertEqual(made { cst_model_entity(model, text(names[place]), $0, $1) }, entity)
            XCTAssertEqual(cst_entity_name(entity).swift, names[place])
        }
        var none = entities[0]
        returns(CST_END) { cst_model_entity_at(model, 3, &none, $0) }
        XCTAssertNil(none)
        none = entities[0]
        returns(CST_END) { cst_model_entity_at(model, -1, &none, $0) }
        XCTAssertNil(none)
        none = entities[0]
        returns(CST_NOT_FOUND) { cst_model_entity(model, text("Kiwi"), &none, $0) }
        XCTAssertNil(none)
    }

    func testFreezeIsIdempotentAndMakesTheModelImmutable() {
        let model = model()
        let apple = entity(model, "Apple")
        var frozen = true
        ok { cst_model_is_frozen(model, &frozen, $0) }
        XCTAssertFalse(frozen)
        ok { cst_model_freeze(model, $0) }
        ok { cst_model_freeze(model, $0) }
        ok { cst_model_is_frozen(model, &frozen, $0) }
        XCTAssertTrue(frozen)
        refuses(CST_E_MODEL) { cst_entity_set_abstract(apple, true, $0) }
        refuses(CST_E_MODEL) { cst_model_add_version_identifier(model, text("2"), $0) }
        var other: Handle?
        refuses(CST_E_MODEL) { cst_model_add_entity(model, text("Pear"), &other, $0) }
        XCTAssertNil(other)
    }

    func testFirstModelErrorIsRepeatedByLaterCalls() {
        let model = model()
        let apple = entity(model, "Apple")
        var other: Handle?
        let first = refuses(CST_E_MODEL) { cst_model_add_entity(model, text("1st"), &other, $0) }
        let later = refuses(CST_E_MODEL) { cst_entity_set_abstract(apple, true, $0) }
        XCTAssertEqual(later.message, first.message)
        XCTAssertEqual(refuses(CST_E_MODEL) { cst_coordinator_new(model, &other, $0) }.message, first.message)
        XCTAssertNil(other)
    }

    func testInvalidEntityNamesAreRejected() {
        for name in ["", " ", "a b", "9", "a-b", "a\0b", String(repeating: "x", count: 256)] {
            let model = model()
            var made: Handle?
            refuses(CST_E_MODEL) { cst_model_add_entity(model, text(name), &made, $0) }
        }
        var made: Handle?
        refuses(CST_E_INVALID_UTF8) { cst_model_add_entity(model(), bytes([0x61, 0xFF]), &made, $0) }
        refuses(CST_E_INVALID_ARGUMENT) { cst_model_add_entity(model(), .null, &made, $0) }
        refuses(CST_E_INVALID_ARGUMENT) { cst_model_add_entity(model(), cst_string(data: nil, size: 3), &made, $0) }
        refuses(CST_E_INVALID_ARGUMENT) { cst_model_add_entity(model(), text("A"), nil, $0) }
        ok { cst_model_add_entity(model(), terminated("Émile"), &made, $0) }
        XCTAssertEqual(cst_entity_name(made).swift, "Émile")
    }

    func testCopyCompiledReturnsABinaryPropertyList() {
        let model = model()
        entity(model, "Apple")
        let compiled = buffered { cst_model_copy_compiled(model, $0, $1) }
        XCTAssertTrue(compiled.hasPrefix("bplist00"))
        refuses(CST_E_INVALID_ARGUMENT) { cst_model_copy_compiled(model, nil, $0) }
    }

    func testEntityHandlesBecomeInvalidWhenTheirModelIsReleased() {
        let model = made { cst_model_new($0, $1) }
        let apple = entity(model, "Apple")
        release(model)
        XCTAssertNil(cst_entity_name(apple).data)
        refuses(CST_E_INVALID_HANDLE) { cst_entity_set_abstract(apple, true, $0) }
    }

    func testRetainedEntityKeepsItsModel() {
        let model = made { cst_model_new($0, $1) }
        let apple = entity(model, "Apple")
        retain(apple)
        release(model)
        XCTAssertEqual(cst_entity_name(apple).swift, "Apple")
        ok { cst_entity_set_abstract(apple, true, $0) }
        XCTAssertEqual(release(apple), cst_status(CST_OK))
        XCTAssertNil(cst_entity_name(apple).data)
    }

    func testReleasingABorrowedEntityFails() {
        let model = model()
        let apple = entity(model, "Apple")
        XCTAssertEqual(release(apple), cst_status(CST_E_INVALID_HANDLE))
        XCTAssertEqual(cst_entity_name(apple).swift, "Apple")
        retain(apple)
        XCTAssertEqual(release(apple), cst_status(CST_OK))
        XCTAssertEqual(release(apple), cst_status(CST_E_INVALID_HANDLE))
        XCTAssertEqual(cst_entity_name(apple).swift, "Apple")
    }

    func testCoordinatorKeepsItsReleasedModel() {
        let model = made { cst_model_new($0, $1) }
        let apple = entity(model, "Apple")
        let coordinator = keep(made { cst_coordinator_new(model, $0, $1) })
        release(model)
        XCTAssertEqual(cst_entity_name(apple).swift, "Apple")
        XCTAssertEqual(made { cst_coordinator_model(coordinator, $0, $1) }, model)
        XCTAssertEqual(
            release(model), cst_status(CST_E_INVALID_HANDLE), "the coordinator's reference is not the host's")
        XCTAssertEqual(cst_model_entity_count(model), 1)
    }

    func testFrozenModelIsReadableOnEightThreads() {
        let model = model()
        for name in ["A", "B", "C"] { entity(model, name) }
        ok { cst_model_freeze(model, $0) }
        let (shared, failures) = (Shared(model), Counter())
        onThreads(8) { _ in
            for round in 0..<500 {
                var entity: Handle?
                if cst_model_entity_at(shared.value, round % 3, &entity, nil) != 0 { failures.add() }
                if cst_entity_name(entity).size != 1 { failures.add() }
                if cst_release(UnsafeMutableRawPointer(cst_retain(UnsafeMutableRawPointer(entity)))) != 0 {
                    failures.add()
                }
            }
        }
        XCTAssertEqual(failures.count, 0)
    }
}
