import CorestoneFormats
@testable import CorestoneValues
import XCTest

/// JSON nodes, which keep the order and the byte offsets of their parts.
final class JSONNodeTests: XCTestCase {
    private func read(_ text: String, limit: Int = 100) throws -> JSONNode {
        try Array(text.utf8).withUnsafeBytes {
            try decodeJSONNode($0, limit: limit) { complaint, offset in
                CoreError(.model, "text \(complaint)", offset: offset)
            }
        }
    }

    private func description(_ node: JSONNode) -> String {
        switch node.content {
        case .object(let members):
            "{\(members.map { "\($0.name)@\($0.offset): \(description($0.value))" }.joined(separator: ", "))}@\(node.offset)"
        case .array(let elements): "[\(elements.map { description($0) }.joined(separator: ", "))]@\(node.offset)"
        case .plain(let value): "\(value.exactDescription)@\(node.offset)"
        }
    }

    func testMembersKeepTheirOrderAndOffsets() throws {
        XCTAssertEqual(
            description(try read("{\"b\": 1, \"a\": [true, \"x\"]}")), "{b@1: int 1@6, a@9: [true@15, \"x\"@21]@14}@0")
        XCTAssertEqual(description(try read(" [ ] ")), "[]@1")
        XCTAssertEqual(description(try read("{}")), "{}@0")
        XCTAssertEqual(description(try read("\n null")), "null@2")
    }

    func testDuplicateNamesAreKept() throws {
        XCTAssertEqual(description(try read("{\"a\": 1, \"a\": 2}")), "{a@1: int 1@6, a@9: int 2@14}@0")
    }

    func testNumberBeyondDoublePrecisionKeepsItsDigits() throws {
        XCTAssertEqual(description(try read("0.1234567890123456789")), "decimal 0.1234567890123456789@0")
    }

    func testCallerCreatesTheErrors() {
        let table = [
            ("", "ends where a value is expected", 0), ("{\"a\" 1}", "is missing a \":\"", 5),
            ("[1, 2", "is missing a \",\" or a \"]\"", 5), ("{\"a\": 1}}", "has text after its end", 8),
            ("{\"a\": tru}", "has a literal other than true, false or null", 6), ("[\"a]", "ends inside a string", 4),
            (String(repeating: "[", count: 130), "is nested more than 128 levels deep", 129),
        ]
        for (text, complaint, offset) in table {
            XCTAssertThrowsError(try read(text, limit: 1000), text) {
                let error = $0 as? CoreError
                XCTAssertEqual(error?.message, "text \(complaint)", text)
                XCTAssertEqual(error?.status, .model, text)
                XCTAssertEqual(error?.offset, offset, text)
            }
        }
    }

    func testNumberOfValuesIsLimited() throws {
        XCTAssertNoThrow(try read("[1, [2], {\"a\": 3}]", limit: 6))
        XCTAssertThrowsError(try read("[1, [2], {\"a\": 3}]", limit: 5)) {
            XCTAssertEqual(($0 as? CoreError)?.message, "text has more than the limit of 5 values; split the text")
        }
    }
}
