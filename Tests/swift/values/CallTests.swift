import CPlatform
import XCTest

@testable import CorestoneValues

/// Functions that are deferred to the end of the outermost call.
final class CallTests: XCTestCase {
    private nonisolated(unsafe) static var done: [UInt64] = []
    private static let note: platform_deferred_fn = { first, _, _ in CallTests.done.append(first) }
    private static let other: platform_deferred_fn = { first, _, _ in CallTests.done.append(first + 100) }
    private static let addMore: platform_deferred_fn = { _, second, _ in
        platform_call_defer(CallTests.note, 8, second, 0)
        platform_call_run_deferred(CallTests.note, second)
    }

    /// Settles the functions of the same argument, among them itself while it runs.
    private static let settleOwn: platform_deferred_fn = { first, second, _ in
        CallTests.done.append(first)
        if CallTests.done.count < 5 { platform_call_run_deferred(CallTests.settleOwn, second) }
    }

    override func setUp() { CallTests.done = [] }

    func testSettlingRunsTheDeferredFunctionsOfOneArgument() {
        withCallScope {
            platform_call_defer(CallTests.note, 1, 7, 0)
            platform_call_defer(CallTests.note, 2, 9, 0)
            platform_call_defer(CallTests.other, 3, 7, 0)
            platform_call_defer(CallTests.note, 4, 7, 0)
            platform_call_run_deferred(CallTests.note, 7)
            XCTAssertEqual(CallTests.done, [1, 4])
            platform_call_run_deferred(CallTests.note, 7)
            XCTAssertEqual(CallTests.done, [1, 4])
            platform_call_defer(CallTests.note, 5, 9, 0)
        }
        XCTAssertEqual(CallTests.done, [1, 4, 2, 103, 5])
    }

    func testSettlingTheLastFunctionEmptiesTheQueue() {
        withCallScope {
            platform_call_defer(CallTests.note, 1, 7, 0)
            platform_call_run_deferred(CallTests.note, 7)
        }
        XCTAssertEqual(CallTests.done, [1])
        XCTAssertEqual(platform_call_depth(), 0)
    }

    func testSettlingRunsFunctionsThatAreDeferredMeanwhile() {
        withCallScope {
            platform_call_defer(CallTests.addMore, 0, 7, 0)
            platform_call_defer(CallTests.note, 1, 7, 0)
            platform_call_defer(CallTests.note, 2, 9, 0)
            platform_call_run_deferred(CallTests.addMore, 7)
            XCTAssertEqual(CallTests.done, [1, 8])
        }
        XCTAssertEqual(CallTests.done, [1, 8, 2])
    }

    func testAFunctionThatSettlesItsOwnArgumentRunsOnce() {
        withCallScope {
            platform_call_defer(CallTests.settleOwn, 1, 7, 0)
            platform_call_defer(CallTests.settleOwn, 2, 7, 0)
        }
        XCTAssertEqual(CallTests.done, [1, 2])
    }
}
