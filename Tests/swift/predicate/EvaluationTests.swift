import CorestonePredicate
import CorestoneValues
import XCTest

final class EvaluationTests: XCTestCase {
    /// An object like those of a context. It rejects unknown keys and counts its reads.
    private final class Person: KeyValueCoding {
        var values: [String: PropertyValue]
        /// Keys of to-many relationships, which key paths flatten as for objects of a context.
        var gathered: Set<String> = []
        /// Member counts that are known without reading the members.
        var counts: [String: Int] = [:]
        private(set) var reads = 0
        var nameOfEntity: String? { values["entity"]?.textual?.string }
        var classNames: [String] { ["Person", "Being"] }

        init(_ values: [String: PropertyValue]) { self.values = values }

        func value(forKey key: String) throws -> PropertyValue {
            reads += 1
            if let value = values[key] { return value }
            throw CoreError(.predicate, "no key \(key)", key: key)
        }

        func hasMembers(for key: KeyName) -> Bool { gathered.contains(key.text) }
        func memberCount(for key: KeyName) throws -> Int? { counts[key.text] }
        func order(against other: any ValueObject) throws -> Int? {
            guard let rank = values["rank"]?.number, let theirs = (other as? Person)?.values["rank"]?.number else {
                return nil
            }
            return rank < theirs ? -1 : rank > theirs ? 1 : 0
        }

        func isEqual(to other: any ValueObject) -> Bool { self === other }
        func hashIdentity(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
        var valueDescription: String { "a person" }
    }

    private func holds(
        _ format: String, _ arguments: PropertyValue..., with value: PropertyValue = .null,
        arithmetic: ArithmeticRule = .strict
    ) throws -> Bool {
        try Predicate.parse(format, arguments: arguments).evaluate(with: value, arithmetic: arithmetic)
    }

    private func assertThrows(_ format: String, with value: PropertyValue = .null, line: UInt = #line) {
        XCTAssertThrowsError(try holds(format, with: value), format, line: line) {
            XCTAssertEqual(($0 as? CoreError)?.status, .predicate, "\($0)", line: line)
        }
    }

    func testPredicatesAreEvaluatedOnObjects() throws {
        let boss = Person(["name": .string("Zoë"), "age": .int(50), "reports": .array([]), "boss": .null])
        let ann = Person(["name": .string("Ann"), "age": .int(30), "reports": .array([]), "boss": .object(boss)])
        let ben = Person(["name": .string("Ben"), "age": .null, "reports": .array([]), "boss": .object(boss)])
        boss.values["reports"] = .array([.object(ann), .object(ben)])
        for format in [
            "name ==[cd] 'ZOE'", "ANY reports.age > 20", "ANY reports.boss.name == 'Zoë'", "reports.@count == 2",
            "reports.@avg.age == 15", "reports.@max.age == 30", "SUBQUERY(reports, $r, $r.age == nil).@count == 1",
            "NONE reports.name == 'Zoë'", "ALL reports.boss == SELF", "boss == nil", "boss.name == nil",
            "NOT (ANY reports.reports.name == 'x')", "SELF IN {SELF}",
        ] {
            XCTAssertTrue(try holds(format, with: .object(boss)), format)
        }
        assertThrows("nmae == 1", with: .object(boss))
        assertThrows("ANY boss.name == 'x'", with: .object(ann))
        let reads = boss.reads
        XCTAssertTrue(try holds("age > 3 AND age < 90 AND age != 7", with: .object(boss)))
        XCTAssertEqual(boss.reads, reads + 3)
    }

