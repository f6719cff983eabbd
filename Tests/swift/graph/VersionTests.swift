import Corestone
import TestSupport
import XCTest

final class VersionTests: XCTestCase {
    func testVersionMatchesTheHeader() throws {
        let file = Checkout.root.appendingPathComponent("include/corestone/version.h")
        let header = try String(contentsOf: file, encoding: .utf8)
        func number(_ name: String) -> String {
            header.split(separator: "\n").first { $0.hasPrefix("#define CST_VERSION_\(name) ") }?
                .split(separator: " ").last.map(String.init) ?? ""
        }
        XCTAssertEqual([number("MAJOR"), number("MINOR"), number("PATCH")].joined(separator: "."), corestoneVersion)
    }
}
