import CorestoneFileSystem
import CorestoneValues
import Foundation
import XCTest

final class FileHoleTests: XCTestCase {
    private let part = 1 << 16
    private let size = 1 << 21
    private var descriptor: Int32 = -1

    /// A file with data at its beginning and in its middle, and a hole after each.
    override func setUpWithError() throws {
        let path = FileManager.default.temporaryDirectory.path + "/holes-\(UUID())"
        descriptor = open(path, O_RDWR | O_CREAT | O_EXCL, 0o600)
        unlink(path)
        let data = [UInt8](repeating: 1, count: part)
        XCTAssertEqual(pwrite(descriptor, data, part, 0), part)
        XCTAssertEqual(pwrite(descriptor, data, part, 1 << 20), part)
        XCTAssertEqual(ftruncate(descriptor, off_t(size)), 0)
        try XCTSkipIf(parts(size) == [0..<size], "this file system does not report holes")
    }

    override func tearDown() { close(descriptor) }

    private func parts(_ size: Int, atMost count: Int = .max) -> [Range<Int>] {
        var parts: [Range<Int>] = []
        forEachPartWithData(of: descriptor, size: size) { range in
            parts.append(range)
            return parts.count < count
        }
        return parts
    }

    func testDataRangesAreReportedInOrder() {
        let (first, second) = (0..<part, (1 << 20)..<((1 << 20) + part))
        XCTAssertEqual(parts(size), [first, second])
        XCTAssertEqual(parts(size, atMost: 1), [first], "the caller stops after the first range")
        XCTAssertEqual(parts(1 << 20), [first])
        XCTAssertEqual(parts((1 << 20) + 10), [first, (1 << 20)..<((1 << 20) + 10)])
        XCTAssertEqual(parts(0), [])
        lseek(descriptor, 77, SEEK_SET)
        _ = parts(size)
        XCTAssertEqual(lseek(descriptor, 0, SEEK_CUR), 77, "the file offset is unchanged")
    }

    func testSizeOfHolesIsComparedWithALimit() {
        let holes = size - 2 * part
        XCTAssertTrue(hasHoles(descriptor, size: size, over: holes - 1))
        XCTAssertFalse(hasHoles(descriptor, size: size, over: holes))
        XCTAssertTrue(hasHoles(descriptor, size: size, over: 0))
        XCTAssertFalse(hasHoles(descriptor, size: part, over: 0))
        XCTAssertFalse(hasHoles(descriptor, size: size, over: size))
    }
}