    func testObjectsAreComparedByClassAndOrder() throws {
        let (low, high, other) = (Person(["rank": .int(1)]), Person(["rank": .int(2)]), Person([:]))
        let arguments = [low, high, other].map { PropertyValue.object($0) }
        for format in [
            "%@ < %@", "%@ <= %@", "%@ != %@", "NOT %@ > %@", "NOT %@ == %@", "max(%@, %@).rank == 2",
            "min(%@, %@).rank == 1",
            "{%@, %@}.@max.self.rank == 2", "%@ isKindOfClass: 'Person'", "%@ isKindOfClass: 'Being'",
            "%@ isKindOfClass: 'NSObject'", "NOT %@ isMemberOfClass: 'Being'", "%@ isMemberOfClass: 'Person'",
        ] { XCTAssertTrue(try Predicate.parse(format, arguments: arguments).evaluate(with: .null), format) }
        XCTAssertThrowsError(
            try Predicate.parse("%@ < %@", arguments: [arguments[0], arguments[2]]).evaluate(with: .null)
        ) {
            XCTAssertEqual(
                ($0 as? CoreError)?.message,
                "a person and a person cannot be ordered: each is an object; compare them only by == or IN")
        }
        let sorted = try SortDescriptor.sorted([arguments[1], arguments[0]], by: [SortDescriptor("self")])
        XCTAssertEqual(sorted, [arguments[0], arguments[1]])
    }

    func testEvaluationErrorNamesTheEntity() throws {
        let ann = PropertyValue.object(Person(["entity": .string("Person"), "name": .string("Ann"), "age": .int(30)]))
        for (format, key, message) in [
            (
                "age < 'a'", "age",
                "\"age < \"a\"\" cannot be evaluated: 30 and \"a\" cannot be ordered: one is a number, the other a string; compare Person.age with a "
                    + "number"
            ),
            (
                "name LIKE 5", "name",
                "LIKE compares strings, not \"Ann\" with 5; compare two strings, or convert with CAST(…, \"NSString\")"
            ), ("age LIKE 'x'", "age", nil), ("'x' ENDSWITH age", "age", nil),
        ] as [(String, String?, String?)] {
            XCTAssertThrowsError(try holds(format, with: ann), format) {
                let error = $0 as? CoreError
                XCTAssertEqual(error?.key, key, format)
                XCTAssertEqual(error?.entity, key == nil ? nil : "Person", format)
                if let message { XCTAssertEqual(error?.message, message) }
                if key != nil, message == nil {
                    XCTAssertEqual(error?.message.contains(" 30 (Person.age)"), true, format)
                    XCTAssertEqual(error?.message.contains("; compare two strings"), true, format)
                }
            }
        }
    }

    func testMembersAreCountedWithoutReadingThem() throws {
        let boss = Person(["reports": .array([.null]), "tags": .set([.int(1), .int(2)]), "boss": .null])
        boss.counts["reports"] = 7
        XCTAssertTrue(try holds("reports.@count == 7", with: .object(boss)))
        XCTAssertEqual(boss.reads, 0)
        XCTAssertTrue(try holds("tags.@count == 2 AND self.tags.@sum.self == 3", with: .object(boss)))
        XCTAssertEqual(boss.reads, 2)
        XCTAssertTrue(try holds("reports.@avg.self == 0", with: .object(boss)), "another operator reads the members")
        XCTAssertTrue(try holds("boss == nil AND tags != nil AND NOT boss < nil AND boss <= nil", with: .object(boss)))
    }

    func testInvalidComparisonsFail() {
        for format in [
            "'a' < 1", "1 > 'a'", "1 BEGINSWITH 'a'", "1 IN 'abc'", "1 IN 2", "'a' MATCHES '('", "1 BETWEEN {1}",
            "1 BETWEEN 2", "ANY 1 == 1", "$x == 1", "1 + nil == 2", "1 / 0 == 1", "modulus:by:(5, 0.5) == 1",
            "{1}[1] == 1",
            "{1}[-1] == 1", "'abc'.nokey == 1", "abs:('a') == 1", "random:(0) == 1", "FETCH(1, 2, 3) == 1",
            "'b' isOfClass: 'a'", "'a' UTI-CONFORMS-TO 3", "CAST('x', 'NSDate') == 1", "CAST(1, 'Thing') == 1",
            "1 UNION 2 == 3", "{nil}.@unionOfObjects.self == 1", "{1}.@nosuch.self == 1", "$v := 1 == 1",
        ] {
            assertThrows(format)
        }
    }

