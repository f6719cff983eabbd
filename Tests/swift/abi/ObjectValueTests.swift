import CCorestone
import XCTest

/// Getting and setting attributes of every type by key.
final class ObjectValueTests: StaffTestCase {
    /// Sets a value, reads it back before and after a save and in a second context.
    private func roundTrip(_ name: String, _ value: cst_value, _ check: (cst_value) -> Void) {
        let object = keep(insert())
        set(object, "name", self.value("x"))
        set(object, name, value)
        check(get(object, name))
        save()
        check(get(object, name))
        let id = keep(made { cst_object_copy_id(object, $0, $1) })
        let other = keep(made { cst_context_existing_object(secondContext(), id, $0, $1) })
        check(get(other, name))
    }

    func testIntegersRoundTripAtTheirLimits() {
        for number in [0, -1, 32767, -32768] as [Int64] {
            roundTrip("level", .int(number)) { XCTAssertEqual($0.integer, number) }
        }
        for number in [Int64(Int32.max), Int64(Int32.min)] {
            roundTrip("floor", .int(number)) { XCTAssertEqual($0.integer, number) }
        }
        for number in [Int64.max, .min] { roundTrip("number", .int(number)) { XCTAssertEqual($0.integer, number) } }
    }

    func testIntegersOutOfRangeFailValidation() {
        let ada = employee("Ada")
        for (name, number, code) in [
            ("level", 32768, CST_CODE_VALIDATION_NUMBER_TOO_LARGE),
            ("level", -32769, CST_CODE_VALIDATION_NUMBER_TOO_SMALL),
            ("floor", 1 << 31, CST_CODE_VALIDATION_NUMBER_TOO_LARGE),
            ("floor", .min, CST_CODE_VALIDATION_NUMBER_TOO_SMALL),
        ] as [(String, Int64, Int)] {
            set(ada, name, .int(5))
            var value = cst_value.int(number)
            let problem = refuses(CST_E_VALIDATION) { cst_object_set(ada, key(name), &value, $0) }
            XCTAssertEqual(problem.code, Int64(code))
            XCTAssertEqual(get(ada, name).integer, 5, "a rejected value changes nothing")
        }
    }

    func testDoublesRoundTrip() {
        for number in [0, -0.5, 1e300, .leastNonzeroMagnitude, .greatestFiniteMagnitude] {
            roundTrip("rating", .double(number)) { XCTAssertEqual($0.real, number) }
        }
        roundTrip("factor", .double(0.1)) { XCTAssertEqual($0.real, Double(Float(0.1))) }
    }

    func testCompatibleValuesAreConvertedToTheAttributeType() {
        let ada = employee("Ada")
        set(ada, "rating", .int(3))
        XCTAssertEqual(get(ada, "rating").real, 3)
        set(ada, "number", .double(4))
        XCTAssertEqual(get(ada, "number").integer, 4)
        var half = cst_value.double(4.5)
        refuses(CST_E_TYPE_MISMATCH) { cst_object_set(ada, key("number"), &half, $0) }
        var huge = cst_value.double(1e19)
        refuses(CST_E_TYPE_MISMATCH) { cst_object_set(ada, key("number"), &huge, $0) }
        var none = cst_value.double(.nan)
        refuses(CST_E_TYPE_MISMATCH) { cst_object_set(ada, key("number"), &none, $0) }
        set(ada, "site", value("https://example.org/"))
        XCTAssertEqual(get(ada, "site").type, cst_type(CST_URI))
    }

    func testSaveFailsWhenADoubleIsNotFinite() {
        let ada = employee("Ada")
        for number in [Double.nan, .infinity, -.infinity] {
            set(ada, "rating", .double(number))
            let problem = refuses(CST_E_VALIDATION) { cst_context_save(context, $0) }
            XCTAssertEqual(problem.key ?? problem.details.first?.key, "rating")
        }
    }

