import XCTest

@testable import CorestoneSQLite

/// Names of tables and columns are compared byte by byte, as SQL compares them.
final class NamesTests: XCTestCase {
    private let composed = "Z\u{AC01}"
    private let decomposed = "Z\u{1100}\u{1161}\u{11A8}"

    func testNamesThatDifferInBytesAreDistinct() {
        var names = UniqueNames(taken: ["Z_PK"])
        let given = [composed, decomposed, composed, decomposed, "Z_PK"].map { Array(names.makeUnique($0).utf8) }
        XCTAssertEqual(
            given, [composed, decomposed, composed + "1", decomposed + "1", "Z_PK1"].map { Array($0.utf8) })
    }

    func testNumberOfATableNameEndsWithItsDigits() {
        let name = NumberedName(prefix: "Z_", number: 3, tail: "TAGS")
        for known in ["Z_3TAGS", "Z_12TAGS", "Z_12TAGS1"] { XCTAssertTrue(name.resembles(known), known) }
        for other in ["Z_TAGS", "Z_3TAG", "Z_3\u{301}TAGS", "Z_3TAGSX", "Y_3TAGS", "Z_3TAGS1\u{301}"] {
            XCTAssertFalse(name.resembles(other), other)
        }
    }

    func testQuotesAreDoubledBeforeCombiningCharacters() {
        XCTAssertEqual(Array("a\"\u{301}b\"".asIdentifier.utf8), Array("\"a\"\"\u{301}b\"\"\"".utf8))
    }
}
