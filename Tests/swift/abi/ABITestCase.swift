import CCorestone
import CorestoneABI
import XCTest

/// Shorthands over the header: a call that must succeed, a call that must fail, values, names.
class ABITestCase: XCTestCase {
    private var folder = ""
    private var owned: [OpaquePointer?] = []

    override func setUpWithError() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("corestone-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        self.folder = folder.path
    }

    override func tearDown() {
        for handle in owned.reversed() { _ = cst_release(UnsafeMutableRawPointer(handle)) }
        owned = []
        try? FileManager.default.removeItem(atPath: folder)
    }

    func path(_ name: String) -> String { folder + "/" + name }

    /// Releases a handle at the end of the test.
    @discardableResult
    func keep(_ handle: OpaquePointer?) -> OpaquePointer? {
        owned.append(handle)
        return handle
    }

    /// Runs a call that must not fail.
    @discardableResult
    func ok(
        _ call: (UnsafeMutablePointer<OpaquePointer?>) -> cst_status, file: StaticString = #filePath, line: UInt = #line
    ) -> cst_status {
        var error: OpaquePointer?
        let status = call(&error)
        if status < 0 { XCTFail("\(status): \(string(cst_error_message(error)) ?? "")", file: file, line: line) }
        XCTAssert(status < 0 || error == nil, "an error without a failure", file: file, line: line)
        _ = release(error)
        return status
    }

    /// Runs a call that must fail with this status; `inspect` looks at its error.
    func fails(
        _ expected: Int, file: StaticString = #filePath, line: UInt = #line,
        _ call: (UnsafeMutablePointer<OpaquePointer?>) -> cst_status, inspect: (OpaquePointer?) -> Void = { _ in }
    ) {
        var error: OpaquePointer?
        let status = call(&error)
        XCTAssertEqual(
            Int(status), expected, string(cst_error_message(error)) ?? "no message", file: file, line: line)
        XCTAssertNotNil(error, file: file, line: line)
        XCTAssertEqual(Int(cst_error_status(error)), expected, file: file, line: line)
        XCTAssertFalse((string(cst_error_message(error)) ?? "").isEmpty, file: file, line: line)
        inspect(error)
        _ = release(error)
    }

    @discardableResult
    func release(_ handle: OpaquePointer?) -> cst_status { cst_release(UnsafeMutableRawPointer(handle)) }
    @discardableResult
    func retain(_ handle: OpaquePointer?) -> OpaquePointer? {
        cst_retain(UnsafeMutableRawPointer(handle)).map { OpaquePointer($0) }
    }

    /// A copy of a view; nil for a null string.
    func string(_ view: cst_string) -> String? {
        view.data.map { data in
            XCTAssertEqual(data[view.size], 0, "a view is NUL-terminated")
            return String(decoding: UnsafeRawBufferPointer(start: data, count: view.size), as: UTF8.self)
        }
    }

    /// Runs `body` on another thread and waits for it.
    func onOtherThread(_ body: @escaping @Sendable () -> Void) {
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            body()
            done.signal()
        }
        done.wait()
    }
}

/// A static string as a C string of unlimited lifetime.
func text(_ string: StaticString) -> cst_string {
    cst_string(
        data: UnsafeRawPointer(string.utf8Start).assumingMemoryBound(to: CChar.self), size: string.utf8CodeUnitCount)
}

func withText<Result>(_ string: String, _ body: (cst_string) throws -> Result) rethrows -> Result {
    try string.withCString { try body(cst_string(data: $0, size: string.utf8.count)) }
}

var nullText: cst_string { cst_string(data: nil, size: 0) }

extension cst_value {
    init(type: Int, aux: UInt32 = 0) {
        self.init()
        self.type = UInt32(type)
        self.aux = aux
    }

    static var null: cst_value { cst_value(type: CST_NULL) }

    static func int(_ number: Int64) -> cst_value {
        var value = cst_value(type: CST_INT)
        value.as.integer = number
        return value
    }

    static func real(_ number: Double) -> cst_value {
        var value = cst_value(type: CST_DOUBLE)
        value.as.real = number
        return value
    }

    static func text(_ string: StaticString) -> cst_value {
        var value = cst_value(type: CST_STRING)
        value.as.string = CorestoneABITests.text(string)
        return value
    }

    static func object(_ object: OpaquePointer?) -> cst_value {
        var value = cst_value(type: CST_OBJECT)
        value.as.object = object
        return value
    }

    static func decimal(_ low: UInt64, _ high: UInt64 = 0, exponent: Int8 = 0, isNegative: Bool = false) -> cst_value {
        var value = cst_value(type: CST_DECIMAL, aux: UInt32(UInt8(bitPattern: exponent)) | (isNegative ? 0x100 : 0))
        value.as.decimal.mantissa = (low, high)
        return value
    }
}