    func testNilPropagatesWithStoreArithmetic() throws {
        XCTAssertFalse(try holds("nil + 1 > 2", arithmetic: .nilPropagating))
        XCTAssertTrue(try holds("nil * 2 != 4", arithmetic: .nilPropagating))
        XCTAssertFalse(try holds("1 / 0 > 0", arithmetic: .nilPropagating))
        XCTAssertTrue(try holds("modulus:by:(5, 0) == nil", arithmetic: .nilPropagating))
    }

    func testNumbersAreComparedAtTheirLimits() throws {
        for format in [
            "9223372036854775807 + 1 == 9223372036854775808", "-9223372036854775808 < -9223372036854775807",
            "-9223372036854775808 / -1 > 9223372036854775806", "modulus:by:(-9223372036854775808, -1) == 0",
            "9223372036854775807 * 2 > 0", "abs:(-9223372036854775808) > 0", "1 << 70 == 0", "0xFF == 255",
            "1e400 > 1e300",
            "12345678901234567890123456789012345678 > 9223372036854775807", "2 ** 0.5 < 1.5", "7 / 2 == 3",
            "-7 / 2 == -3",
        ] {
            XCTAssertTrue(try holds(format), format)
        }
    }

    func testDecimalsAreComputedExactly() throws {
        let price = PropertyValue.decimal(try DecimalNumber("0.10"))
        XCTAssertTrue(try holds("%@ + %@ + %@ == %@", price, price, price, .decimal(try DecimalNumber("0.3"))))
        XCTAssertTrue(try holds("%@ < 1 AND %@ > 0.05", price, price))
    }

    func testURIsAreComparedWithStrings() throws {
        let object = PropertyValue.dictionary(["homepage": .uri("https://example.org/a")])
        XCTAssertTrue(try holds("homepage == 'https://example.org/a' AND homepage CONTAINS 'example'", with: object))
        XCTAssertFalse(try holds("homepage == 'https://example.org/b'", with: object))
    }

    func testQuantifiersAndUnionsFlattenNestedCollections() throws {
        let object = PropertyValue.dictionary([
            "lists": .array([
                .dictionary(["tags": .set([.string("a"), .string("b")])]), .dictionary(["tags": .set([.string("c")])]),
            ])
        ])
        XCTAssertTrue(try holds("ANY lists.tags == 'c'", with: object))
        XCTAssertFalse(try holds("ANY lists.tags == 'd'", with: object))
        XCTAssertTrue(try holds("(lists.@distinctUnionOfSets.tags)[SIZE] == 3", with: object))
    }

    func testPathsOverSeveralToManyRelationshipsAreFlattened() throws {
        func person(_ age: Int64, _ friends: [Person] = []) -> Person {
            let person = Person([
                "age": .int(age), "friends": .array(friends.map { .object($0) }),
                "lists": .array([.array([.int(1)]), .array([.int(2)])]),
            ])
            person.gathered = ["friends"]
            return person
        }
        let root = PropertyValue.object(
            person(0, [person(1, [person(3), person(4)]), person(2, [person(5, [person(9)]), person(4)])]))
        for format in [
            "SUBQUERY(friends.friends, $f, $f.age > 3).@count == 3", "friends.friends.@count == 4",
            "friends.friends.@sum.age == 16", "friends.friends.@avg.age == 4", "friends.friends.@min.age == 3",
            "friends.friends.@max.age == 5", "friends.friends.friends.@sum.age == 9", "ANY friends.friends.age == 5",
            "5 IN friends.friends.age", "friends.friends.age == {3, 4, 5, 4}", "friends.@sum.friends.@count == 4",
            "SUBQUERY(friends, $f, $f.friends.@count == 2).friends.@max.age == 5",
            "(friends.friends)[SIZE] == 4", "friends.@unionOfArrays.friends == friends.friends",
            // Lists that are not relationships are not flattened, as in key-value coding.
            "(friends.lists)[0] == {{1}, {2}}", "friends.lists.@count == 2",
        ] {
            XCTAssertTrue(try holds(format, with: root), format)
        }
    }

