import CorestoneValues
import XCTest

/// Equality, order and hashes of values; errors that carry them.
final class PropertyValueTests: XCTestCase {
    private final class Thing: ValueObject {
        let name: String
        let standsFor: Thing?
        init(_ name: String, for other: Thing? = nil) { (self.name, standsFor) = (name, other) }
        func isEqual(to other: any ValueObject) -> Bool { (other as? Thing)?.name == name }
        func hashIdentity(into hasher: inout Hasher) { hasher.combine(name) }
        var valueDescription: String { name }
        var original: any ValueObject { standsFor ?? self }
    }

    /// The values of a row are equal to each other, and unequal to those of other rows.
    private static let classes: [[PropertyValue]] = [
        [.null], [.int(0), .bool(false), .double(-0.0), .decimal(.zero)],
        [.int(1), .bool(true), .double(1), .decimal(DecimalNumber(mantissa: 10, exponent: -1))],
        [.double(1.5), .decimal(DecimalNumber(mantissa: 15, exponent: -1))], [.date(1)], [.date(0)],
        [.string("1"), .uri("1")], [.string(""), .uri("")], [.bytes(Bytes([0x31]))], [.bytes(Bytes([]))],
        [.uuid(UUIDValue(high: 0, low: 1))], [.uuid(UUIDValue(high: 1, low: 0))], [.array([])], [.set([])],
        [.dictionary([:])], [.array([.int(1)]), .array([.double(1)])], [.set([.int(1)]), .set([.bool(true)])],
        [.dictionary(["a": .int(1)]), .dictionary(["a": .double(1)])], [.dictionary(["b": .int(1)])],
        [.object(Thing("a")), .object(Thing("a"))], [.object(Thing("b"))], [.int(.min), .double(-0x1p63)],
        [.int(.max)], [.double(0x1p63)], [.int(9_007_199_254_740_993)], [.int(9_007_199_254_740_992), .double(0x1p53)],
    ]

    func testValuesAreEqualByValueAndKind() {
        for (i, row) in PropertyValueTests.classes.enumerated() {
            for a in row {
                for (j, other) in PropertyValueTests.classes.enumerated() {
                    for b in other {
                        XCTAssertEqual(a == b, i == j, "\(a) \(b)")
                        if i == j { XCTAssertEqual(a.hashValue, b.hashValue, "\(a) \(b)") }
                    }
                }
            }
        }
        XCTAssertNotEqual(PropertyValue.double(.nan), .double(.nan))
    }

    func testNumbersOfAllKindsAreComparedExactly() throws {
        let table: [(PropertyValue, PropertyValue, Int?)] = [
            (.int(1), .int(2), -1), (.int(2), .int(2), 0), (.double(1.5), .double(1.25), 1), (.bool(true), .int(0), 1),
            (.int(1), .double(1.5), -1), (.int(-1), .double(-1.5), 1), (.int(2), .double(1.5), 1),
            (.int(-2), .double(-1.5), -1), (.int(9_007_199_254_740_993), .double(0x1p53), 1),
            (.int(.max), .double(0x1p63), -1), (.int(.min), .double(-0x1p63), 0),
            (.int(.min), .double((-0x1p63).nextUp), -1), (.int(.min), .double((-0x1p63).nextDown), 1),
            (.int(1), .double(.infinity), -1), (.int(1), .double(-.infinity), 1),
            (.decimal(try DecimalNumber("0.1")), .int(0), 1), (.decimal(try DecimalNumber("-0.1")), .int(0), -1),
            (.decimal(try DecimalNumber("9223372036854775807.5")), .int(.max), 1),
            (.decimal(try DecimalNumber("0.1")), .decimal(try DecimalNumber("0.2")), -1),
            (.decimal(try DecimalNumber("0.5")), .double(0.5), 0), (.decimal(try DecimalNumber("2")), .bool(true), 1),
        ]
        for (a, b, order) in table {
            XCTAssertEqual(compareNumbers(a, b)?.signum(), order, "\(a) \(b)")
            XCTAssertEqual(compareNumbers(b, a)?.signum(), order.map { -$0 }, "\(b) \(a)")
        }
        for other in [PropertyValue.null, .double(.nan), .string("1"), .date(1)] {
            XCTAssertNil(compareNumbers(.int(1), other), "\(other)")
            XCTAssertNil(compareNumbers(other, .double(1)), "\(other)")
        }
    }

