import CorestonePredicate
import CorestoneValues
import XCTest

/// Methods of plain values: called by FUNCTION, as operators between two values, and as keys.
final class MessageTests: XCTestCase {
    private let object = PropertyValue.dictionary([
        "d": .dictionary(["k": .string("v"), "a.b": .int(1), "a": .dictionary(["b": .int(2)])]), "date": .date(100),
        "uuid": .uuid(UUIDValue(high: 0, low: 1)), "uri": .uri("x:é"), "bytes": .bytes(Bytes([1, 2, 3])),
        "dec": .decimal(DecimalNumber(mantissa: 15, exponent: -1)), "s": .set([.int(1)]), "yes": .bool(true),
    ])

    private func value(_ format: String) throws -> PropertyValue {
        try Expression.parse(format).value(with: object)
    }

    private func assertFails(_ format: String, _ message: String, key: String? = nil, line: UInt = #line) {
        XCTAssertThrowsError(try value(format), format, line: line) {
            let error = $0 as? CoreError
            XCTAssertEqual(error?.status, .predicate, format, line: line)
            XCTAssertEqual(error?.message, message, format, line: line)
            XCTAssertEqual(error?.key, key, format, line: line)
        }
    }

    /// Left operand, selector, right operand, result.
    private static let comparisons: [(String, String, String, Bool)] = [
        ("'abc'", "hasPrefix:", "'ab'", true), ("'abc'", "hasPrefix:", "'bc'", false),
        ("'abc'", "hasPrefix:", "'AB'", false),
        ("'abc'", "hasSuffix:", "'bc'", true), ("'abc'", "hasSuffix:", "'ab'", false),
        ("'abc'", "containsString:", "'b'", true), ("'abc'", "containsString:", "'B'", false),
        ("'xÁBC'", "localizedCaseInsensitiveContainsString:", "'ábc'", true),
        ("'xÁBC'", "localizedCaseInsensitiveContainsString:", "'abc'", false),
        ("'xÁBC'", "localizedStandardContainsString:", "'abc'", true),
        ("'xÁBC'", "localizedStandardContainsString:", "'abd'", false),
        ("'abc'", "isLike:", "'a*'", true), ("'ABC'", "isLike:", "'a*'", false),
        ("'ABC'", "isCaseInsensitiveLike:", "'a*'", true), ("'xABC'", "isCaseInsensitiveLike:", "'a*'", false),
        ("'a'", "isEqual:", "'a'", true), ("'a'", "isEqual:", "'A'", false), ("1", "isEqual:", "1.0", true),
        ("'a'", "isEqualTo:", "'a'", true), ("2", "isEqualTo:", "1", false),
        ("2", "isNotEqualTo:", "1", true), ("1", "isNotEqualTo:", "1", false),
        ("'a'", "isEqualToString:", "'a'", true), ("'a'", "isEqualToString:", "'b'", false),
        ("1", "isEqualToNumber:", "1", true), ("1", "isEqualToNumber:", "2", false),
        ("date", "isEqualToDate:", "CAST(100, 'NSDate')", true), ("date", "isEqualToDate:", "CAST(1, 'NSDate')", false),
        ("1", "isLessThan:", "2", true), ("2", "isLessThan:", "2", false),
        ("2", "isLessThanOrEqualTo:", "2", true), ("3", "isLessThanOrEqualTo:", "2", false),
        ("2", "isGreaterThan:", "1", true), ("2", "isGreaterThan:", "2", false),
        ("2", "isGreaterThanOrEqualTo:", "2", true), ("1", "isGreaterThanOrEqualTo:", "2", false),
        ("{1, 2}", "doesContain:", "2", true), ("{1, 2}", "doesContain:", "3", false),
        ("{1, 2}", "containsObject:", "2", true), ("s", "containsObject:", "2", false),
        ("1", "isKindOfClass:", "'NSNumber'", true), ("1", "isKindOfClass:", "'NSDecimalNumber'", false),
        ("1", "isMemberOfClass:", "'NSNumber'", true), ("1", "isMemberOfClass:", "'NSValue'", false),
        ("'abc'", "hasPrefix:", "nil", false), ("1", "isEqual:", "nil", false),
    ]

    func testComparisonMethodsWorkAsFunctionsAndOperators() throws {
        for (left, selector, right, answer) in MessageTests.comparisons {
            let call = "FUNCTION(\(left), '\(selector)', \(right))"
            guard case .bool(let sent) = try value(call) else { return XCTFail("\(call) gives no boolean") }
            XCTAssertEqual(sent, answer, call)
            let format = "\(left) \(selector) \(right)"
            XCTAssertEqual(try Predicate.parse(format).evaluate(with: object), answer, format)
        }
        XCTAssertThrowsError(try Predicate.parse("FUNCTION(1, 'isLessThan:', 'a') == YES").evaluate(with: object)) {
            XCTAssertEqual(($0 as? CoreError)?.status, .predicate)
        }
    }

