import CorestonePredicate
import CorestoneValues
import XCTest

final class MatchingTests: XCTestCase {
    private func like(_ text: String, _ pattern: String, _ options: String = "") throws -> Bool {
        try Predicate.parse("SELF LIKE\(options) %@", arguments: [.string(pattern)]).evaluate(with: .string(text))
    }

    private func matches(_ text: String, _ pattern: String, _ options: String = "") throws -> Bool {
        try Predicate.parse("SELF MATCHES\(options) %@", arguments: [.string(pattern)]).evaluate(with: .string(text))
    }

    func testLike() throws {
        let table: [(text: String, pattern: String, holds: Bool)] = [
            ("", "", true), ("", "*", true), ("", "?", false), ("a*b", #"a\*b"#, true), ("axb", #"a\*b"#, false),
            ("世界", "??", true), ("世界", "?", false), ("a\nb", "a*b", true), ("a.c", "a.c", true), ("abc", "a.c", false),
            ("[x]", "[x]", true), ("aab", "*ab", true), ("ab", "a**b", true), (#"a\"#, #"a\"#, true),
            ("abcbc", "a*bc", true),
        ]
        for (text, pattern, holds) in table {
            XCTAssertEqual(try like(text, pattern), holds, "\(text) LIKE \(pattern)")
        }
        XCTAssertTrue(try like("ÉTÉ", "?t*", "[cd]"))
        XCTAssertTrue(try like("Straße", "STRASSE", "[c]"))
    }

    func testHostilePatternsEnd() throws {
        let text = String(repeating: "a", count: 20_000)
        let clock = ContinuousClock()
        let time = try clock.measure {
            XCTAssertFalse(try like(text, String(repeating: "a*", count: 50) + "b"))
            XCTAssertThrowsError(try matches(String(repeating: "a", count: 40) + "!", "(a+)+$")) {
                XCTAssertEqual(($0 as? CoreError)?.status, .predicate)
            }
        }
        XCTAssertLessThan(time, .seconds(30))
    }

    func testMatches() throws {
        XCTAssertTrue(try matches("Adam", "[A-Z]\\w+"))
        XCTAssertFalse(try matches("xAdam", "[A-Z]\\w+"))
        XCTAssertTrue(try matches("ab", "a|ab"))
        XCTAssertTrue(try matches("GRÜN", "grün", "[c]"))
        XCTAssertTrue(try matches("Grün", "Grun", "[d]"))
        XCTAssertTrue(try matches("Ünïcødé", "\\w+"))
        XCTAssertFalse(try matches("", ""))
        let pattern = try Predicate.parse("a MATCHES b")
        for _ in 0..<3 {
            XCTAssertTrue(try pattern.evaluate(with: .dictionary(["a": .string("x1"), "b": .string("x\\d")])))
        }
    }

    func testPatternsWorkOnSeveralThreads() throws {
        let predicate = try Predicate.parse("SELF MATCHES '[a-z]+[0-9]' AND SELF LIKE[c] 'A*'")
        let failures = UnsafeFlag()
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for index in 0..<2_000 where (try? predicate.evaluate(with: .string("a\(index % 10)"))) != true {
                failures.set()
            }
        }
        XCTAssertFalse(failures.isSet)
    }

    func testStringOperatorsWithoutOptionsCompareBytes() throws {
        func holds(_ format: String) throws -> Bool { try Predicate.parse(format).evaluate(with: .null) }
        XCTAssertTrue(try holds("'caf\u{E9}' BEGINSWITH 'caf'"))
        XCTAssertFalse(try holds("'caf\u{E9}' == 'cafe\u{301}'"))
        XCTAssertTrue(try holds("'caf\u{E9}' ==[d] 'cafe\u{301}'"))
        XCTAssertTrue(try holds("'caf\u{E9}' CONTAINS[c] 'fe\u{301}'"))
        XCTAssertFalse(try holds("'abc' CONTAINS ''"))
        XCTAssertFalse(try holds("'abc' ENDSWITH[c] ''"))
        XCTAssertTrue(try holds("'aab' CONTAINS 'ab' AND 'ab' IN 'aab'"))
        XCTAssertFalse(try holds("'ABC' CONTAINS[cn] 'b'"))
    }
}

/// Set by any thread, read after all have ended.
private final class UnsafeFlag: @unchecked Sendable {
    private let lock = NSLock()
    private var value = false
    var isSet: Bool { lock.withLock { value } }
    func set() { lock.withLock { value = true } }
}
