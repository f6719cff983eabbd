import CCorestone
import XCTest

/// Adds an arena for texts, errors with all their fields, and a check that a test releases all handles.
class HeaderTestCase: ABITestCase {
    private var texts: [UnsafeMutablePointer<CChar>] = []
    private var handlesBefore = 0

    override func setUpWithError() throws {
        try super.setUpWithError()
        continueAfterFailure = false
        handlesBefore = cst_handle_count()
    }

    /// Runs after `tearDown`, which releases the handles that the test kept.
    override func tearDownWithError() throws {
        for text in texts { text.deallocate() }
        texts = []
    }

    override func tearDown() {
        super.tearDown()
        XCTAssertEqual(cst_handle_count(), handlesBefore, "the test did not release all handles")
    }

    // MARK: Texts

    /// Text that lives until the end of the test.
    func text(_ string: String) -> cst_string { bytes(Array(string.utf8)) }

    /// Any bytes as text, valid UTF-8 or not.
    func bytes(_ bytes: [UInt8]) -> cst_string {
        let copy = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count + 1)
        for (place, byte) in bytes.enumerated() { copy[place] = CChar(bitPattern: byte) }
        // Not NUL: the size determines where the text ends.
        copy[bytes.count] = CChar(bitPattern: 0x7F)
        texts.append(copy)
        return cst_string(data: UnsafePointer(copy), size: bytes.count)
    }

    /// Text whose size is CST_NUL.
    func terminated(_ string: String) -> cst_string {
        var result = bytes(Array(string.utf8) + [0])
        result.size = Int(bitPattern: UInt.max)
        return result
    }

    func value(_ string: String) -> cst_value { value(text(string)) }
    func value(_ string: cst_string, type: Int = CST_STRING) -> cst_value {
        var value = cst_value()
        value.type = cst_type(type)
        value.as.string = string
        return value
    }
    func value(data: [UInt8]) -> cst_value {
        let copy = bytes(data)
        var value = cst_value()
        value.type = cst_type(CST_BYTES)
        value.as.bytes = cst_bytes(
            data: copy.data.map { UnsafeRawPointer($0).assumingMemoryBound(to: UInt8.self) }, size: data.count)
        return value
    }

    // MARK: Statuses

    /// The output handle of a call that must succeed. Not kept.
    @discardableResult
    func made(
        file: StaticString = #filePath, line: UInt = #line, _ call: (ErrorSlot, ErrorSlot) -> cst_status
    ) -> Handle? {
        var result: Handle?
        ok({ call(&result, $0) }, file: file, line: line)
        XCTAssertNotNil(result, file: file, line: line)
        return result
    }

    /// A call with an expected outcome, which sets no error.
    func returns(
        _ status: Int, file: StaticString = #filePath, line: UInt = #line, _ call: (ErrorSlot) -> cst_status
    ) {
        var error: Handle?
        let result = call(&error)
        let message = error.map { Problem($0).message } ?? "no error"
        XCTAssertEqual(result, cst_status(status), message, file: file, line: line)
        XCTAssertNil(error, message, file: file, line: line)
        release(error)
    }

    /// Asserts that a call fails with a status, and that its error has the same status.
    @discardableResult
    func refuses(
        _ status: Int, file: StaticString = #filePath, line: UInt = #line, _ call: (ErrorSlot) -> cst_status
    ) -> Problem {
        var error: Handle?
        let result = call(&error)
        let problem = Problem(error)
        XCTAssertEqual(result, cst_status(status), problem.message, file: file, line: line)
        XCTAssertNotNil(error, "a failure sets an error", file: file, line: line)
        XCTAssertEqual(problem.status, cst_status(status), file: file, line: line)
        XCTAssertFalse(problem.message.isEmpty, "an error has a message", file: file, line: line)
        XCTAssertEqual(release(error), cst_status(CST_OK), file: file, line: line)
        return problem
    }

    /// Returns the text that a call writes into a buffer.
    func buffered(
        file: StaticString = #filePath, line: UInt = #line,
        _ call: (UnsafeMutablePointer<cst_buffer>, ErrorSlot) -> cst_status
    ) -> String {
        var buffer = cst_buffer()
        ok({ call(&buffer, $0) }, file: file, line: line)
        defer { cst_buffer_dispose(&buffer) }
        return buffer.text ?? ""
    }
}