    func testComparisonMethodsAreCalledAsFunctions() throws {
        for format in [
            "FUNCTION('abc', 'hasPrefix:', 'a') == YES", "FUNCTION('abc', 'hasSuffix:', 'a') == NO",
            "FUNCTION('abc', 'containsString:', 'bc') == 1", "FUNCTION('abc', 'isEqualToString:', 'abc') == YES",
            "FUNCTION(3, 'isKindOfClass:', 'NSNumber') == YES", "FUNCTION(3, 'isLessThan:', 4) == YES",
            "FUNCTION({1, 2}, 'containsObject:', 2) == YES", "FUNCTION(nil, 'hasPrefix:', 'a') == nil",
            "FUNCTION('abc', 'isLike:', 'a*') == YES", "'abc' hasPrefix: 'a'",
        ] {
            XCTAssertTrue(try holds(format), format)
        }
        let mistakes = [
            ("FUNCTION('abc', 'hasPrefx:', 'a') == 1", "did you mean \"hasPrefix:\"?"),
            ("FUNCTION(5, 'stringByAppendingString:', 'a') == 1", "applies to two strings, not to a number"),
            ("'abc' stringByAppendingString: 'a'", "the function \"stringByAppendingString:\" is not defined"),
        ]
        for (format, words) in mistakes {
            XCTAssertThrowsError(try holds(format)) { error in
                let message = (error as? CoreError)?.message ?? ""
                XCTAssertTrue(message.contains(words), message)
                XCTAssertFalse(message.contains("mean stringByAppendingString:"), message)
            }
        }
    }

    func testValueIsFoundInALongList() throws {
        let list = PropertyValue.array((0..<5_000).map { .int($0 * 2) })
        XCTAssertTrue(try holds("SELF IN %@", list, with: .int(9_998)))
        XCTAssertTrue(try holds("SELF IN %@", list, with: .double(4)))
        XCTAssertFalse(try holds("SELF IN %@", list, with: .int(9_999)))
        XCTAssertFalse(try holds("SELF IN %@", list, with: .null))
    }

    func testAssignmentSetsTheVariable() throws {
        let predicate = try Predicate.parse("($v := 3 + 1) == 4 AND $v == 4")
        XCTAssertTrue(try predicate.evaluate(with: .null, variables: [:]))
    }

    func testSortDescriptorsOrderRows() throws {
        let rows: [PropertyValue] = [("b", 1), ("a", 2), ("B", 3), ("a", 1)].map {
            .dictionary(["name": .string($0.0), "age": .int($0.1)])
        }
        func order(_ descriptors: SortDescriptor...) throws -> [String] {
            try SortDescriptor.sorted(rows + [.dictionary([:])], by: descriptors).map {
                guard case .dictionary(let row) = $0, let name = row["name"], let age = row["age"] else { return "-" }
                return Expression.constant(name).format.filter { $0 != "\"" } + Expression.constant(age).format
            }
        }
        XCTAssertEqual(try order(SortDescriptor("name"), SortDescriptor("-age")), ["-", "B3", "a2", "a1", "b1"])
        XCTAssertEqual(try order(SortDescriptor("name", caseInsensitive: true)), ["-", "a2", "a1", "b1", "B3"])
        XCTAssertEqual(try order(SortDescriptor("age", ascending: false)), ["B3", "a2", "b1", "a1", "-"])
    }
}
