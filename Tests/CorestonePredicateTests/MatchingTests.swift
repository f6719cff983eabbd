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

    func testWholeTextsCompareByBytesAndPartsByLetters() throws {
        func holds(_ format: String) throws -> Bool { try Predicate.parse(format).evaluate(with: .null) }
        let yes = [
            "'caf\u{E9}' BEGINSWITH 'caf'", "'caf\u{E9}' ==[d] 'cafe\u{301}'", "'caf\u{E9}' CONTAINS[c] 'fe\u{301}'",
            "'caf\u{E9}' CONTAINS 'fe\u{301}'", "'cafe\u{301}' ENDSWITH '\u{E9}'",
            "'cafe\u{301}' BEGINSWITH 'caf\u{E9}'",
            "'\u{E9}' IN 'cafe\u{301}'", "'aab' CONTAINS 'ab' AND 'ab' IN 'aab'", "'e\u{301}e' CONTAINS 'e'",
            "'\u{212A}elvin' CONTAINS[c] 'k'", "'caf\u{E9}' CONTAINS[n] '\u{E9}'", "'bar' <[l] 'Baz'",
            "'Zoo' >[l] 'apple'",
            "'a' ==[cl] 'A'", "'\u{E9}' ==[dl] 'e'", "'caf\u{E9}' ==[l] 'cafe\u{301}'", "'b' BETWEEN[l] {'A', 'C'}",
            "'abc' CONTAINS[cd] 'B'",
        ]
        let no = [
            "'caf\u{E9}' == 'cafe\u{301}'", "'abc' CONTAINS ''", "'abc' ENDSWITH[c] ''", "'ABC' CONTAINS[cn] 'b'",
            "'cafe\u{301}' CONTAINS 'cafe'", "'cafe\u{301}' ENDSWITH 'e'", "'cafe\u{301}' CONTAINS[n] '\u{E9}'",
            "'\u{212A}elvin' CONTAINS 'K'", "'a' ==[l] 'A'", "'Zoo' > 'apple'", "'abc' BEGINSWITH 'abcd'",
        ]
        for format in yes { XCTAssertTrue(try holds(format), format) }
        for format in no { XCTAssertFalse(try holds(format), format) }
    }

    func testACharacterIsALetterWithItsAccents() throws {
        for text in ["caf\u{E9}", "cafe\u{301}"] {
            XCTAssertTrue(try like(text, "caf?"), text)
            XCTAssertTrue(try like(text, "caf?", "[c]"), text)
            XCTAssertFalse(try like(text, "caf??", "[c]"), text)
        }
    }

    func testPatternsAreICUs() throws {
        XCTAssertTrue(try matches("caf\u{E9}", #"caf\u00E9"#))
        XCTAssertTrue(try matches("😀", #"\uD83D\uDE00"#))
        XCTAssertTrue(try matches("😀", #"\U0001F600"#))
        XCTAssertTrue(try matches("[a]", #"\Q[a]\E"#))
        XCTAssertTrue(try matches("ab1", "[[:alpha:]]+[[:digit:]]"))
        XCTAssertTrue(try matches("]", "[]]"))
        XCTAssertTrue(try matches("a\u{2028}b", "a.^b"), "lines end as ICU says, and . takes their ends")
        XCTAssertTrue(try matches("first\nsecond", "^first$.^second$"))
        for pattern in ["[a-z&&[^aeiou]]", "[a[bc]]", "[a-z--[b]]", "(", "[", "a{2,1}"] {
            XCTAssertThrowsError(try matches("a", pattern), pattern) {
                XCTAssertEqual(($0 as? CoreError)?.status, .predicate)
            }
        }
    }

    func testLongTextsAndPatternsHaveABound() throws {
        XCTAssertTrue(try matches(String(repeating: "ab", count: 50_000), "(a|b)*"))
        for pattern in [
            String(repeating: "a", count: 100_000),
            String(repeating: "(", count: 1000) + String(repeating: ")", count: 1000),
            "((a{1,1000}){1,1000}){1,1000}",
        ] {
            XCTAssertThrowsError(try matches("a", pattern))
        }
    }
}

/// Set by any thread, read after all have ended.
private final class UnsafeFlag: @unchecked Sendable {
    private let lock = NSLock()
    private var value = false
    var isSet: Bool { lock.withLock { value } }
    func set() { lock.withLock { value = true } }
}
