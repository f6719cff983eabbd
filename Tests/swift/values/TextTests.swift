import CorestoneValues
import Foundation
import XCTest

final class TextTests: XCTestCase {
    private func fold(_ text: String, _ options: String) -> String {
        Text(text).withBytes {
            foldText(
                $0, caseInsensitive: options.contains("c"), diacriticInsensitive: options.contains("d")
            ).string
        }
    }

    private func compare(_ a: String, _ b: String, _ options: String) -> Int {
        let (x, y) = (Text(a), Text(b))
        return withExtendedLifetime((x, y)) {
            compareFolded(
                x.utf8, y.utf8, caseInsensitive: options.contains("c"), diacriticInsensitive: options.contains("d")
            ).signum()
        }
    }

    private func contains(_ a: String, _ b: String, _ options: String = "", _ anchor: TextAnchor = .anywhere) -> Bool {
        let (x, y) = (Text(a), Text(b))
        return withExtendedLifetime((x, y)) {
            containsFolded(
                x.utf8, y.utf8, caseInsensitive: options.contains("c"), diacriticInsensitive: options.contains("d"),
                anchor: anchor)
        }
    }

    func testFoldingRemovesCaseAndDiacritics() {
        XCTAssertEqual(Array(fold("Grüße", "").utf8), Array("Gru\u{308}ße".utf8))
        XCTAssertEqual(fold("Grüße", "c"), "gru\u{308}sse")
        XCTAssertEqual(fold("Grüße", "d"), "Gruße")
        XCTAssertEqual(fold("GRÜßE", "cd"), "grusse")
        XCTAssertEqual(fold("Dvořák ÅNGSTRÖM", "cd"), "dvorak angstrom")
        XCTAssertEqual(fold("ＡＢＣ１", "cd"), "abc1")
        XCTAssertEqual(fold("ＡＢＣ１", "d"), "ＡＢＣ１")
        XCTAssertEqual(fold("", "cd"), "")
        XCTAssertEqual(fold("A\0b", "c"), "a\0b")
        // Vowel signs of Indic scripts are kept: they are letters.
        XCTAssertEqual(fold("हिन्दी", "cd"), "हिन्दी")
        // Marks of different combining classes are reordered; marks of one class keep their order.
        XCTAssertEqual(Array(fold("a\u{301}\u{323}", "").utf8), Array("a\u{323}\u{301}".utf8))
        XCTAssertEqual(Array(fold("a\u{301}\u{300}é", "").utf8), Array("a\u{301}\u{300}e\u{301}".utf8))
    }

