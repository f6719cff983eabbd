import XCTest

@testable import CorestoneValues

/// The locale-dependent order of strings, with and without ICU.
final class CollationTests: XCTestCase {
    private func compare(_ a: String, _ b: String, _ collation: Collation, _ options: Collation.Options = []) -> Int {
        let (a, b) = (Text(a), Text(b))
        return collation.compare(a.utf8, b.utf8, options).signum()
    }

    private func compareNames(_ a: String, _ b: String, _ collation: Collation) -> Int {
        let (a, b) = (Text(a), Text(b))
        return collation.compareNames(a.utf8, b.utf8).signum()
    }

    private var both: [Collation] { [false, true].map { Collation(locale: "", usesICU: $0) } }

    func testCollationUsesICUOnlyOnRequest() throws {
        XCTAssertFalse(Collation(locale: "de", usesICU: false).usesICU)
        try XCTSkipUnless(Collation(locale: "de", usesICU: true).usesICU, "this host has no ICU")
    }

    func testCollationComparesLettersThenAccentsThenCase() {
        let ordered = [
            "", " ", "_", "-", ",", ";", ":", "!", "?", ".", "'", "\"", "(", ")", "[", "]", "{", "}", "@", "*", "/",
            "\\", "&", "#", "%", "`", "^", "+", "<", "=", ">", "|", "~", "$", "0", "1", "10", "2", "9", "a", "A", "á",
            "Á", "aa", "ab", "aB", "áb", "b", "cote", "coté", "côte", "côté", "z", "Z",
        ]
        for collation in both {
            for (i, a) in ordered.enumerated() {
                for (j, b) in ordered.enumerated() where !(a == "coté" && b == "côte") && !(a == "côte" && b == "coté")
                {
                    XCTAssertEqual(compare(a, b, collation), (i - j).signum(), "\(a) \(b) ICU \(collation.usesICU)")
                }
            }
        }
    }

    func testOptionsIgnoreCaseAndDiacritics() {
        for collation in both {
            XCTAssertEqual(compare("a", "A", collation, .caseInsensitive), 0)
            XCTAssertNotEqual(compare("a", "á", collation, .caseInsensitive), 0)
            XCTAssertEqual(compare("a", "á", collation, .diacriticInsensitive), 0)
            XCTAssertEqual(compare("a", "A", collation, .diacriticInsensitive), -1)
            XCTAssertEqual(compare("a", "Á", collation, [.caseInsensitive, .diacriticInsensitive]), 0)
            XCTAssertEqual(compare("caf\u{E9}", "cafe\u{301}", collation), 0, "composed and decomposed forms are equal")
        }
    }

    func testNamesAreOrderedByTheirNumbers() {
        let ordered = [
            "file-1", "file-01", "file-2", "file-10", "file-010", "file-11", "file-99999999999999999999999", "file-a",
            "file-ab", "file-b",
        ]
        for collation in both {
            for (i, a) in ordered.enumerated() {
                for (j, b) in ordered.enumerated() {
                    XCTAssertEqual(
                        compareNames(a, b, collation), (i - j).signum(), "\(a) \(b) ICU \(collation.usesICU)")
                }
            }
            XCTAssertEqual(compareNames("a1b2", "a01b2", collation), -1)
            XCTAssertEqual(compareNames("a1b02", "a01b1", collation), 1)
        }
    }

    func testFallbackIsATotalOrder() {
        let collation = Collation(locale: "", usesICU: false)
        let alphabet = Array("aAáÁbß-_ 019.–日Éé\u{301}\u{0}")
        var state: UInt64 = 42
        func text() -> String {
            String(
                (0..<4).map { _ in
                    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    return alphabet[Int(state >> 33) % alphabet.count]
                })
        }
        let texts = (0..<30).map { _ in text() }
        for a in texts {
            for b in texts {
                XCTAssertEqual(compare(a, b, collation), -compare(b, a, collation), "\(a) \(b)")
                XCTAssertEqual(compareNames(a, b, collation) == 0, Text(a) == Text(b), "\(a) \(b)")
                for c in texts where compareNames(a, b, collation) <= 0 && compareNames(b, c, collation) <= 0 {
                    XCTAssertLessThanOrEqual(compareNames(a, c, collation), 0, "\(a) \(b) \(c)")
                }
            }
        }
    }