    func testBooleansRoundTripFromAnyNonzeroByte() {
        roundTrip("active", .bool(true)) { XCTAssertTrue($0.isTrue) }
        roundTrip("active", .bool(false)) { XCTAssertFalse($0.isTrue) }
        // Any byte but 0 is true: compilers differ in the byte that they store.
        let ada = employee("Ada")
        set(ada, "active", .raw(UInt32(CST_BOOL), filledWith: 0x82))
        XCTAssertTrue(get(ada, "active").isTrue)
        set(ada, "active", .raw(UInt32(CST_BOOL), filledWith: 0))
        XCTAssertEqual(get(ada, "active").uuidBytes, [UInt8](repeating: 0, count: 16))
    }

    func testStringsRoundTrip() {
        for string in ["", "Ada", "Zürich \u{1F600}", String(repeating: "long ", count: 20_000)] {
            roundTrip("notes", value(string)) { XCTAssertEqual($0.text, string) }
        }
        let ada = employee("Ada")
        set(ada, "notes", value(terminated("ends here")))
        XCTAssertEqual(get(ada, "notes").text, "ends here")
        set(ada, "notes", value(.null))
        XCTAssertTrue(get(ada, "notes").isNull)
        set(ada, "notes", value(cst_string(data: nil, size: Int(bitPattern: UInt.max))))
        XCTAssertTrue(get(ada, "notes").isNull)
    }

    func testInvalidUTF8IsRejectedWithItsOffset() {
        let ada = employee("Ada")
        for bad in [[0xC3], [0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0x61, 0x80]]
            as [[UInt8]]
        {
            var value = value(bytes(bad))
            let problem = refuses(CST_E_INVALID_UTF8) { cst_object_set(ada, key("notes"), &value, $0) }
            XCTAssertEqual(problem.offset, bad[0] == 0x61 ? 1 : 0)
        }
        var value = value(cst_string(data: nil, size: 4))
        refuses(CST_E_INVALID_ARGUMENT) { cst_object_set(ada, key("notes"), &value, $0) }
        value = self.value(text("x"))
        value.as.string.size = 1 << 40
        refuses(CST_E_INVALID_ARGUMENT) { cst_object_set(ada, key("notes"), &value, $0) }
        XCTAssertTrue(get(ada, "notes").isNull)
    }

    func testBinaryDataRoundTrips() {
        for data in [[], [0], [1, 0, 2, 0], [UInt8](repeating: 0xFE, count: 100_000)] as [[UInt8]] {
            roundTrip("photo", value(data: data)) { XCTAssertEqual($0.data, data) }
        }
        let ada = employee("Ada")
        var value = value(data: [1])
        value.as.bytes.data = nil
        refuses(CST_E_INVALID_ARGUMENT) { cst_object_set(ada, key("photo"), &value, $0) }
        value.as.bytes.size = 0
        ok { cst_object_set(ada, key("photo"), &value, $0) }
        XCTAssertTrue(get(ada, "photo").isNull)
    }

    func testDatesAndUUIDsRoundTrip() {
        for seconds in [0, -978_307_200, 1e9 + 0.125] {
            roundTrip("hired", .date(seconds)) {
                XCTAssertEqual($0.type, cst_type(CST_DATE))
                XCTAssertEqual($0.as.date, seconds)
            }
        }
        let bytes = (1...16).map { UInt8($0) }
        roundTrip("badge", .uuid(bytes)) {
            XCTAssertEqual($0.type, cst_type(CST_UUID))
            XCTAssertEqual($0.uuidBytes, bytes)
        }
    }

    func testDecimalsRoundTripUpTo38Digits() {
        func check(_ low: UInt64, _ high: UInt64, _ exponent: Int8, _ isNegative: Bool) {
            roundTrip("salary", .decimal(low, high, exponent: exponent, isNegative: isNegative)) { value in
                XCTAssertEqual(value.type, cst_type(CST_DECIMAL))
                XCTAssertEqual(value.as.decimal.mantissa.0, low)
                XCTAssertEqual(value.as.decimal.mantissa.1, high)
                XCTAssertEqual(Int8(truncatingIfNeeded: value.aux), exponent)
                XCTAssertEqual(value.aux & 0x100 != 0, isNegative)
            }
        }
        check(12_345, 0, -2, false)
        check(1, 0, 0, true)
        // 38 digits: 10^38 - 1.
        check(0x098A_223F_FFFF_FFFF, 0x4B3B_4CA8_5A86_C47A, -10, true)
    }

