import Foundation

/// The checkout with the tests, and what the tests of several targets read.
public enum Checkout {
    /// The folder of the checkout.
    public static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The folder of files that Apple's framework wrote: CORESTONE_FIXTURES, or shared/fixtures beside the checkout. It
    /// may be missing.
    public static let fixtures =
        ProcessInfo.processInfo.environment["CORESTONE_FIXTURES"].map { URL(fileURLWithPath: $0) }
        ?? root.deletingLastPathComponent().appendingPathComponent("shared/fixtures")

    /// Whether a test fails if the fixtures are missing, and is not skipped.
    public static let areFixturesRequired = ProcessInfo.processInfo.environment["CORESTONE_REQUIRE_FIXTURES"] == "1"

    /// The text of the model that the tests in C, Python and Swift share.
    public static let company: String = {
        let file = root.appendingPathComponent("Tests/support/company.json")
        do { return try String(contentsOf: file, encoding: .utf8) } catch { fatalError("\(error)") }
    }()
}