    func testValuesBelongToTheirClasses() throws {
        for (expression, names) in [
            ("1", ["NSNumber", "NSValue", "NSObject"]), ("1.5", ["NSNumber", "NSValue", "NSObject"]),
            ("yes", ["NSNumber", "NSValue", "NSObject"]),
            ("dec", ["NSDecimalNumber", "NSNumber", "NSValue", "NSObject"]), ("'a'", ["NSString", "NSObject"]),
            ("bytes", ["NSData", "NSObject"]), ("date", ["NSDate", "NSObject"]), ("uuid", ["NSUUID", "NSObject"]),
            ("uri", ["NSURL", "NSObject"]), ("{1}", ["NSArray", "NSObject"]), ("s", ["NSSet", "NSObject"]),
            ("d", ["NSDictionary", "NSObject"]),
        ] {
            for name in [
                "NSNumber", "NSValue", "NSDecimalNumber", "NSString", "NSData", "NSDate", "NSUUID", "NSURL", "NSArray",
                "NSSet", "NSDictionary", "NSObject", "NSNull",
            ] {
                let kind = try Predicate.parse("\(expression) isKindOfClass: '\(name)'").evaluate(with: object)
                XCTAssertEqual(kind, names.contains(name), "\(expression) \(name)")
                let member = try Predicate.parse("\(expression) isMemberOfClass: '\(name)'").evaluate(with: object)
                XCTAssertEqual(member, names[0] == name, "\(expression) \(name)")
            }
        }
        assertFails(
            "FUNCTION(1, 'isKindOfClass:', 5)", "isKindOfClass: takes the name of a class, not a number",
            key: "isKindOfClass:")
    }

    func testMethodsAreCalledWithArguments() throws {
        let table: [(String, PropertyValue)] = [
            ("FUNCTION('a', 'stringByAppendingString:', 'b')", .string("ab")),
            ("FUNCTION({1, 'b', 2.5}, 'componentsJoinedByString:', '-')", .string("1-b-2.5")),
            ("FUNCTION({}, 'componentsJoinedByString:', '-')", .string("")),
            ("FUNCTION({7, 8}, 'objectAtIndex:', 1)", .int(8)), ("FUNCTION(d, 'objectForKey:', 'k')", .string("v")),
            ("FUNCTION(d, 'objectForKey:', 'none')", .null), ("FUNCTION(d, 'objectForKey:', 'a.b')", .int(1)),
            ("FUNCTION(d, 'valueForKey:', 'a.b')", .int(1)), ("FUNCTION(d, 'valueForKeyPath:', 'a.b')", .int(2)),
            ("FUNCTION('abc', 'valueForKey:', 'length')", .int(3)),
            ("FUNCTION(date, 'dateByAddingTimeInterval:', 5)", .date(105)),
            ("FUNCTION(date, 'timeIntervalSinceDate:', CAST(30, 'NSDate'))", .double(70)),
            ("FUNCTION('abc', 'length')", .int(3)), ("FUNCTION(d, 'k')", .string("v")),
            ("FUNCTION(5, 'stringValue')", .string("5")), ("FUNCTION(nil, 'length')", .null),
        ]
        for (format, expected) in table { XCTAssertEqual(try value(format), expected, format) }
    }

