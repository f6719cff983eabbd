import CCorestone
import Foundation
import XCTest

/// The handle table: its tokens distinguish live handles from all other numbers.
final class HandleTableTests: HeaderTestCase {
    private func predicate() -> Handle? { made { cst_predicate_parse(text("TRUEPREDICATE"), 0, nil, $0, $1) } }

    private func isPredicate(_ handle: Handle?) -> Bool {
        var (buffer, error): (cst_buffer, Handle?) = (cst_buffer(), nil)
        let status = cst_predicate_copy_format(handle, &buffer, &error)
        cst_buffer_dispose(&buffer)
        release(error)
        return status == cst_status(CST_OK)
    }

    func testHandleStaysValidUntilItsLastRelease() {
        let before = cst_handle_count()
        let handle = predicate()
        XCTAssertEqual(cst_handle_count(), before + 1)
        XCTAssertEqual(retain(handle), handle)
        XCTAssertEqual(retain(handle), handle)
        XCTAssertEqual(cst_handle_count(), before + 1)
        for _ in 0..<3 {
            XCTAssertTrue(isPredicate(handle))
            XCTAssertEqual(release(handle), cst_status(CST_OK))
        }
        XCTAssertFalse(isPredicate(handle))
        XCTAssertEqual(cst_handle_count(), before)
    }

    func testSecondReleaseFails() {
        let handle = predicate()
        XCTAssertEqual(release(handle), cst_status(CST_OK))
        XCTAssertEqual(release(handle), cst_status(CST_E_INVALID_HANDLE))
        XCTAssertNil(retain(handle))
    }

    func testReleasedTokensStayInvalidWhenTheirSlotsAreReused() {
        var old: [Handle?] = []
        for _ in 0..<100 {
            let handle = predicate()
            XCTAssertFalse(old.contains(handle), "a token is never issued twice")
            old.append(handle)
            release(handle)
        }
        // Slots are reused; a token of a released handle must not match the new handle of its slot.
        let fresh = (0..<100).map { _ in predicate() }
        for handle in old {
            XCTAssertFalse(isPredicate(handle))
            XCTAssertEqual(release(handle), cst_status(CST_E_INVALID_HANDLE))
        }
        for handle in fresh {
            XCTAssertTrue(isPredicate(handle))
            release(handle)
        }
    }

    func testErrorNamesTheActualAndTheExpectedHandleType() {
        let handle = keep(predicate())
        let problem = refuses(CST_E_INVALID_HANDLE) { cst_model_freeze(handle, $0) }
        XCTAssertTrue(problem.message.contains("predicate"), problem.message)
        XCTAssertTrue(problem.message.contains("model"), problem.message)
        XCTAssertTrue(isPredicate(handle))
    }

    func testArbitraryNumbersAreRejectedAsHandles() {
        var numbers: [UInt] = [1, 2, 3, 7, 8, 0xFFFF, 0xFFFF_FFFF, 1 << 32, 1 << 63, .max, .max - 1]
        for shift in 0..<64 { numbers.append(1 << UInt(shift) | 1) }
        let handle = keep(predicate())
        let token = UInt(bitPattern: handle)
        for shift in 0..<64 { numbers.append(token ^ 1 << UInt(shift)) }
        for number in numbers where number != token {
            let wrong = Handle(bitPattern: number)
            // A neighbour's index can be another live handle of this process: then it is one, and is not to be released.
            if let live = retain(wrong) {
                release(live)
                continue
            }
            XCTAssertFalse(isPredicate(wrong), "0x\(String(number, radix: 16))")
            XCTAssertEqual(release(wrong), cst_status(CST_E_INVALID_HANDLE), "0x\(String(number, radix: 16))")
        }
    }

    func testFortyThousandHandlesAreDistinct() {
        let handles = (0..<40_000).map { _ in predicate() }
        XCTAssertEqual(Set(handles).count, handles.count)
        for handle in handles { XCTAssertEqual(release(handle), cst_status(CST_OK)) }
    }

    func testRetainAndReleaseAreThreadSafe() {
        let shared = Shared((0..<16).map { _ in predicate() })
        let failures = Counter()
        onThreads(8) { _ in
            var generator = SystemRandomNumberGenerator()
            var failed = 0
            for _ in 0..<20_000 {
                let handle = shared.value[Int.random(in: 0..<16, using: &generator)].map { UnsafeMutableRawPointer($0) }
                if cst_retain(handle) != handle { failed += 1 }
                if cst_release(handle) != cst_status(CST_OK) { failed += 1 }
            }
            failures.add(failed)
        }
        XCTAssertEqual(failures.count, 0)
        for handle in shared.value {
            XCTAssertTrue(isPredicate(handle))
            XCTAssertEqual(release(handle), cst_status(CST_OK))
            XCTAssertFalse(isPredicate(handle))
        }
    }

    func testCreationAndReleaseOfHandlesAreThreadSafe() {
        let failures = Counter()
        let format = text("TRUEPREDICATE")
        let shared = Shared(format)
        onThreads(8) { _ in
            var failed = 0
            var live: [Handle] = []
            for round in 0..<4_000 {
                var made: Handle?
                if cst_predicate_parse(shared.value, 0, nil, &made, nil) != 0 { failed += 1 }
                if let made { live.append(made) }
                if round % 3 == 0, let last = live.popLast() {
                    if cst_release(UnsafeMutableRawPointer(last)) != 0 { failed += 1 }
                    if cst_release(UnsafeMutableRawPointer(last)) != cst_status(CST_E_INVALID_HANDLE) { failed += 1 }
                }
            }
            for handle in live where cst_release(UnsafeMutableRawPointer(handle)) != 0 { failed += 1 }
            failures.add(failed)
        }
        XCTAssertEqual(failures.count, 0)
    }

    func testHandleEndsOnceWhenEightThreadsReleaseIt() {
        for _ in 0..<200 {
            let shared = Shared(predicate())
            for _ in 0..<7 { retain(shared.value) }
            onThreads(8) { _ in cst_release(shared.value.map { UnsafeMutableRawPointer($0) }) }
            XCTAssertEqual(release(shared.value), cst_status(CST_E_INVALID_HANDLE))
        }
    }
}
