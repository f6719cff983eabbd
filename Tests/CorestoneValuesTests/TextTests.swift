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

    func testFolding() {
        XCTAssertEqual(Array(fold("Grüße", "").utf8), Array("Gru\u{308}ße".utf8))
        XCTAssertEqual(fold("Grüße", "c"), "gru\u{308}sse")
        XCTAssertEqual(fold("Grüße", "d"), "Gruße")
        XCTAssertEqual(fold("GRÜßE", "cd"), "grusse")
        XCTAssertEqual(fold("Dvořák ÅNGSTRÖM", "cd"), "dvorak angstrom")
        XCTAssertEqual(fold("ＡＢＣ１", "cd"), "abc1")
        XCTAssertEqual(fold("ＡＢＣ１", "d"), "ＡＢＣ１")
        XCTAssertEqual(fold("", "cd"), "")
        XCTAssertEqual(fold("A\0b", "c"), "a\0b")
        // Vowel signs of Indic scripts spell letters; they stay.
        XCTAssertEqual(fold("हिन्दी", "cd"), "हिन्दी")
        // Marks of different classes come into one order, marks of one class stay in theirs.
        XCTAssertEqual(Array(fold("a\u{301}\u{323}", "").utf8), Array("a\u{323}\u{301}".utf8))
        XCTAssertEqual(Array(fold("a\u{301}\u{300}é", "").utf8), Array("a\u{301}\u{300}e\u{301}".utf8))
    }

    func testFoldingAgreesWithSwiftOnEveryCharacter() {
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

    func testComparison() {
        XCTAssertEqual(compare("ABC", "abc", "c"), 0)
        XCTAssertEqual(compare("ABC", "abc", ""), -1)
        XCTAssertEqual(compare("abc", "ABD", "c"), -1)
        XCTAssertEqual(compare("ab", "ABC", "c"), -1)
        XCTAssertEqual(compare("É", "e\u{301}", "c"), 0)
        XCTAssertEqual(compare("é", "e", ""), 1)
        XCTAssertEqual(compare("é", "e", "d"), 0)
        XCTAssertEqual(compare("Straße", "STRASSE", "c"), 0)
        XCTAssertEqual(compare("[", "a", "c"), -1)
        XCTAssertEqual(compare("@Z", "@z", "c"), 0)
    }

    func testSearch() {
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
    func testUTF8Validation() {
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
            // Ill-formed text folds to something without harm.
            _ = bytes.withUnsafeBytes { foldText($0, caseInsensitive: true, diacriticInsensitive: true) }
        }
        for (bytes, offset) in [
            ([0x61, 0xFF], 1), ([0xC0, 0x80], 0), ([0xED, 0xA0, 0x80], 0), ([0xF4, 0x90, 0x80, 0x80], 0),
            ([0xE2, 0x82], 0),
        ] as [([UInt8], Int)] { XCTAssertEqual(bytes.withUnsafeBytes(firstInvalidUTF8), offset) }
        XCTAssertTrue(isValidUTF8(UnsafeRawBufferPointer(start: nil, count: 0)))
    }

    func testUUIDs() throws {
        let text = "0F1E2D3C-4B5A-6978-8796-A5B4C3D2E1F0"
        let uuid = try XCTUnwrap(UUIDValue(text))
        XCTAssertEqual(uuid.description, text)
        XCTAssertEqual(UUIDValue(text.lowercased()), uuid)
        XCTAssertEqual(uuid.bytes.prefix(3), [0x0F, 0x1E, 0x2D])
        XCTAssertEqual(uuid.bytes.withUnsafeBytes { UUIDValue(bytes: $0) }, uuid)
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

    func testNearestNames() {
        let names = ["name", "number", "department", "salary", "Manager", "id"]
        for (wrong, right) in [
            ("nmae", "name"), ("names", "name"), ("departement", "department"), ("salry", "salary"),
            ("manager", "Manager"),
            ("DEPARTMENT", "department"), ("ID", "id"), ("nubmer", "number"),
        ] { XCTAssertEqual(nearestName(to: wrong, among: names), right) }
        for far in ["x", "zzzzzz", "", "employment"] { XCTAssertNil(nearestName(to: far, among: names), far) }
        XCTAssertNil(nearestName(to: "a", among: ["b"]))
        XCTAssertNil(nearestName(to: "name", among: []))
    }
}

extension Text {
    fileprivate func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        withExtendedLifetime(self) { body(utf8) }
    }

    func testStringsOfJSON() throws {
        let text = String(String.UnicodeScalarView((0...0x2FF).compactMap(Unicode.Scalar.init))) + "漢\u{1F600}\r\n"
        var json = "["
        json.appendJSON(text)
        json += ","
        json.appendJSON("")
        json += "]"
        let read = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String]
        XCTAssertEqual(read?.first.map { Array($0.utf8) }, Array(text.utf8))
        XCTAssertEqual(read?.last, "")
        XCTAssertFalse(json.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F })
    }
}
