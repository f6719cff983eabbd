import CorestoneFormats
import Foundation
import XCTest

final class JSONStringTests: XCTestCase {
    func testJSONStringsAreReadBackByFoundation() throws {
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

    func testJSONStringsEscapeQuotesAndControlCharacters() {
        var json = ""
        json.appendJSON("a\"b\\c/ ~\n\r\t\u{1}\u{1B}\u{7F}\u{9F}\u{A0}\u{202E}é😀")
        XCTAssertEqual(
            json, #""a\"b\\c/ ~\n\r\t\u0001\u001b\u007f\u009f"# + "\u{A0}" + #"\u202eé😀""#)
    }
}