    func testMalformedDecimalsAreRejected() {
        let ada = employee("Ada")
        // 10^38, and an aux that the macro does not make.
        var value = cst_value.decimal(0x098A_2240_0000_0000, 0x4B3B_4CA8_5A86_C47A)
        refuses(CST_E_INVALID_ARGUMENT) { cst_object_set(ada, key("salary"), &value, $0) }
        value = .decimal(1)
        value.aux = 0x200
        refuses(CST_E_INVALID_ARGUMENT) { cst_object_set(ada, key("salary"), &value, $0) }
        value = .decimal(.max, .max, exponent: -128, isNegative: true)
        refuses(CST_E_INVALID_ARGUMENT) { cst_object_set(ada, key("salary"), &value, $0) }
    }

    func testUnknownValueTypesAreRejected() {
        let ada = employee("Ada")
        for type in [12, 13, 14, 15, 255, 256, .max] as [UInt32] {
            for name in ["number", "notes", "department", "scratch"] {
                var value = cst_value.raw(type, filledWith: 0x41)
                refuses(CST_E_INVALID_ARGUMENT) { cst_object_set(ada, key(name), &value, $0) }
            }
        }
    }

    func testValuesOfTheWrongTypeAreRejected() {
        let ada = employee("Ada")
        for (name, value) in [
            ("floor", value("5")), ("notes", .int(5)), ("active", .double(1)), ("hired", .double(1)),
            ("badge", value("x")),
            ("photo", value("x")), ("salary", value("5")), ("site", .int(1)), ("notes", .object(ada)),
            ("rating", .date(1)),
        ] {
            var value = value
            let problem = refuses(CST_E_TYPE_MISMATCH) { cst_object_set(ada, key(name), &value, $0) }
            XCTAssertEqual(problem.entity, "Employee")
            XCTAssertEqual(problem.key, name)
            XCTAssertTrue(get(ada, name).isNull)
        }
    }

    func testUntypedTransientAttributeAcceptsEveryType() {
        let ada = employee("Ada")
        for value in [.int(1), .double(0.5), value("x"), .bool(true), value(data: [1, 2])] as [cst_value] {
            set(ada, "scratch", value)
            XCTAssertEqual(get(ada, "scratch").type, value.type)
        }
    }

    func testInvalidKeysAreRejected() {
        let ada = employee("Ada")
        var value = cst_value.int(1)
        for wrong in [0, .max, key("title", "Task"), key("number") + 1, key("number") ^ 0x1000, 0xFFF] as [cst_key]
        where wrong != key("salary") {
            value = .raw(0xFF, filledWith: 0xFF)
            refuses(CST_E_INVALID_ARGUMENT) { cst_object_get(ada, wrong, &value, $0) }
            XCTAssertTrue(value.isNull, "a failure sets the value to null")
            refuses(CST_E_INVALID_ARGUMENT) { cst_object_set(ada, wrong, &value, $0) }
        }
        refuses(CST_E_TYPE_MISMATCH) { cst_object_get(ada, key("reports"), &value, $0) }
        refuses(CST_E_TYPE_MISMATCH) { cst_object_set(ada, key("reports"), &value, $0) }
    }

    func testNullPointersAreRejected() {
        let ada = employee("Ada")
        refuses(CST_E_INVALID_ARGUMENT) { cst_object_get(ada, key("name"), nil, $0) }
        refuses(CST_E_INVALID_ARGUMENT) { cst_object_set(ada, key("name"), nil, $0) }
        var value = cst_value.raw(0xFF, filledWith: 0xFF)
        refuses(CST_E_INVALID_HANDLE) { cst_object_get(nil, key("name"), &value, $0) }
        XCTAssertTrue(value.isNull)
    }