    func testUnknownMethodsFail() {
        assertFails(
            "FUNCTION('abc', 'hasPrefix:')",
            "the function \"hasPrefix:\" is not registered, and a method of this name takes 1 argument (one per colon), not 0. Pass one per colon, "
                + "or register the function with cst_function_register (register_function, FunctionRegistry.register)",
            key: "hasPrefix:")
        assertFails(
            "FUNCTION('abc', 'length', 1)",
            "the function \"length\" is not registered, and a method of this name takes 0 arguments (one per colon), not 1. Pass one per colon, "
                + "or register the function with cst_function_register (register_function, FunctionRegistry.register)",
            key: "length")
        assertFails(
            "FUNCTION('abc', 'a:b:', 1)",
            "the function \"a:b:\" is not registered, and a method of this name takes 2 arguments (one per colon), not 1. Pass one per colon, "
                + "or register the function with cst_function_register (register_function, FunctionRegistry.register)",
            key: "a:b:")
        assertFails(
            "FUNCTION('abc', 'hasPrefix', 'a')",
            "the function \"hasPrefix\" is not registered; did you mean \"hasPrefix:\"?", key: "hasPrefix")
        assertFails(
            "FUNCTION('abc', 'lenght')",
            "the function \"lenght\" is not defined for a string; did you mean \"length\"?", key: "lenght")
        assertFails("FUNCTION('abc', 5)", "FUNCTION takes its selector as a string, not a number")
        assertFails(
            "FUNCTION(1, 'zzzzzzzzz')",
            "the function \"zzzzzzzzz\" is not defined for a number; register it with cst_function_register "
                + "(register_function, FunctionRegistry.register)",
            key: "zzzzzzzzz")
        assertFails(
            "FUNCTION('a', 'hasPrefx:', 'b')",
            "the function \"hasPrefx:\" is not defined for a string; did you mean \"hasPrefix:\"?",
            key: "hasPrefx:")
        for (receiver, selector, argument, kinds) in [
            ("5", "stringByAppendingString:", "'a'", "two strings, not to a number and a string"),
            ("'a'", "stringByAppendingString:", "5", "two strings, not to a string and a number"),
            ("'a'", "componentsJoinedByString:", "'b'", "a list and a string, not to a string and a string"),
            ("{1}", "objectForKey:", "'b'", "a dictionary and a string, not to a list and a string"),
            ("d", "valueForKey:", "1", "any value and a string, not to a dictionary and a number"),
            ("date", "dateByAddingTimeInterval:", "'x'", "a date and a number, not to a date and a string"),
            ("date", "timeIntervalSinceDate:", "5", "two dates, not to a date and a number"),
        ] {
            assertFails(
                "FUNCTION(\(receiver), '\(selector)', \(argument))", "\(selector) applies to \(kinds)",
                key: selector)
        }
    }

    func testRegisteredOperatorMustReturnABoolean() throws {
        FunctionRegistry.register("answers:") { _, arguments in arguments[0] }
        defer { FunctionRegistry.unregister("answers:") }
        for (right, holds) in [("1", true), ("0", false), ("0.5", true), ("NO", false), ("-1", true)] {
            XCTAssertEqual(try Predicate.parse("1 answers: \(right)").evaluate(with: .null), holds, right)
        }
        XCTAssertFalse(try Predicate.parse("1 answers: nil").evaluate(with: .null), "an operator with nil is false")
        XCTAssertThrowsError(try Predicate.parse("1 answers: 'yes'").evaluate(with: .null)) {
            XCTAssertEqual(
                ($0 as? CoreError)?.message,
                "the function \"answers:\" is used as an operator and must return a boolean, not a string")
        }
    }

    func testPlainValuesHaveKeys() throws {
        func value(_ start: PropertyValue, _ path: String) throws -> PropertyValue {
            try KeyPathEvaluation.value(of: start, atKeyPath: path)
        }
        let table: [(PropertyValue, String, PropertyValue)] = [
            (.string("Hé😀"), "length", .int(4)), (.string("Hé"), "description", .string("Hé")),
            (.string("Hé"), "uppercaseString", .string("HÉ")), (.string("HÉ"), "lowercaseString", .string("hé")),
            (.string(" \t\n12 apples"), "intValue", .int(12)), (.string("-7"), "integerValue", .int(-7)),
            (.string("9223372036854775807"), "longLongValue", .int(.max)), (.string("x"), "intValue", .int(0)),
            (.string("9223372036854775808"), "longLongValue", .int(.max)),
            (.string("-9223372036854775809"), "longLongValue", .int(.min)),
            (.string("1.5"), "intValue", .int(1)), (.string("12eggs"), "intValue", .int(12)),
            (.string("3-4"), "integerValue", .int(3)), (.string("--4"), "integerValue", .int(0)),
            (.string("1.e2"), "doubleValue", .double(100)), (.string(".5e+1x"), "doubleValue", .double(5)),
            (.string("--1.5"), "doubleValue", .double(0)), (.string("+2e-1e5"), "doubleValue", .double(0.2)),
            (.string("12e"), "doubleValue", .double(12)), (.string("1.5-"), "doubleValue", .double(1.5)),
            (.int(.max), "longLongValue", .int(.max)),
            (.int(9_007_199_254_740_993), "integerValue", .int(9_007_199_254_740_993)),
            (.decimal(DecimalNumber(.max)), "longLongValue", .int(.max)),
            (.string(" 1.5 m"), "doubleValue", .double(1.5)), (.string("-2e3"), "floatValue", .double(-2000)),
            (.string(""), "doubleValue", .double(0)), (.string("Yes"), "boolValue", .bool(true)),
            (.string("true"), "boolValue", .bool(true)), (.string("9"), "boolValue", .bool(true)),
            (.string("0"), "boolValue", .bool(false)), (.string("no"), "boolValue", .bool(false)),
            (.string(""), "boolValue", .bool(false)), (.uri("x:é"), "absoluteString", .string("x:é")),
            (.uri("x:é"), "length", .int(3)), (.int(5), "description", .string("5")),
            (.double(1.5), "stringValue", .string("1.5")), (.bool(true), "intValue", .int(1)),
            (.double(5.9), "intValue", .int(5)), (.double(-5.9), "integerValue", .int(-5)),
            (.double(1e30), "longLongValue", .int(0)), (.int(3), "doubleValue", .double(3)),
            (.decimal(DecimalNumber(mantissa: 25, exponent: -1)), "floatValue", .double(2.5)),
            (.int(2), "boolValue", .bool(true)), (.double(0), "boolValue", .bool(false)),
            (.date(100), "timeIntervalSinceReferenceDate", .double(100)),
            (.date(100), "timeIntervalSince1970", .double(978_307_300)),
            (.date(0), "description", .string("2001-01-01T00:00:00Z")),
            (.uuid(UUIDValue(high: 0, low: 1)), "UUIDString", .string("00000000-0000-0000-0000-000000000001")),
            (.uuid(UUIDValue(high: 0, low: 1)), "description", .string("00000000-0000-0000-0000-000000000001")),
            (.bytes(Bytes([1, 2, 3])), "length", .int(3)), (.int(5), "self.self", .int(5)), (.null, "anything", .null),
        ]
        for (start, path, expected) in table {
            let found = try value(start, path)
            XCTAssertEqual(found, expected, "\(start).\(path)")
            XCTAssertEqual(found.kind, expected.kind, "\(start).\(path)")
        }
        for (start, key, message) in [
            (.string("a"), "count", "\"a\" is a string"), (.int(5), "length", "5 is a number"),
            (.date(0), "length", "2001-01-01T00:00:00Z is a date"),
            (.bytes(Bytes([1])), "description", "<01> is binary data"),
            (.uri("u"), "absolute", "\"u\" is a URI"), (.bool(true), "@count", "1 is a boolean"),
        ] as [(PropertyValue, String, String)] {
            XCTAssertThrowsError(try value(start, key)) {
                let error = $0 as? CoreError
                XCTAssertEqual(
                    error?.message,
                    "\(message), which is not key value coding-compliant for the key \"\(key)\"")
                XCTAssertEqual(error?.key, key)
                XCTAssertEqual(error?.status, .predicate)
            }
        }
    }