    func testCollationFollowsTheRulesOfTheLanguage() throws {
        let swedish = Collation(locale: "sv_SE", usesICU: true)
        try XCTSkipUnless(swedish.usesICU, "this host has no ICU")
        XCTAssertEqual(compare("z", "ö", swedish), -1)
        XCTAssertEqual(compare("z", "ö", Collation(locale: "de_DE", usesICU: true)), 1)
    }

    func testLocaleIsSetAndReset() {
        let before = Collation.current.locale
        Collation.use(locale: "sv_SE")
        XCTAssertEqual(Collation.current.locale, "sv_SE")
        Collation.use(locale: nil)
        XCTAssertEqual(Collation.current.locale, before)
    }

    func testPOSIXLocalesAreConvertedToICUNames() {
        for (posix, name) in [
            ("de_DE.UTF-8@euro", "de_DE"), ("sv_SE@x", "sv_SE"), ("en", "en"), ("C", ""), ("POSIX", ""),
            ("C.UTF-8", ""),
            ("Cy", "Cy"), ("", ""),
        ] { XCTAssertEqual(Collation.localeName(ofPOSIX: posix), name, posix) }
    }

    func testCollationIdentityNamesLocaleAndImplementation() {
        XCTAssertEqual(Collation(locale: "de", usesICU: false).identity, "de/fallback")
        XCTAssertEqual(Collation(locale: "", usesICU: false).identity, "/fallback")
        let other = Collation(locale: "sv", usesICU: true)
        XCTAssertEqual(other.identity.hasPrefix("sv/ICU "), other.usesICU)
    }

    func testFallbackOrdersSymbolsBeforeDigitsBeforeLetters() {
        let collation = Collation(locale: "", usesICU: false)
        let ordered = ["\u{1}", " ", "$", "–", "€", "0", "9", "a", "z", "ω", "я", "日"]
        for (i, a) in ordered.enumerated() {
            for (j, b) in ordered.enumerated() {
                XCTAssertEqual(compare(a, b, collation), (i - j).signum(), "\(a) \(b)")
                XCTAssertEqual(compareNames("x" + a, "x" + b, collation), (i - j).signum(), "\(a) \(b)")
            }
        }
    }

    func testFallbackComparesAccentsBeforeCase() {
        let collation = Collation(locale: "", usesICU: false)
        // The first difference of letters decides, then of accents, then of case.
        for (a, b) in [("áz", "bA"), ("aZ", "Áz"), ("ab", "aB"), ("ab", "abc"), ("ABC", "abcd"), ("", "a")] {
            XCTAssertEqual(compare(a, b, collation), -1, "\(a) \(b)")
            XCTAssertEqual(compare(b, a, collation), 1, "\(b) \(a)")
        }
        XCTAssertEqual(compare("aB", "ab", collation, .caseInsensitive), 0)
        XCTAssertEqual(compare("áB", "ab", collation, .caseInsensitive), 1)
        XCTAssertEqual(compare("aB", "áb", collation, .diacriticInsensitive), 1)
        XCTAssertEqual(compare("ÁB", "ac", collation, [.caseInsensitive, .diacriticInsensitive]), -1)
    }

    func testNumbersInNamesEndWithTheirDigits() {
        for collation in both {
            for (a, b) in [
                ("9", "10"), ("a9b", "a10a"), ("a1", "a1b"), ("1.2", "1.10"), ("a0", "a00"), ("a", "a0"), ("7", "0010"),
                ("a2z", "a10"),
            ] {
                XCTAssertEqual(compareNames(a, b, collation), -1, "\(a) \(b) ICU \(collation.usesICU)")
                XCTAssertEqual(compareNames(b, a, collation), 1, "\(b) \(a) ICU \(collation.usesICU)")
            }
            XCTAssertEqual(compare("9", "10", collation), 1, "a plain comparison compares digit by digit")
        }
    }
}