    func testViewsStayValidUntilTheObjectChanges() {
        let ada = employee("Ada")
        set(ada, "notes", value("first"))
        save()
        let view = get(ada, "notes")
        let again = get(ada, "notes")
        XCTAssertEqual(view.as.string.data, again.as.string.data, "a getter copies nothing")
        set(employee("Grace"), "notes", value("other"))
        XCTAssertEqual(view.text, "first")
    }
}

/// Several values with one call.
final class ObjectManyTests: StaffTestCase {
    func testGetManyReturnsTheValuesInTheOrderOfTheKeys() {
        let ada = employee("Ada", number: 7)
        let keys = [key("name"), key("number"), key("department"), key("notes")]
        var values = [cst_value](repeating: .raw(0xFF, filledWith: 0xFF), count: 4)
        ok { cst_object_get_many(ada, 4, keys, &values, $0) }
        XCTAssertEqual(values[0].text, "Ada")
        XCTAssertEqual(values[1].integer, 7)
        XCTAssertTrue(values[2].isNull)
        XCTAssertTrue(values[3].isNull)
        ok { cst_object_get_many(ada, 0, nil, nil, $0) }
        refuses(CST_E_INVALID_ARGUMENT) { cst_object_get_many(ada, 4, nil, &values, $0) }
        refuses(CST_E_INVALID_ARGUMENT) { cst_object_get_many(ada, 4, keys, nil, $0) }
        refuses(CST_E_INVALID_ARGUMENT) { cst_object_get_many(ada, .max, keys, &values, $0) }
        refuses(CST_E_INVALID_ARGUMENT) { cst_object_get_many(ada, -1, keys, &values, $0) }
    }

    func testFailedGetManySetsTheRemainingValuesToNull() {
        let ada = employee("Ada")
        let keys = [key("name"), 77, key("number")]
        var values = [cst_value](repeating: .raw(0xFF, filledWith: 0xFF), count: 3)
        refuses(CST_E_INVALID_ARGUMENT) { cst_object_get_many(ada, 3, keys, &values, $0) }
        XCTAssertTrue(values[1].isNull)
        XCTAssertTrue(values[2].isNull)
    }

    func testSetManySetsAttributesAndRelationships() {
        let (ada, lab) = (employee("Ada"), named("Department", "Lab"))
        let keys = [key("name"), key("number"), key("department")]
        let values = [value("Ada L."), .int(9), .object(lab)]
        ok { cst_object_set_many(ada, 3, keys, values, $0) }
        XCTAssertEqual(get(ada, "name").text, "Ada L.")
        XCTAssertEqual(get(ada, "number").integer, 9)
        XCTAssertEqual(get(ada, "department").target, lab)
        XCTAssertEqual(members(lab, "employees", "Department"), [ada])
        ok { cst_object_set_many(ada, 0, nil, nil, $0) }
        refuses(CST_E_INVALID_ARGUMENT) { cst_object_set_many(ada, 1, keys, nil, $0) }
    }

    func testFailedSetManyChangesNothing() {
        let (ada, lab) = (employee("Ada", number: 1), named("Department", "Lab"))
        let stale = insert()
        release(stale)
        let keys = [key("name"), key("department"), key("number")]
        for last in [value("nine"), .raw(99), value(bytes([0xFF])), .object(lab), .object(stale)] as [cst_value] {
            let values = [value("B"), .object(lab), last]
            var error: Handle?
            XCTAssertLessThan(cst_object_set_many(ada, 3, keys, values, &error), 0)
            release(error)
            XCTAssertEqual(get(ada, "name").text, "Ada")
            XCTAssertEqual(get(ada, "number").integer, 1)
            XCTAssertTrue(get(ada, "department").isNull)
            XCTAssertEqual(members(lab, "employees", "Department"), [])
        }
    }
}