    func testDictionariesAndCollectionsHaveKeysAndOperators() throws {
        func value(_ start: PropertyValue, _ path: String) throws -> PropertyValue {
            try KeyPathEvaluation.value(of: start, atKeyPath: path)
        }
        let row = PropertyValue.dictionary(["b": .int(2), "a": .int(1), "c": .null])
        XCTAssertEqual(try value(row, "@allKeys"), .array([.string("a"), .string("b"), .string("c")]))
        XCTAssertEqual(try value(row, "@allValues"), .array([.int(1), .int(2), .null]))
        XCTAssertEqual(try value(row, "@count"), .int(3))
        XCTAssertEqual(try value(row, "self.b"), .int(2))
        XCTAssertEqual(try value(.dictionary(["@count": .int(9), "self": .int(8)]), "@count"), .int(9))
        XCTAssertEqual(try value(.dictionary(["self": .int(8)]), "self"), .int(8))
        XCTAssertEqual(try value(row, "c.d.e"), .null)
        XCTAssertThrowsError(try value(row, "@sum")) { XCTAssertEqual(($0 as? CoreError)?.key, "@sum") }
        let rows: [PropertyValue] = [row, .dictionary([:]), row]
        XCTAssertEqual(try value(.array(rows), "a"), .array([.int(1), .null, .int(1)]))
        XCTAssertEqual(try value(.array(rows), "self.self.a"), .array([.int(1), .null, .int(1)]))
        XCTAssertEqual(try value(.set(Set(rows)), "a"), .set([.int(1)]))
        XCTAssertEqual(try value(.set(Set(rows)), "self"), .set(Set(rows)))
        let values = PropertyValue.array([.int(3), .int(1), .int(3)])
        XCTAssertEqual(try value(values, "@distinctUnionOfObjects.self"), .array([.int(3), .int(1)]), "in their order")
        XCTAssertEqual(try value(values, "@unionOfObjects.self"), values)
        XCTAssertEqual(try value(.set([.int(3)]), "@distinctUnionOfObjects.self"), .set([.int(3)]))
        let lists = PropertyValue.array([.array([.int(2), .int(1)]), .array([.int(2)])])
        XCTAssertEqual(try value(lists, "@unionOfArrays"), .array([.int(2), .int(1), .int(2)]))
        XCTAssertEqual(try value(lists, "@distinctUnionOfArrays"), .array([.int(2), .int(1)]))
        XCTAssertEqual(try value(lists, "@distinctUnionOfSets"), .set([.int(2), .int(1)]))
        XCTAssertEqual(try value(.set([.array([.int(2)])]), "@distinctUnionOfArrays"), .set([.int(2)]))
    }
}