    func testFoldingMatchesSwiftForEveryCharacter() {
        for value in UInt32(0x80)...0x1_FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let text = String(Character(scalar))
            // Swift compares by canonical equivalence, so decomposition must not change the character.
            guard fold(text, "") == text else { return XCTFail(String(value, radix: 16)) }
            let folded = fold(text, "cd")
            guard fold(folded, "cd") == folded || "\u{3A3}ſ".contains(text) else {
                return XCTFail("\(String(value, radix: 16)) folds twice")
            }
        }
    }

    func testComparisonHonoursCaseAndDiacriticOptions() {
        XCTAssertEqual(compare("ABC", "abc", "c"), 0)
        XCTAssertEqual(compare("ABC", "abc", ""), -1)
        XCTAssertEqual(compare("abc", "ABD", "c"), -1)
        XCTAssertEqual(compare("ab", "ABC", "c"), -1)
        XCTAssertEqual(compare("É", "e\u{301}", "c"), 0)
        XCTAssertEqual(compare("é", "e", ""), 1)
        XCTAssertEqual(compare("é", "e", "d"), 0)
        XCTAssertEqual(compare("Straße", "STRASSE", "c"), 0)
        XCTAssertEqual(compare("[", "a", "c"), -1)
        XCTAssertEqual(compare("[", "A", "c"), -1)
        XCTAssertEqual(compare("`", "@", "c"), 1)
        XCTAssertEqual(compare("abc", "ab", "c"), 1)
        XCTAssertEqual(compare("", "", "c"), 0)
        XCTAssertEqual(compare("éa", "eb", "d"), -1)
        XCTAssertEqual(compare("@Z", "@z", "c"), 0)
    }

    func testSearchHonoursOptionsAnchorsAndCharacterBoundaries() {
        XCTAssertTrue(contains("Grüße aus Köln", "KÖLN", "c"))
        XCTAssertTrue(contains("Grüße aus Köln", "koln", "cd"))
        XCTAssertFalse(contains("Grüße aus Köln", "koln", "c"))
        XCTAssertTrue(contains("caf\u{E9}", "fe\u{301}"))
        XCTAssertFalse(contains("caf\u{E9}", "e"), "a letter is not part of the letter with its accent")
        XCTAssertFalse(contains("caf\u{E9}s", "cafe", "", .start))
        XCTAssertTrue(contains("caf\u{E9}s", "caf", "", .start))
        XCTAssertTrue(contains("caf\u{E9}s", "és", "", .end))
        XCTAssertTrue(contains("\u{E9}e", "e"))
        XCTAssertFalse(contains("abc", ""))
        XCTAssertFalse(contains("", ""))
        XCTAssertFalse(contains("ab", "abc", "c", .end))
        XCTAssertTrue(contains("file.TXT", ".txt", "c", .end))
        XCTAssertFalse(contains("txt.file", ".txt", "c", .end))
    }

    /// Against Swift's own decoder: a repair changes the bytes of every ill-formed text and of no other.
    func testUTF8ValidationMatchesSwift() {
        var generator = SeededGenerator(state: 99)
        let seeds = [
            "plain ascii text of some length", "Grüße, 東京, 🎉 und \u{10FFFF}", "\u{7FF}\u{800}\u{D7FF}\u{E000}\u{FFFF}",
        ]
        for round in 0..<20_000 {
            var bytes = Array(seeds[round % seeds.count].utf8)
            for _ in 0..<Int.random(in: 0...2, using: &generator) {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                switch UInt64.random(in: 0...2, using: &generator) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
                case 1: bytes.remove(at: place)
                default: bytes.insert(UInt8.random(in: 0x80...255, using: &generator), at: place)
                }
            }
            let repaired = String(decoding: bytes, as: UTF8.self)
            let bad = bytes.withUnsafeBytes(firstInvalidUTF8)
            XCTAssertEqual(bad == nil, Array(repaired.utf8) == bytes)
            if let bad {
                XCTAssertEqual(Array(String(decoding: bytes[..<bad], as: UTF8.self).utf8), Array(bytes[..<bad]))
            }
            // Folding of ill-formed text does not trap.
            _ = bytes.withUnsafeBytes { foldText($0, caseInsensitive: true, diacriticInsensitive: true) }
        }
        for (bytes, offset) in [
            ([0x61, 0xFF], 1), ([0xC0, 0x80], 0), ([0xED, 0xA0, 0x80], 0), ([0xF4, 0x90, 0x80, 0x80], 0),
            ([0xE2, 0x82], 0),
        ] as [([UInt8], Int)] { XCTAssertEqual(bytes.withUnsafeBytes(firstInvalidUTF8), offset) }
        XCTAssertTrue(isValidUTF8(UnsafeRawBufferPointer(start: nil, count: 0)))
    }

    func testUTF8ValidationAtTheLimitsOfEverySequence() {
        let valid: [[UInt8]] = [
            [0xC2, 0x80], [0xDF, 0xBF], [0xE0, 0xA0, 0x80], [0xE1, 0x80, 0x80], [0xEC, 0xBF, 0xBF], [0xED, 0x9F, 0xBF],
            [0xEE, 0x80, 0x80], [0xEF, 0xBF, 0xBF], [0xF0, 0x90, 0x80, 0x80], [0xF1, 0x80, 0x80, 0x80],
            [0xF3, 0xBF, 0xBF, 0xBF], [0xF4, 0x8F, 0xBF, 0xBF],
        ]
        let invalid: [[UInt8]] = [
            [0x80], [0xBF], [0xC1, 0xBF], [0xC2], [0xC2, 0x7F], [0xC2, 0xC0], [0xE0, 0x9F, 0xBF], [0xE0, 0xA0, 0x7F],
            [0xE1, 0x80], [0xE1, 0x7F, 0x80], [0xE1, 0x80, 0xC0], [0xED, 0xA0, 0x80], [0xED, 0x9F, 0x41],
            [0xF0, 0x8F, 0xBF, 0xBF], [0xF0, 0x90, 0x80], [0xF0, 0x90, 0x80, 0x41], [0xF1, 0x80, 0x41, 0x80],
            [0xF1, 0x80, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xF4, 0x8F, 0xBF, 0x7F], [0xF5, 0x80, 0x80, 0x80], [0xFF],
        ]
        for length in 0...17 {
            let ascii = [UInt8](repeating: 0x7F, count: length)
            for bytes in valid {
                XCTAssertNil((ascii + bytes + [0x41]).withUnsafeBytes(firstInvalidUTF8), "\(bytes)")
                XCTAssertTrue((ascii + bytes).withUnsafeBytes(isValidUTF8), "\(bytes)")
            }
            for bytes in invalid {
                XCTAssertEqual((ascii + bytes).withUnsafeBytes(firstInvalidUTF8), length, "\(bytes)")
                XCTAssertFalse((ascii + bytes).withUnsafeBytes(isValidUTF8), "\(bytes)")
            }
        }
    }

    func testURIReferencesAreValidated() {
        let marks = "-._~:/?#[]@!$&'()*+,;="
        for text in ["", "a", "Z", "09", "http://x.y/z?q=1#f", "%20", "%aF%09", "a%41b"] + marks.map({ String($0) }) {
            XCTAssertTrue(isURIReference(text.utf8), text)
        }
        let others = " \"<>\\^`{|}\u{7F}\n\t\0é".map { String($0) }
        for text in ["%", "a%", "%2", "%2g", "%g2", "%/0", "%:0", "%@0", "%G0", "%`0", "%2%20", "a b"] + others {
            XCTAssertFalse(isURIReference(text.utf8), text)
        }
    }

    func testControlCharactersAreMadeVisible() {
        for (text, line, indented, all) in [
            ("plain ~", "plain ~", "plain ~", "plain ~"), ("a\nb", "a⏎b", "a⏎b", "a\nb"),
            ("a\n  b", "a⏎  b", "a\n  b", "a\n  b"), ("a\n b\n", "a⏎ b⏎", "a⏎ b⏎", "a\n b\n"),
            ("a\tb", "a b", "a\tb", "a\tb"),
            ("\0\u{1B}\u{1F}\r", "␀␛␟␍", "␀␛␟␍", "␀␛␟␍"), ("\u{7F}", "␡", "␡", "␡"),
        ] {
            XCTAssertEqual(text.visible(), line)
            XCTAssertEqual(text.visible(.indented), indented)
            XCTAssertEqual(text.visible(.all), all)
        }
        for value: UInt32 in [
            0x80, 0x9F, 0x61C, 0x200E, 0x200F, 0x2028, 0x202E, 0x2066, 0x206F, 0xFFF9, 0xFFFB,
        ] {
            let text = Unicode.Scalar(value).map { String(Character($0)) } ?? ""
            XCTAssertEqual(text.visible(.all), "\\u{\(String(value, radix: 16, uppercase: true))}")
        }
        for value: UInt32 in [0xA0, 0x61B, 0x61D, 0x200D, 0x2010, 0x2027, 0x202F, 0x2065, 0x2070, 0xFFF8, 0xFFFC] {
            let text = Unicode.Scalar(value).map { String(Character($0)) } ?? ""
            XCTAssertEqual(text.visible(), text, String(value, radix: 16))
        }
    }

    func testLongTextsAreShortenedInTheMiddle() {
        for (text, limit, expected) in [
            ("abcdef", 6, "abcdef"), ("abcdefgh", 4, "abc … (4 bytes left out) … h"), ("", 0, ""),
            ("ééééé", 8, "ééé … (2 bytes left out) … é"), ("ééééé", 4, "é … (6 bytes left out) … é"),
            ("ééééé", 10, "ééééé"), ("abcdefgh", 7, "abcde … (2 bytes left out) … h"),
        ] { XCTAssertEqual(text.shortened(to: limit), expected) }
    }

    func testUUIDsConvertToTextAndBytes() throws {
        let text = "0F1E2D3C-4B5A-6978-8796-A5B4C3D2E1F0"
        let uuid = try XCTUnwrap(UUIDValue(text))
        XCTAssertEqual(uuid.description, text)
        XCTAssertEqual(UUIDValue(text.lowercased()), uuid)
        XCTAssertEqual(uuid.bytes.prefix(3), [0x0F, 0x1E, 0x2D])
        XCTAssertEqual(uuid.bytes.withUnsafeBytes { UUIDValue(bytes: $0) }, uuid)
        XCTAssertNil([UInt8](repeating: 0, count: 17).withUnsafeBytes { UUIDValue(bytes: $0) })
        XCTAssertEqual([uuid.high, uuid.low], [0x0F1E_2D3C_4B5A_6978, 0x8796_A5B4_C3D2_E1F0])
        XCTAssertNil([UInt8](repeating: 0, count: 15).withUnsafeBytes { UUIDValue(bytes: $0) })
        for junk in [
            "", text + "0", String(text.dropLast()), text.replacing("-", with: "0"), text.replacing("F", with: "G"),
        ] {
            XCTAssertNil(UUIDValue(junk), junk)
        }
        let random = UUIDValue.random()
        XCTAssertNotEqual(random, UUIDValue.random())
        XCTAssertNotNil(UUID(uuidString: random.description))
        XCTAssertEqual(Array(random.description)[14], "4")
        XCTAssertTrue("89AB".contains(Array(random.description)[19]))
    }

    func testNearestNameIsFoundWithinAFewEdits() {
        let names = ["name", "number", "department", "salary", "Manager", "id"]
        for (wrong, right) in [
            ("nmae", "name"), ("names", "name"), ("departement", "department"), ("salry", "salary"),
            ("manager", "Manager"),
            ("DEPARTMENT", "department"), ("ID", "id"), ("nubmer", "number"),
        ] { XCTAssertEqual(nearestName(to: wrong, among: names), right) }
        for far in ["x", "zzzzzz", "", "employment"] { XCTAssertNil(nearestName(to: far, among: names), far) }
        for (wrong, names, right) in [
            ("abcdef", ["abcdxy"], "abcdxy"), ("abcdef", ["abcxyz"], nil), ("abcde", ["abcxy"], nil),
            ("abcde", ["abcdexy"], "abcdexy"), ("abcde", ["abcdexyz"], nil), ("badcef", ["abcdef"], "abcdef"),
            ("rat", ["cat", "bat"], "bat"), ("rat", ["bat", "cat"], "bat"), ("name", ["nam", "NAME"], "NAME"),
            ("names", ["nam", "name"], "name"), ("ab", ["cb"], "cb"), ("", ["a"], nil), ("abc", ["acb"], "acb"),
        ] as [(String, [String], String?)] {
            XCTAssertEqual(nearestName(to: wrong, among: names), right, "\(wrong) \(names)")
        }
        XCTAssertNil(nearestName(to: "a", among: ["b"]))
        XCTAssertNil(nearestName(to: "name", among: []))
    }

    func testRemedyIsRemovedFromAMessage() {
        for (message, fault) in [
            ("a.mom does not exist; check the path", "a.mom does not exist"),
            ("a.mom does not exist. Check the path", "a.mom does not exist"),
            ("\"a; b\" is not a key; did you mean \"c\"?", "\"a; b\" is not a key"),
            ("E.a is 1.5, not 1. 5", "E.a is 1.5, not 1. 5"), ("a \"b; c", "a \"b; c"), ("", ""),
        ] {
            XCTAssertEqual(message.withoutRemedy, fault)
            XCTAssertEqual(message.hasRemedy, message != fault, message)
        }
    }
}

extension Text {
    fileprivate func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        withExtendedLifetime(self) { body(utf8) }
    }
}
