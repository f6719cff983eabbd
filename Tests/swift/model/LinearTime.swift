import Foundation
import XCTest

/// Checks that eight times the input takes about eight times the processor time; quadratic code takes 64 times as much.
/// `body` receives the size of the input.
func assertLinearTime(
    upTo count: Int, file: StaticString = #filePath, line: UInt = #line, _ body: (Int) throws -> Void
) rethrows {
    func seconds(_ count: Int) throws -> Double {
        let started = clock()
        try body(count)
        return Double(clock() - started) / Double(CLOCKS_PER_SEC)
    }
    let (eighth, whole) = (try seconds(count / 8), try seconds(count))
    XCTAssertLessThan(whole, 24 * eighth + 0.1, "an eighth took \(eighth) s", file: file, line: line)
}
