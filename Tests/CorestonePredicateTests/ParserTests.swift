import CorestonePredicate
import CorestoneValues
import XCTest

final class ParserTests: XCTestCase {
    private func error(_ format: String, _ arguments: [PropertyValue] = []) -> CoreError? {
        do {
            let predicate = try Predicate.parse(format, arguments: arguments)
            XCTFail("\(format) was read as \(predicate)")
            return nil
        } catch let error as CoreError {
            XCTAssertEqual(error.status, .predicateSyntax, format)
            return error
        } catch {
            XCTFail("\(error)")
            return nil
        }
    }

    func testErrorsNameThePlace() throws {
        let table: [(format: String, offset: Int, words: String)] = [
            ("", 0, "expected a value or a key, found the end of the text"),
            ("age", 3, "expected a comparison operator such as ==, < or IN, found the end of the text"),
            ("age == ", 7, "expected a value or a key, found the end of the text"),
            ("age CONATINS 3", 4, "expected a comparison operator such as ==, < or IN, found CONATINS"),
            ("1 < a < 3", 6, "expected AND, OR or the end of the text, found <"),
            ("(a == 1", 7, "expected ), found the end of the text"),
            ("a == 'x", 5, "this string has no closing '"),
            ("a == %k", 5, "%k is no conversion"),
            ("a IN {1, 2", 10, "expected } or a comma"),
            ("a == like", 5, "found the reserved word like; as a key it is written #like"),
            ("a == foo:(1)", 5, "there is no function foo:"),
            ("a == abs:(1, 2)", 5, "abs: takes 1 argument, not 2"),
            ("a == ?", 5, "\"?\" has no meaning here"),
            ("a ==[x] 'b'", 5, "expected options"),
            ("a == (b == 1)", 13, "expected a value before this, found a predicate"),
        ]
        for (format, offset, words) in table {
            let error = try XCTUnwrap(error(format))
            XCTAssertEqual(error.offset, offset, format)
            XCTAssertTrue(error.message.contains(words), "\(format): \(error.message)")
        }
    }

    func testCaretStandsUnderThePlace() throws {
        XCTAssertEqual(
            error("größe > 3 AND")?.message,
            """
            cannot read the predicate at byte 15: expected a value or a key, found the end of the text
              größe > 3 AND
                           ^
            """)
        let message = try XCTUnwrap(error(String(repeating: "a == 1 AND ", count: 50) + "b ? 2")?.message)
        let lines = message.split(separator: "\n")
        XCTAssertLessThan(lines[1].count, 120)
        XCTAssertEqual(Array(lines[1])[lines[2].count - 1], "?")
    }

