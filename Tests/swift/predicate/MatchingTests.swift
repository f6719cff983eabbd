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

    func testLikeMatchesWildcardsAndEscapes() throws {
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

    func testHostilePatternsEndInTime() throws {
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

    func testMatchesUsesRegularExpressionsAndOptions() throws {
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

    func testPatternsMatchOnEightThreads() throws {
        let predicate = try Predicate.parse("SELF MATCHES '[a-z]+[0-9]' AND SELF LIKE[c] 'A*'")
        let failures = UnsafeFlag()
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for index in 0..<2_000 where (try? predicate.evaluate(with: .string("a\(index % 10)"))) != true {
                failures.set()
            }
        }
        XCTAssertFalse(failures.isSet)
    }

    func testEqualityComparesBytesAndSearchComparesCharacters() throws {
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

    func testQuestionMarkMatchesALetterWithItsAccents() throws {
        for text in ["caf\u{E9}", "cafe\u{301}"] {
            XCTAssertTrue(try like(text, "caf?"), text)
            XCTAssertTrue(try like(text, "caf?", "[c]"), text)
            XCTAssertFalse(try like(text, "caf??", "[c]"), text)
        }
    }

    func testMatchesAcceptsICUSyntax() throws {
        XCTAssertTrue(try matches("caf\u{E9}", #"caf\u00E9"#))
        XCTAssertTrue(try matches("😀", #"\uD83D\uDE00"#))
        XCTAssertTrue(try matches("😀", #"\U0001F600"#))
        XCTAssertTrue(try matches("[a]", #"\Q[a]\E"#))
        XCTAssertTrue(try matches("ab1", "[[:alpha:]]+[[:digit:]]"))
        XCTAssertTrue(try matches("]", "[]]"))
        XCTAssertTrue(try matches("a\u{2028}b", "a.^b"), "lines end as in ICU, and . matches line ends")
        XCTAssertTrue(try matches("first\nsecond", "^first$.^second$"))
        for pattern in ["[a-z&&[^aeiou]]", "[a[bc]]", "[a-z--[b]]", "(", "[", "a{2,1}"] {
            XCTAssertThrowsError(try matches("a", pattern), pattern) {
                XCTAssertEqual(($0 as? CoreError)?.status, .predicate)
            }
        }
    }

    func testLongPatternsFailAndLongTextsMatch() throws {
        XCTAssertTrue(try matches(String(repeating: "ab", count: 50_000), "(a|b)*"))
        for pattern in [
            String(repeating: "a", count: 100_000),
            String(repeating: "(", count: 1000) + String(repeating: ")", count: 1000),
            "((a{1,1000}){1,1000}){1,1000}",
        ] {
            XCTAssertThrowsError(try matches("a", pattern))
        }
    }

    func testLikeHandlesSpecialCharacters() throws {
        let table: [(text: String, pattern: String, holds: Bool)] = [
            ("a?", #"a\?"#, true), ("ab", #"a\?"#, false), (#"a\b"#, #"a\\b"#, true), ("ab", #"\a\b"#, true),
            ("abc", "abc*", true),
            ("abc", "*abc", true), ("abc", "?b?", true), ("abc", "a?", false), ("abc", "abcd", false),
            ("abc", "ab", false),
            ("abab", "*ab", true), ("abac", "*ab", false), ("a", "**", true), ("", "**", true), ("", "a", false),
            ("a", "", false),
            ("xaxbx", "*a*b*", true), ("xbxax", "*a*b*", false), ("e\u{301}x", "?x", true),
            ("e\u{301}x", "*\u{301}x", false),
        ]
        for (text, pattern, holds) in table {
            XCTAssertEqual(try like(text, pattern), holds, "\(text) LIKE \(pattern)")
        }
        XCTAssertFalse(try like("ABC", "abc"))
        XCTAssertFalse(try like("ABC", "abc", "[cn]"))
        XCTAssertFalse(try like("é", "e", "[c]"))
        XCTAssertTrue(try like("é", "e", "[d]"))
    }

    func testMatchesHonoursItsOptions() throws {
        XCTAssertFalse(try matches("GRÜN", "grün"))
        XCTAssertFalse(try matches("GRÜN", "grün", "[cn]"))
        XCTAssertFalse(try matches("grün", "grun", "[c]"))
        XCTAssertTrue(try matches("GRÜN", "grun", "[cd]"))
        XCTAssertFalse(try matches("GRÜN", "grun", "[d]"))
        XCTAssertFalse(try matches("abc", ""))
        XCTAssertTrue(try matches("", "a*"))
        XCTAssertFalse(try matches("abc", "ab"))
        XCTAssertFalse(try matches("abc", "bc"))
    }

    func testPatternsMatchBeyondTheSizeOfTheCache() throws {
        let predicate = try Predicate.parse("a MATCHES b AND NOT c MATCHES b AND c MATCHES[c] b")
        for round in 0..<2 {
            for number in 0..<150 {
                let row: [String: PropertyValue] = [
                    "a": .string("x\(number)"), "b": .string("x\(number)"), "c": .string("X\(number)"),
                ]
                XCTAssertTrue(try predicate.evaluate(with: .dictionary(row)), "\(round) \(number)")
            }
        }
    }

    func testICUSyntaxIsTranslated() throws {
        for (text, pattern) in [
            ("A", #"\u0041"#), ("A1", #"[\u0041-\u0043]\d"#), ("a]b", #"a[]]b"#), ("x", "[^]]"), ("[", #"[\[]"#),
            ("-", "[a-]"),
            ("a+b", #"\Qa+b\E"#), ("a+b1", #"\Qa+b\E\d"#), ("[[", #"\Q[[\E"#), ("é", #"\U000000E9"#),
            (" ", "[[:space:]]"),
            ("&", "[a&]"), ("]", #"[\]]"#), ("a", "[[:alpha:]_]"), ("_", "[[:alpha:]_]"), ("😀x", #"\uD83D\uDE00x"#),
            ("ab", "[a]b"),
            ("uz", #"[\u0075]z"#),
        ] { XCTAssertTrue(try matches(text, pattern), "\(text) MATCHES \(pattern)") }
        for (text, pattern) in [("]", "[^]]"), ("a", #"\Qa+\E"#), ("1", "[[:alpha:]_]"), ("B", #"\u0041"#)] {
            XCTAssertFalse(try matches(text, pattern), "\(text) MATCHES \(pattern)")
        }
        for (pattern, place) in [("[a&&b]", 2), ("[a--b]", 2), ("x[a[b]]", 3), ("[[:alpha]]", 1)] {
            XCTAssertThrowsError(try matches("a", pattern), pattern) {
                let error = $0 as? CoreError
                XCTAssertEqual(
                    error?.message,
                    "the nested set or set operation at byte \(place) of \"\(pattern)\" is not supported; use a single "
                        + "set or a lookahead such as (?![aeiou])[a-z], or put \\ before a literal [, & or -")
                XCTAssertEqual(error?.value, .string(pattern))
            }
        }
        XCTAssertThrowsError(try matches("a", "a(b")) {
            let error = $0 as? CoreError
            XCTAssertEqual(
                error?.message.hasPrefix("\"a(b\" cannot be compiled as a regular expression: "), true,
                error?.message ?? "")
            XCTAssertEqual(error?.message.hasSuffix(" at byte 3"), true, error?.message ?? "")
            XCTAssertEqual(error?.value, .string("a(b"))
        }
    }

    func testTextOrderFollowsTheOptions() throws {
        func holds(_ format: String) throws -> Bool { try Predicate.parse(format).evaluate(with: .null) }
        let yes = [
            "'b' <[c] 'C'", "'B' <[c] 'c'", "'B' <=[c] 'b'", "'b' >=[c] 'B'", "'C' >[c] 'b'", "'\u{E9}' <=[d] 'e'",
            "'\u{E9}' >=[d] 'e'",
            "'A' !=[d] 'a'", "'a' !=[c] 'b'", "'B' BETWEEN[c] {'a', 'c'}", "'a' BETWEEN {'a', 'a'}",
            "'abc' ENDSWITH[c] 'BC'",
            "'abc' ENDSWITH[n] 'bc'", "'abc' BEGINSWITH[n] 'ab'", "'abc' CONTAINS[n] 'c'", "'aab' CONTAINS[n] 'ab'",
            "'PUBLIC.png' UTI-CONFORMS-TO 'Public.Image'",
        ]
        let no = [
            "'B' >[c] 'b'", "'B' <[c] 'b'", "'a' !=[c] 'A'", "'B' BETWEEN {'a', 'c'}", "'d' BETWEEN[c] {'A', 'C'}",
            "'A' ==[d] 'a'",
            "'abc' ENDSWITH[n] 'ab'", "'abc' BEGINSWITH[n] 'bc'", "'abc' CONTAINS[n] ''", "'abc' CONTAINS[n] 'abcd'",
            "'abc' CONTAINS[n] 'x'", "'a.b' UTI-EQUALS 'a.c'",
        ]
        for format in yes { XCTAssertTrue(try holds(format), format) }
        for format in no { XCTAssertFalse(try holds(format), format) }
    }

    func testUniformTypesConformToTheirSupertypes() throws {
        let table = [
            ("public.png", ["public.png", "public.image", "public.content", "public.data", "public.item"]),
            ("com.adobe.pdf", ["public.data", "public.composite-content", "public.content", "public.item"]),
            (
                "public.swift-source",
                ["public.source-code", "public.plain-text", "public.text", "public.data", "public.content"]
            ),
            ("public.python-script", ["public.script", "public.source-code", "public.text"]),
            ("public.mp3", ["public.audio", "public.audiovisual-content", "public.data", "public.content"]),
            ("public.mpeg-4", ["public.video", "public.movie", "public.audiovisual-content"]),
            ("com.apple.application", ["com.apple.bundle", "com.apple.package", "public.directory", "public.item"]),
            ("public.svg-image", ["public.image", "public.xml", "public.text"]),
            (
                "public.comma-separated-values-text",
                ["public.delimited-values-text", "public.plain-text", "public.text"]
            ),
            ("public.zip-archive", ["public.archive", "public.data"]), ("com.acme.unknown", ["com.acme.unknown"]),
        ]
        for (type, parents) in table {
            for parent in Set(table.flatMap(\.1)).union(table.map(\.0)) where parents.contains(parent) || parent == type
            {
                XCTAssertTrue(
                    try Predicate.parse("'\(type)' UTI-CONFORMS-TO '\(parent)'").evaluate(with: .null),
                    "\(type) \(parent)")
            }
        }
        for (type, other) in [
            ("public.png", "public.text"), ("public.mp3", "public.movie"), ("com.apple.application", "public.data"),
            ("public.folder", "com.apple.package"), ("public.data", "public.item2"), ("public.image", "public.png"),
        ] {
            XCTAssertFalse(
                try Predicate.parse("'\(type)' UTI-CONFORMS-TO '\(other)'").evaluate(with: .null), "\(type) \(other)")
        }
    }

    func testTokensAreSplitAtWordBoundaries() throws {
        func holds(_ format: String) throws -> Bool { try Predicate.parse(format).evaluate(with: .null) }
        for format in [
            "'snake_case word' TOKENMATCHES 'snake_c'", "'a1b2' TOKENMATCHES 'a1'",
            "'one, two; three' TOKENMATCHES 'thr one'",
            "'caf\u{E9}' TOKENMATCHES 'cafe\u{301}'", "'ÄPFEL' TOKENMATCHES[cd] 'apfel'", "'a b' TOKENMATCHES[w] 'b a'",
        ] { XCTAssertTrue(try holds(format), format) }
        for format in [
            "'snake_case' TOKENMATCHES 'case'", "'one two' TOKENMATCHES 'one four'", "'one' TOKENMATCHES ' ,;'",
            "'' TOKENMATCHES 'a'",
            "'Äpfel' TOKENMATCHES[c] 'apfel'", "'a bc' TOKENMATCHES[w] 'a b'",
        ] { XCTAssertFalse(try holds(format), format) }
    }
}

/// A flag that any thread sets, and that is read after all threads have ended.
private final class UnsafeFlag: @unchecked Sendable {
    private let lock = NSLock()
    private var value = false
    var isSet: Bool { lock.withLock { value } }
    func set() { lock.withLock { value = true } }
}
