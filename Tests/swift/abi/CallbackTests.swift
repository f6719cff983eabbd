import CCorestone
import XCTest

/// The state that the callbacks of these tests count and use.
private final class Probe: @unchecked Sendable {
    var person, error: OpaquePointer?
    var (ran, destroyed, depth) = (0, 0, 0)

    var pointer: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }
    static func at(_ userdata: UnsafeMutableRawPointer?) -> Probe {
        Unmanaged<Probe>.fromOpaque(userdata!).takeUnretainedValue()
    }
}

private func destroy(_ userdata: UnsafeMutableRawPointer?) { Probe.at(userdata).destroyed += 1 }

private func insertOne(
    _ userdata: UnsafeMutableRawPointer?, _ context: OpaquePointer?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> cst_status {
    let probe = Probe.at(userdata)
    var object: OpaquePointer?
    let status = cst_context_insert(context, probe.person, &object, error)
    probe.ran += 1
    _ = cst_release(UnsafeMutableRawPointer(object))
    return status
}

private func failWithError(
    _ userdata: UnsafeMutableRawPointer?, _ context: OpaquePointer?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> cst_status {
    _ = cst_error_new_custom(text("App"), 42, text("no coffee"), userdata, destroy, error)
    return -5000
}

private func failSilently(
    _ userdata: UnsafeMutableRawPointer?, _ context: OpaquePointer?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> cst_status { -5000 }

private func nest(
    _ userdata: UnsafeMutableRawPointer?, _ context: OpaquePointer?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> cst_status {
    let probe = Probe.at(userdata)
    probe.depth += 1
    if probe.depth == 3 { return failWithError(userdata, context, error) }
    return cst_context_perform_and_wait(context, nest, userdata, error)
}

final class CallbackTests: CompanyTestCase {
    private let probe = Probe()

    override func setUpWithError() throws {
        try super.setUpWithError()
        probe.person = person
    }

    private func wait(until condition: () -> Bool) {
        for _ in 0..<60_000 where !condition() { usleep(1000) }
        XCTAssert(condition())
    }

    func testQueueKeepsItsContextUntilPerformedBlocksHaveRun() {
        var queue: OpaquePointer?
        ok { cst_context_new(coordinator, cst_queue(CST_QUEUE_PRIVATE), &queue, $0) }
        for _ in 0..<20 { ok { cst_context_perform(queue, insertOne, probe.pointer, destroy, $0) } }
        ok { cst_context_perform_and_wait(queue, insertOne, probe.pointer, $0) }
        XCTAssertEqual(probe.ran, 21)
        var object: OpaquePointer?
        fails(CST_E_WRONG_THREAD, { cst_context_insert(queue, self.person, &object, $0) })
        ok { cst_context_perform(queue, insertOne, probe.pointer, destroy, $0) }
        release(queue)
        wait { probe.destroyed == 21 }
        XCTAssertEqual(probe.ran, 22, "the queue keeps its context until its work is done")
    }

    func testDestroyRunsOnceWhenPerformFails() {
        fails(CST_E_INVALID_HANDLE, { cst_context_perform(nil, insertOne, self.probe.pointer, destroy, $0) })
        XCTAssertEqual(probe.destroyed, 1)
        fails(CST_E_INVALID_ARGUMENT, { cst_context_perform(self.context, nil, self.probe.pointer, destroy, $0) })
        XCTAssertEqual(probe.destroyed, 2)
        // Confined to its thread: there is no queue to perform on later.
        fails(CST_E_INVALID_ARGUMENT, { cst_context_perform(self.context, insertOne, self.probe.pointer, destroy, $0) })
        XCTAssertEqual(probe.destroyed, 3)
        XCTAssertEqual(probe.ran, 0)
    }

    func testPerformAndWaitReportsTheErrorOfTheBlock() {
        fails(CST_E_CALLBACK, { cst_context_perform_and_wait(self.context, failWithError, self.probe.pointer, $0) }) {
            error in
            XCTAssertEqual(cst_error_detail_count(error), 1)
            let detail = cst_error_detail_at(error, 0)
            XCTAssertEqual(cst_error_code(detail), 42)
            XCTAssertEqual(self.string(cst_error_domain(detail)), "App")
            XCTAssertEqual(cst_error_userdata(detail), self.probe.pointer)
            XCTAssertEqual(self.probe.destroyed, 0)
        }
        XCTAssertEqual(probe.destroyed, 1)
        fails(CST_E_CALLBACK, { cst_context_perform_and_wait(self.context, failSilently, nil, $0) }) { error in
            XCTAssert(self.string(cst_error_message(error))?.contains("-5000") == true)
        }
        XCTAssertEqual(Int(cst_context_perform_and_wait(context, failWithError, probe.pointer, nil)), CST_E_CALLBACK)
        XCTAssertEqual(probe.destroyed, 2)
    }

    func testNestedPerformAndWaitChainsTheErrorDetails() {
        let queue = newContext(CST_QUEUE_PRIVATE)
        fails(CST_E_CALLBACK, { cst_context_perform_and_wait(queue, nest, self.probe.pointer, $0) }) { error in
            let innermost = cst_error_detail_at(cst_error_detail_at(cst_error_detail_at(error, 0), 0), 0)
            XCTAssertEqual(cst_error_code(innermost), 42)
        }
        XCTAssertEqual(probe.depth, 3)
        XCTAssertEqual(probe.destroyed, 1)
    }

    func testInterruptCallbackIsDestroyedWhenReplacedAndWithItsContext() {
        _ = insert("Ada")
        save()
        ok { cst_context_set_interrupt(context, { _ in true }, probe.pointer, destroy, $0) }
        var request: OpaquePointer?
        var count: UInt64 = 0
        ok { cst_fetch_request_new(person, &request, $0) }
        // The check runs every few milliseconds, so a fetch of one row may be done first.
        _ = cst_context_count(context, request, &count, nil)
        ok { cst_context_set_interrupt(context, nil, nil, nil, $0) }
        XCTAssertEqual(probe.destroyed, 1)
        ok { cst_context_count(context, request, &count, $0) }
        XCTAssertEqual(count, 1)
        release(request)
        var other: OpaquePointer?
        ok { cst_context_new(coordinator, cst_queue(CST_QUEUE_CALLER), &other, $0) }
        ok { cst_context_set_interrupt(other, { _ in false }, probe.pointer, destroy, $0) }
        release(other)
        XCTAssertEqual(probe.destroyed, 2, "the context destroys its interrupt callback")
    }

    func testMainQueueRunsBlocksOnlyWhenDrained() {
        // XCTest runs every test on one thread, which may well be the main one for all of them.
        ok { cst_main_queue_bind($0) }
        ok { cst_main_queue_bind($0) }
        let main = newContext(CST_QUEUE_MAIN)
        var descriptor: Int32 = -1
        ok { cst_main_queue_descriptor(&descriptor, $0) }
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        var count = 9
        XCTAssertEqual(Int(ok { cst_main_queue_drain(0, &count, $0) }), CST_UNCHANGED)
        XCTAssertEqual(count, 0)
        ok { cst_context_perform(main, insertOne, probe.pointer, destroy, $0) }
        XCTAssertEqual(probe.ran, 0)
        XCTAssertEqual(poll(&waiting, 1, 0), 1)
        XCTAssertEqual(Int(ok { cst_main_queue_drain(1000, &count, $0) }), CST_OK)
        XCTAssertEqual(count, 1)
        XCTAssertEqual(probe.ran, 1)
        XCTAssertEqual(probe.destroyed, 1)
        XCTAssertEqual(poll(&waiting, 1, 0), 0)
        onOtherThread { XCTAssertEqual(Int(cst_main_queue_drain(0, nil, nil)), CST_E_WRONG_THREAD) }
    }
}