    func testArguments() throws {
        XCTAssertTrue(try XCTUnwrap(error("a == %@")).message.contains("needs argument 1, but none was given"))
        XCTAssertTrue(try XCTUnwrap(error("a == %d", [.string("x")])).message.contains("%d takes an integer"))
        XCTAssertTrue(try XCTUnwrap(error("%K == 1", [.int(3)])).message.contains("%K takes a key path"))
        XCTAssertEqual(
            try Predicate.parse(
                "%K > %ld AND b == %f AND c == %s", arguments: [.string("a.b"), .int(3), .int(2), .string("x")]
            ).format, #"a.b > 3 AND b == 2 AND c == "x""#)
        XCTAssertEqual(
            try Predicate.parse("a == %@", arguments: [.string(#"1" OR TRUEPREDICATE OR "" == "#)]).format,
            ##"a == "1\" OR TRUEPREDICATE OR \"\" == ""##)
    }

    func testHostileTextsAreRefused() throws {
        let hostile = [
            String(repeating: "(", count: 100_000), String(repeating: "NOT ", count: 100_000),
            String(repeating: "!", count: 100_000) + "a == 1", String(repeating: "-", count: 100_000) + "1 == 1",
            "a == " + String(repeating: "{", count: 100_000), "a == " + String(repeating: "f:(", count: 100_000),
            "a == " + String(repeating: "1 + ", count: 100_000) + "1",
            "a" + String(repeating: "[0]", count: 100_000) + " == 1",
            "a == " + String(repeating: "abs:(", count: 10_000),
            "a" + String(repeating: ".$b", count: 100_000) + " == 1",
            String(repeating: "(", count: 5_000) + "a == 1" + String(repeating: ")", count: 5_000) + " == 2",
        ]
        let clock = ContinuousClock()
        let time = clock.measure { for text in hostile { XCTAssertNotNil(error(text)) } }
        XCTAssertLessThan(time, .seconds(120), "linear in the text, even in a debug build on a busy machine")
    }

    func testLongTextsAreRead() throws {
        let chain = (0..<20_000).map { "a == \($0)" }.joined(separator: " OR ")
        guard case .compound(let compound) = try Predicate.parse(chain) else { return XCTFail("no compound") }
        XCTAssertEqual(compound.parts.count, 20_000)
        let path = Array(repeating: "a", count: 20_000).joined(separator: ".")
        XCTAssertEqual(try Predicate.parse(path + " == 1").format, path + " == 1")
        let nested = String(repeating: "(", count: 120) + "a == 1" + String(repeating: ")", count: 120)
        XCTAssertEqual(try Predicate.parse(nested).format, "a == 1")
    }

    /// The deepest texts that are accepted, on a thread with a small stack.
    func testSmallStacksSuffice() throws {
        let count = 120
        let texts = [
            String(repeating: "(", count: count) + "a == 1" + String(repeating: ")", count: count),
            String(repeating: "NOT ", count: 60) + "a == 1",
            "a == " + String(repeating: "abs:(", count: count) + "1" + String(repeating: ")", count: count),
            "a == " + String(repeating: "{", count: count) + "a" + String(repeating: "}", count: count),
            String(repeating: "SUBQUERY(b, $x, ", count: 60) + "a == 1" + String(repeating: ").@count > 0", count: 60),
        ]
        let done = expectation(description: "all were read, printed and evaluated")
        let thread = Thread {
            for text in texts {
                guard let predicate = try? Predicate.parse(text) else { continue }
                XCTAssertEqual(try? Predicate.parse(predicate.format), predicate)
                _ = try? predicate.evaluate(with: .dictionary(["a": .int(1), "b": .array([.int(1)])]))
            }
            done.fulfill()
        }
        thread.stackSize = 2 << 20
        thread.start()
        wait(for: [done], timeout: 60)
    }

    func testNestingInCodeIsBounded() throws {
        var predicate = try Predicate.parse("a == 1")
        for _ in 0..<(Compound.maximumDepth) { predicate = try .not(predicate) }
        XCTAssertThrowsError(try Predicate.not(predicate))
        XCTAssertThrowsError(try Compound(.not, []))
    }

    func testPrintedTextReadsBackAsTheSame() throws {
        var generator = PredicateGenerator(seed: 7)
        for _ in 0..<1_000 {
            let predicate = try generator.predicate(depth: 4)
            let text = predicate.format
            let again = try Predicate.parse(text)
            XCTAssertEqual(again.format, text)
            XCTAssertEqual(again, predicate, text)
        }
    }

    func testSubstitution() throws {
        let predicate = try Predicate.parse("a == $x AND SUBQUERY(b, $y, $y.c == $x AND $y.d == $z).@count > 0")
        XCTAssertEqual(
            predicate.substituting(["x": .int(3), "y": .int(9)]).format,
            "a == 3 AND SUBQUERY(b, $y, $y.c == 3 AND $y.d == $z).@count > 0")
    }

    func testKeyPaths() throws {
        let predicate = try Predicate.parse(
            "a.b > 3 AND ANY c.d IN {e, 2} AND SUBQUERY(f, $x, $x.g == h AND SUBQUERY($x.i, $y, $y.j == 1).@count > 1)"
                + ".@count > 0 AND a.b < 5")
        XCTAssertEqual(predicate.keyPaths.map(\.text), ["a.b", "c.d", "e", "f", "f.g", "h", "f.i", "f.i.j"])
    }
}