    func testNumbersConvertToDoubles() throws {
        let table: [(PropertyValue, Double?)] = [
            (.bool(true), 1), (.bool(false), 0), (.int(-3), -3), (.double(0.25), 0.25),
            (.decimal(try DecimalNumber("-1.5")), -1.5), (.null, nil), (.date(1), nil), (.string("1"), nil),
        ]
        for (value, number) in table { XCTAssertEqual(value.number, number, "\(value)") }
        XCTAssertTrue(PropertyValue.null.isNull)
        XCTAssertFalse(PropertyValue.int(0).isNull)
    }

    func testErrorWithoutObjectsHasNoObjectsInItsChildren() {
        let object = PropertyValue.object(Thing("a"))
        let grandchild = CoreError(.validation, "grandchild", key: "owner", value: .array([object]))
        let child = CoreError(.validation, "child", key: "age", value: .int(1), children: [grandchild])
        let error = CoreError(.validation, "error", value: .string("x"), children: [child, child])
        let cleared = error.withoutObjects
        XCTAssertEqual(cleared.value, .string("x"))
        XCTAssertEqual(cleared.children.map(\.value), [.int(1), .int(1)])
        XCTAssertEqual(cleared.children.map(\.message), ["child", "child"])
        XCTAssertEqual(cleared.children[0].children.map(\.key), ["owner"])
        XCTAssertNil(cleared.children[0].children[0].value)
        XCTAssertNil(CoreError(.validation, "error", value: object).withoutObjects.value)
        XCTAssertTrue(child.children[0] === grandchild)
        let plain = CoreError(.validation, "plain", value: .int(1), children: [CoreError(.validation, "child")])
        XCTAssertTrue(plain.withoutObjects === plain)
    }

    func testOriginalsReplaceTheirStandIns() {
        let original = Thing("original")
        let value = PropertyValue.object(Thing("stand-in", for: original))
        func names(_ value: PropertyValue) -> [String] {
            switch value {
            case .object(let object): [object.valueDescription]
            case .array(let values): values.flatMap(names)
            case .set(let values): values.flatMap(names)
            case .dictionary(let values): values.values.flatMap(names)
            default: []
            }
        }
        for whole in [value, .array([value]), .set([value]), .dictionary(["k": .array([value])])] {
            XCTAssertEqual(names(whole), ["stand-in"])
            XCTAssertEqual(names(whole.withOriginals), ["original"])
        }
        XCTAssertEqual(PropertyValue.int(3).withOriginals, .int(3))
        XCTAssertEqual(names(PropertyValue.object(original).withOriginals), ["original"])
    }

    func testTextCountsAndComparesUTF8Bytes() {
        let text = Text("aé")
        XCTAssertEqual([text.count, text.asciiCount, Int(text.buffer.start[3])], [3, 1, 0])
        XCTAssertFalse(text.isASCII)
        XCTAssertFalse(text.isEmpty)
        XCTAssertTrue(Text("abc").isASCII)
        XCTAssertTrue(Text("").isEmpty)
        XCTAssertNotEqual(Text("\u{E9}"), Text("e\u{301}"))
        let ordered = [Text(""), "A", "AA", "B", "a", "\u{7F}", "\u{80}", "\u{FF}", "\u{FFFF}", "\u{10000}"]
        for (i, a) in ordered.enumerated() {
            for (j, b) in ordered.enumerated() {
                XCTAssertEqual(a < b, i < j, "\(a) \(b)")
                XCTAssertEqual(compareBytes(a.utf8, b.utf8).signum(), (i - j).signum(), "\(a) \(b)")
                XCTAssertEqual(equalBytes(a.utf8, b.utf8), i == j, "\(a) \(b)")
            }
        }
        XCTAssertEqual(Bytes([1, 0, 255]).array, [1, 0, 255])
        XCTAssertEqual(Bytes([1, 2]), Bytes([1, 2]))
        XCTAssertNotEqual(Bytes([1, 2]), Bytes([1, 3]))
        XCTAssertNotEqual(Bytes([1, 2]), Bytes([1]))
    }

    func testClampedArithmeticStaysInRange() {
        for (a, b, sum, product) in [
            (1, 2, 3, 2), (100, 27, 127, 127), (100, 28, 127, 127), (-100, -28, -128, 127), (-100, -29, -128, 127),
            (-64, 2, -62, -128), (100, -2, 98, -128), (-100, 2, -98, -128), (0, -128, -128, 0), (64, 2, 66, 127),
        ] as [(Int8, Int8, Int8, Int8)] {
            XCTAssertEqual(a.addingClamped(b), sum, "\(a) + \(b)")
            XCTAssertEqual(a.multipliedClamped(by: b), product, "\(a) * \(b)")
        }
    }

