import CCorestone
import XCTest

final class ObjectTests: CompanyTestCase {
    func testSetValidatesAndCopiesTheValue() {
        let ada = insert("Ada")
        set(ada, age, .real(7))
        XCTAssertEqual(get(ada, age).as.integer, 7)
        var value = cst_value.real(7.5)
        fails(CST_E_TYPE_MISMATCH, { cst_object_set(ada, self.age, &value, $0) })
        value = .int(40_000)
        fails(CST_E_VALIDATION, { cst_object_set(ada, self.age, &value, $0) }) { error in
            XCTAssertEqual(self.string(cst_error_key(error)), "age")
            XCTAssertEqual(Int(cst_error_value(error, &value)), CST_OK)
            XCTAssertEqual(value.as.integer, 40_000)
        }
        value = cst_value(type: 99)
        fails(CST_E_INVALID_ARGUMENT, { cst_object_set(ada, self.age, &value, $0) })
        value = .null
        fails(CST_E_INVALID_ARGUMENT, { cst_object_set(ada, 12345, &value, $0) })
        fails(CST_E_INVALID_ARGUMENT, { cst_object_set(ada, self.departmentName, &value, $0) })
        fails(CST_E_INVALID_ARGUMENT, { cst_object_set(ada, self.age, nil, $0) })
        XCTAssertEqual(get(ada, age).as.integer, 7)
        withText("Grace") { view in
            value = cst_value(type: CST_STRING)
            value.as.string = view
            set(ada, nameKey, value)
        }
        XCTAssertEqual(getText(ada, nameKey), "Grace")
    }

    func testAnyNonzeroByteIsTrue() {
        var value = cst_value(type: CST_BOOL)
        withUnsafeMutableBytes(of: &value) { $0[8] = 0xAA }
        let ada = insert("Ada")
        ok { cst_object_set(ada, age, &value, $0) }
        XCTAssertEqual(get(ada, age).as.integer, 1)
    }

    func testDecimalKeepsItsMantissaAndExponent() {
        let ada = insert("Ada")
        set(ada, salary, .decimal(0x098A_223F_FFFF_FFFF, 0x4B3B_4CA8_5A86_C47A, exponent: -4, isNegative: true))
        let value = get(ada, salary)
        XCTAssertEqual(Int(value.type), CST_DECIMAL)
        XCTAssertEqual(value.as.decimal.mantissa.0, 0x098A_223F_FFFF_FFFF)
        XCTAssertEqual(value.as.decimal.mantissa.1, 0x4B3B_4CA8_5A86_C47A)
        XCTAssertEqual(value.aux, 0x1FC)
        // A column holds a floating-point number, as in Apple's stores.
        set(ada, salary, .decimal(1234, exponent: -2))
        save()
        ok { cst_object_refresh(ada, false, $0) }
        XCTAssertEqual(get(ada, salary).as.decimal.mantissa.0, 1234)
        XCTAssertEqual(get(ada, salary).aux, 0xFE)
        var tooLong = cst_value.decimal(0x098A_2240_0000_0000, 0x4B3B_4CA8_5A86_C47A)
        fails(CST_E_INVALID_ARGUMENT, { cst_object_set(ada, self.salary, &tooLong, $0) })
    }

    func testFailedSetManyChangesNothing() {
        let ada = insert("Ada", age: 1)
        let keys = [nameKey, age]
        fails(CST_E_VALIDATION, { cst_object_set_many(ada, 2, keys, [.text("Bob"), .int(99_999)], $0) })
        XCTAssertEqual(getText(ada, nameKey), "Ada")
        ok { cst_object_set_many(ada, 2, keys, [.text("Bob"), .int(2)], $0) }
        var values = [cst_value](repeating: .null, count: 2)
        ok { cst_object_get_many(ada, 2, keys, &values, $0) }
        XCTAssertEqual(string(values[0].as.string), "Bob")
        XCTAssertEqual(values[1].as.integer, 2)
        fails(CST_E_INVALID_ARGUMENT, { cst_object_get_many(ada, -1, keys, &values, $0) })
        fails(CST_E_INVALID_ARGUMENT, { cst_object_get_many(ada, 1 << 40, nil, &values, $0) })
    }

    func testKeyPathsAreReadAndSet() {
        let ada = insert("Ada", age: 36)
        let bob = insert("Bob", age: 40)
        let labs = insert(entity: department)
        set(labs, departmentName, .text("Labs"))
        set(ada, toDepartment, .object(labs))
        set(bob, toDepartment, .object(labs))
        XCTAssertEqual(path(ada, "name").map(\.as.string).flatMap(string), "Ada")
        XCTAssertEqual(path(ada, "department.name").map(\.as.string).flatMap(string), "Labs")
        XCTAssertEqual(path(labs, "employees.@count")?.as.integer, 2)
        XCTAssertEqual(path(ada, "department")?.as.object, labs)
        let (greatest, again) = (path(labs, "employees.@max.name"), path(labs, "employees.@max.name"))
        XCTAssertEqual(greatest.map(\.as.string).flatMap(string), "Bob")
        XCTAssertEqual(greatest?.as.string.data, again?.as.string.data, "a view stays valid with its value")
        var value = cst_value.null
        fails(CST_E_TYPE_MISMATCH, { cst_object_get_path(labs, text("employees"), &value, $0) })
        fails(CST_E_INVALID_ARGUMENT, { cst_object_get_path(ada, text("nme"), &value, $0) }) { error in
            XCTAssert(self.string(cst_error_message(error))?.contains("name") == true)
        }
        value = .text("Research")
        ok { cst_object_set_path(ada, text("department.name"), &value, $0) }
        XCTAssertEqual(getText(labs, departmentName), "Research")
        let paths = [text("name"), text("department.name")]
        fails(CST_E_TYPE_MISMATCH, { cst_object_set_paths(ada, 2, paths, [.text("Eve"), .int(1)], $0) })
        XCTAssertEqual(getText(ada, nameKey), "Ada")
        ok { cst_object_set_paths(ada, 2, paths, [.text("Eve"), .text("Sales")], $0) }
        var values = [cst_value](repeating: .null, count: 2)
        ok { cst_object_get_paths(ada, 2, paths, &values, $0) }
        XCTAssertEqual(values.map { string($0.as.string) }, ["Eve", "Sales"])
    }

    private func path(_ object: OpaquePointer?, _ path: StaticString) -> cst_value? {
        var value = cst_value.null
        ok { cst_object_get_path(object, text(path), &value, $0) }
        return value
    }

    func testCommittedValuesAreThoseOfTheLastSave() {
        let ada = insert("Ada")
        let labs = insert(entity: department)
        set(ada, toDepartment, .object(labs))
        var value = cst_value.int(1)
        ok { cst_object_get_committed(ada, nameKey, &value, $0) }
        XCTAssertEqual(Int(value.type), CST_NULL)
        save()
        set(ada, nameKey, .text("Bob"))
        set(ada, toDepartment, .null)
        ok { cst_object_get_committed(ada, nameKey, &value, $0) }
        XCTAssertEqual(string(value.as.string), "Ada")
        var isChanged = false
        ok { cst_object_is_changed(ada, nameKey, &isChanged, $0) }
        XCTAssertTrue(isChanged)
        ok { cst_object_is_changed(ada, age, &isChanged, $0) }
        XCTAssertFalse(isChanged)
        ok { cst_object_get_committed(ada, toDepartment, &value, $0) }
        XCTAssertEqual(Int(value.type), CST_OBJECT_ID)
        var id: OpaquePointer?
        ok { cst_object_copy_id(labs, &id, $0) }
        XCTAssertTrue(cst_object_id_equal(id, value.as.object_id))
        release(id)
    }

    func testPredicatesAreEvaluatedOnObjects() {
        let ada = insert("Ada", age: 36)
        let labs = insert(entity: department)
        set(ada, toDepartment, .object(labs))
        var parts = [OpaquePointer?](repeating: nil, count: 2)
        ok { cst_predicate_parse(text("age > %d"), 1, [.int(30)], &parts[0], $0) }
        ok { cst_predicate_parse(text("department == %@"), 1, [.object(labs)], &parts[1], $0) }
        var both, other: OpaquePointer?
        ok { cst_predicate_new_compound(UInt32(CST_PREDICATE_AND), 2, parts, &both, $0) }
        fails(CST_E_INVALID_ARGUMENT, { cst_predicate_new_compound(UInt32(CST_PREDICATE_NOT), 2, parts, &other, $0) })
        fails(CST_E_INVALID_ARGUMENT, { cst_predicate_new_compound(9, 2, parts, &other, $0) })
        for part in parts { release(part) }
        var holds = false
        ok { cst_predicate_evaluate(both, ada, &holds, $0) }
        XCTAssertTrue(holds)
        set(ada, toDepartment, .null)
        ok { cst_predicate_evaluate(both, ada, &holds, $0) }
        XCTAssertFalse(holds)
        release(both)
        fails(CST_E_PREDICATE_SYNTAX, { cst_predicate_parse(text("age >"), 0, nil, &other, $0) }) { error in
            XCTAssertEqual(cst_error_offset(error), 5)
        }
        XCTAssertNil(other)
    }
}