    func testImpossibleAllocationFailsWithNoMemory() {
        XCTAssertNoThrow(try MemoryCheck.require(0, to: "read it"))
        XCTAssertNoThrow(try MemoryCheck.require(-1, to: "read it"))
        XCTAssertThrowsError(try MemoryCheck.require(.max, to: "read it", file: "/a/b")) {
            let error = $0 as? CoreError
            XCTAssertEqual(error?.status, .noMemory)
            XCTAssertEqual(error?.file, "/a/b")
            XCTAssertEqual(
                error?.message.hasPrefix(
                    "out of memory: cannot read it, because another 8796093022207 MB are not available. "),
                true)
        }
    }

    // MARK: - Errors

    func testErrorDescriptionIncludesCodesAndChildren() {
        XCTAssertEqual(CoreError(.conflict, "no code").description, "no code")
        let missing = CoreError(.validation, code: .validationMissingMandatoryProperty, "a is missing")
        let own = CoreError(.callback, "mine", domain: "host", customCode: 7)
        XCTAssertEqual(missing.description, "a is missing [NSCocoaErrorDomain 1570]")
        XCTAssertEqual(own.description, "mine [host 7]")
        XCTAssertEqual(
            CoreError(.validation, code: .validationMultipleErrors, "two", children: [missing, own]).description,
            "two [NSCocoaErrorDomain 1560]\n  - a is missing [NSCocoaErrorDomain 1570]\n  - mine [host 7]")
        XCTAssertEqual(missing.offset, -1)
        XCTAssertEqual(missing.sqliteCode, 0)
    }

    func testErrorMessagesAreEscapedAndShortened() {
        let text = "a\u{1B}[1m\nb\n  c\td"
        XCTAssertEqual(CoreError(.internal, text).message, "a␛[1m⏎b\n  c\td")
        XCTAssertEqual(CoreError(.internal, text, isHosts: true).message, text)
        let longest = String(repeating: "x", count: 16_384)
        XCTAssertEqual(CoreError(.internal, longest).message, longest)
        XCTAssertEqual(
            CoreError(.internal, longest + "y").message,
            String(repeating: "x", count: 12_288) + " … (1 bytes left out) … "
                + String(repeating: "x", count: 4_095) + "y")
        XCTAssertEqual(CoreError(.internal, longest + "y", isHosts: true).message, longest + "y")
    }

    func testStoredErrorOmitsObjectsAndPayload() {
        let child = CoreError(.validation, "child")
        let payload = Thing("payload")
        let object = PropertyValue.object(Thing("a"))
        for (value, left) in [
            (object, nil), (.array([.int(1), object]), nil), (.set([object]), nil), (.dictionary(["a": object]), nil),
            (.array([.int(1)]), .array([.int(1)])), (.set([]), .set([])),
            (.dictionary(["a": .null]), .dictionary(["a": .null])),
        ] as [(PropertyValue, PropertyValue?)] {
            let error = CoreError(
                .validation, code: .validationNumberTooLarge, "first\nsecond", domain: "d", entity: "E", key: "k",
                value: value, predicate: "p", objectURI: "u", children: [child], sqliteCode: 5, file: "f", offset: 3,
                payload: PayloadBox(payload), isHosts: true)
            let kept = error.withoutObjects
            XCTAssertEqual(kept.value, left)
            XCTAssertEqual(kept.status, .validation)
            XCTAssertEqual(kept.message, "first\nsecond")
            XCTAssertEqual([kept.code, kept.offset, Int(kept.sqliteCode)], [1610, 3, 5])
            XCTAssertEqual(
                [kept.domain, kept.entity, kept.key, kept.predicate, kept.objectURI, kept.file],
                ["d", "E", "k", "p", "u", "f"])
            XCTAssertTrue(kept.children.first === child)
            XCTAssertTrue(kept.payload === error.payload)
        }
        let plain = CoreError(.validation, "plain", value: .string("a"))
        XCTAssertTrue(plain.withoutObjects === plain)
        let none = CoreError(.validation, "none")
        XCTAssertTrue(none.withoutObjects === none)
    }

    private final class PayloadBox: @unchecked Sendable {
        let thing: Thing
        init(_ thing: Thing) { self.thing = thing }
    }
}
