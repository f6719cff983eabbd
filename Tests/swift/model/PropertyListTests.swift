import CorestoneFormats
@testable import CorestoneModel
import CorestoneValues
import XCTest

final class PropertyListTests: XCTestCase {
    private func sample() -> PropertyListValue {
        .dictionary([
            "integers": .array(
                [0, 1, -1, 127, 128, 255, 256, 65535, 65536, .max, .min, 1 << 32, 1 << 31].map { .integer($0) }),
            "large": .unsigned(.max), "reals": .array([.real(0), .real(-0.0), .real(1.5), .real(.infinity)]),
            "flags": .array([.bool(true), .bool(false), .integer(1), .real(1)]), "date": .date(-1.25), "none": .null,
            "ascii": .string("plain"), "unicode": .string("Grüße 🎉"), "composed": .string("\u{E9}"),
            "decomposed": .string("e\u{301}"), "empty": .string(""),
            "long": .string(String(repeating: "x", count: 1000)),
            "data": .data([UInt8](0...255)), "no data": .data([]), "reference": .uid(70000),
            "nested": .dictionary(["a": .array([.dictionary([:]), .array([])])]), "ключ": .integer(5),
        ])
    }

    func testPropertyListRoundTrips() throws {
        let value = sample()
        let bytes = encodePropertyList(value)
        XCTAssertEqual(try decodePropertyList(bytes), value)
        XCTAssertEqual(encodePropertyList(try decodePropertyList(bytes)), bytes)
        for scalar in [PropertyListValue.null, .bool(true), .integer(-5), .string("top"), .array([]), .dictionary([:])]
        {
            XCTAssertEqual(try decodePropertyList(encodePropertyList(scalar)), scalar)
        }
        let many = PropertyListValue.array((0..<70_000).map { .integer($0) })
        XCTAssertEqual(try decodePropertyList(encodePropertyList(many)), many)
        guard case .array(let reals)? = value.dictionary?["reals"],
            case .dictionary(let read) = try decodePropertyList(bytes),
            case .array(let readReals)? = read["reals"], case .real(let zero) = reals[1],
            case .real(let readZero) = readReals[1]
        else { return XCTFail("no reals") }
        XCTAssertEqual(zero.sign, readZero.sign)
        XCTAssertEqual(read["composed"]?.string?.unicodeScalars.count, 1)
        XCTAssertEqual(read["decomposed"]?.string?.unicodeScalars.count, 2)
    }

    func testFoundationReadsWrittenListsAndViceVersa() throws {
        let plain: [String: Any] = [
            "a": 1, "b": -1.5, "c": "Grüße", "d": Data([1, 2]), "e": [true, false],
            "f": Date(timeIntervalSinceReferenceDate: 9),
        ]
        let theirs = try PropertyListSerialization.data(fromPropertyList: plain, format: .binary, options: 0)
        let ours = PropertyListValue.dictionary([
            "a": .integer(1), "b": .real(-1.5), "c": .string("Grüße"), "d": .data([1, 2]),
            "e": .array([.bool(true), .bool(false)]), "f": .date(9),
        ])
        XCTAssertEqual(try decodePropertyList(Array(theirs)), ours)
        let read = try PropertyListSerialization.propertyList(from: Data(encodePropertyList(ours)), format: nil)
        XCTAssertEqual(read as? NSDictionary, plain as NSDictionary)
    }

    func testPythonReadsWrittenLists() throws {
        let file = try Fixtures.temporaryFile(encodePropertyList(sample()))
        defer { try? FileManager.default.removeItem(at: file) }
        let program = """
            import plistlib, sys
            p = plistlib.load(open(sys.argv[1], 'rb'))
            assert p['integers'] == [0, 1, -1, 127, 128, 255, 256, 65535, 65536, 2**63-1, -2**63, 2**32, 2**31]
            assert p['large'] == 2**64-1 and p['unicode'] == 'Grüße 🎉' and p['data'] == bytes(range(256)) and p['ключ'] == 5
            assert p['reference'] == plistlib.UID(70000) and p['flags'] == [True, False, 1, 1.0] and p['flags'][0] is True
            assert len(p['composed']) == 1 and len(p['decomposed']) == 2 and p['none'] is None
            """
        let answer = try Fixtures.python(program, [file.path])
        XCTAssertEqual(answer, "")
    }

    func testEqualScalarsAreWrittenOnce() {
        let text = PropertyListValue.string("a text of some length")
        let once = encodePropertyList(.array([text])).count
        XCTAssertLessThan(encodePropertyList(.array(Array(repeating: text, count: 10))).count, once + 30)
    }

    // MARK: - Hostile bytes

    /// A property list of consecutive objects, a table of one-byte offsets, and a trailer.
    private func file(_ objects: [[UInt8]], top: UInt8 = 0) -> [UInt8] {
        var bytes = Array("bplist00".utf8)
        var offsets: [UInt8] = []
        for object in objects {
            offsets.append(UInt8(bytes.count))
            bytes += object
        }
        let table = UInt8(bytes.count)
        return bytes + offsets + [0, 0, 0, 0, 0, 0, 1, 1] + [0, 0, 0, 0, 0, 0, 0, UInt8(objects.count)]
            + [0, 0, 0, 0, 0, 0, 0, top] + [0, 0, 0, 0, 0, 0, 0, table]
    }

    func testEveryMarkerIsReadOrRejected() throws {
        let values: [([UInt8], PropertyListValue)] = [
            ([0x00], .null), ([0x08], .bool(false)), ([0x09], .bool(true)), ([0x10, 0xFF], .integer(255)),
            ([0x11, 0x01, 0x02], .integer(258)), ([0x12, 0xFF, 0, 0, 1], .integer(0xFF00_0001)),
            ([0x13] + [UInt8](repeating: 0xFF, count: 8), .integer(-1)),
            ([0x14] + [UInt8](repeating: 0, count: 15) + [7], .integer(7)),
            ([0x14] + [UInt8](repeating: 0, count: 8) + [0x80, 0, 0, 0, 0, 0, 0, 0], .unsigned(1 << 63)),
            ([0x14] + [UInt8](repeating: 0xFF, count: 16), .integer(-1)),
            ([0x22, 0x3F, 0xC0, 0, 0], .real(1.5)), ([0x23, 0x3F, 0xF8, 0, 0, 0, 0, 0, 0], .real(1.5)),
            ([0x33, 0xC0, 0, 0, 0, 0, 0, 0, 0], .date(-2)), ([0x42, 1, 2], .data([1, 2])),
            ([0x4F, 0x10, 15] + [UInt8](1...15), .data([UInt8](1...15))),
            ([0x52, 0x61, 0x62], .string("ab")), ([0x61, 0x20, 0xAC], .string("€")),
            ([0x73, 0xE2, 0x82, 0xAC], .string("€")), ([0x80, 9], .uid(9)), ([0x81, 1, 2], .uid(258)),
            ([0x83, 1, 2, 3, 4], .uid(0x0102_0304)),
        ]
        for (bytes, value) in values { XCTAssertEqual(try decodePropertyList(file([bytes])), value, "\(bytes)") }
        for bytes in [
            [0x14] + [UInt8](repeating: 0, count: 7) + [1] + [UInt8](repeating: 0, count: 8),
            [0x14] + [UInt8](repeating: 0xFF, count: 8) + [UInt8](repeating: 0, count: 8), [0x84, 1, 0, 0, 0, 0],
            [0x01], [0x0A], [0x15], [0x24], [0x34], [0x88], [0xB0], [0xC0], [0xE0],
        ] as [[UInt8]] {
            XCTAssertThrowsError(try decodePropertyList(file([bytes])), "\(bytes)") {
                XCTAssertEqual(($0 as? CoreError)?.status, .storeCorrupt)
            }
        }
    }

    func testStrictReaderRejectsWhatTheDefaultReaderAccepts() throws {
        var limits = PropertyListLimits()
        limits.isStrict = true
        let odd: [(String, [[UInt8]], PropertyListValue)] = [
            ("text in UTF-8", [[0x73, 0xE2, 0x82, 0xAC]], .string("€")),
            ("invalid ASCII", [[0x52, 0xC3, 0xA9]], .string("é")),
            ("a lone surrogate", [[0x61, 0xD8, 0x00]], .string("\u{FFFD}")),
            ("a duplicate key", [[0xD2, 1, 1, 2, 3], [0x51, 0x61], [0x08], [0x09]], .dictionary(["a": .bool(true)])),
        ]
        for (what, objects, value) in odd {
            XCTAssertEqual(try decodePropertyList(file(objects)), value, what)
            XCTAssertThrowsError(try decodePropertyList(file(objects), limits: limits), what) {
                XCTAssertEqual(($0 as? CoreError)?.status, .storeCorrupt)
            }
        }
        XCTAssertEqual(try decodePropertyList(encodePropertyList(.string("a€")), limits: limits), .string("a€"))
        var newer = file([[0x09]])
        newer[7] = UInt8(ascii: "1")
        XCTAssertEqual(try decodePropertyList(newer), .bool(true))
        XCTAssertThrowsError(try decodePropertyList(newer, limits: limits))
    }

    func testLimitsAreEnforcedExactly() throws {
        func nested(_ depth: Int) -> [UInt8] {
            encodePropertyList((0..<depth).reduce(.bool(true)) { inner, _ in .array([inner]) })
        }
        var limits = PropertyListLimits()
        limits.depth = 5
        XCTAssertNoThrow(try decodePropertyList(nested(5), limits: limits))
        XCTAssertThrowsError(try decodePropertyList(nested(6), limits: limits)) {
            XCTAssertEqual(($0 as? CoreError)?.message.hasSuffix("more than 5 levels deep, which is the limit"), true)
        }
        let three = encodePropertyList(.array([.bool(true), .bool(false)]))
        limits.count = 3
        XCTAssertNoThrow(try decodePropertyList(three, limits: limits))
        limits.count = 2
        XCTAssertThrowsError(try decodePropertyList(three, limits: limits))
        // A shared value counts each time.
        let shared = encodePropertyList(.array([.bool(true), .bool(true)]))
        XCTAssertThrowsError(try decodePropertyList(shared, limits: limits)) {
            XCTAssertEqual(($0 as? CoreError)?.message.hasSuffix("more than 2 values, which is the limit"), true)
        }
        limits.size = three.count
        limits.count = 3
        XCTAssertNoThrow(try decodePropertyList(three, limits: limits))
        limits.size -= 1
        XCTAssertThrowsError(try decodePropertyList(three, limits: limits)) {
            XCTAssertEqual(
                ($0 as? CoreError)?.message.hasSuffix(
                    "it has \(three.count) bytes, but the limit is \(limits.size)"),
                true)
        }
    }

    func testCountsAreWrittenInOrAfterTheMarker() {
        func start(_ value: PropertyListValue, _ count: Int) -> [UInt8] {
            Array(encodePropertyList(value).dropFirst(8).prefix(count))
        }
        XCTAssertEqual(start(.data([UInt8](repeating: 1, count: 14)), 1), [0x4E])
        XCTAssertEqual(start(.data([UInt8](repeating: 1, count: 15)), 3), [0x4F, 0x10, 15])
        XCTAssertEqual(start(.data([UInt8](repeating: 1, count: 256)), 4), [0x4F, 0x11, 1, 0])
        XCTAssertEqual(start(.string(String(repeating: "a", count: 15)), 3), [0x5F, 0x10, 15])
        XCTAssertEqual(start(.string("é"), 3), [0x61, 0, 0xE9])
        XCTAssertEqual(start(.array(Array(repeating: .null, count: 15)), 4), [0xAF, 0x10, 15, 1])
        XCTAssertEqual(start(.dictionary(["a": .null]), 3), [0xD1, 1, 2])
        for (number, bytes) in [
            (0, [0x10, 0]), (255, [0x10, 255]), (256, [0x11, 1, 0]), (65_535, [0x11, 255, 255]),
            (65_536, [0x12, 0, 1, 0, 0]), (1 << 32, [0x13, 0, 0, 0, 1, 0, 0, 0, 0]), (-1, [0x13, 255]),
        ] as [(Int64, [UInt8])] { XCTAssertEqual(start(.integer(number), bytes.count), bytes, "\(number)") }
        XCTAssertEqual(
            start(.unsigned(.max), 17), [0x14] + [0, 0, 0, 0, 0, 0, 0, 0] + [UInt8](repeating: 255, count: 8))
        for (number, bytes) in [(255, [0x80, 255]), (256, [0x81, 1, 0]), (65_536, [0x83, 0, 1, 0, 0])]
            as [(UInt32, [UInt8])]
        { XCTAssertEqual(start(.uid(number), bytes.count), bytes, "\(number)") }
        XCTAssertEqual(start(.bool(true), 1) + start(.bool(false), 1) + start(.null, 1), [0x09, 0x08, 0x00])
    }

    func testBooleansAndIntegersAreFlags() {
        let values: [(PropertyListValue, Bool)] = [
            (.bool(true), true), (.bool(false), false), (.integer(0), false), (.integer(2), true), (.integer(-1), true),
            (.string("YES"), false), (.real(1), false), (.null, false),
        ]
        for (value, flag) in values { XCTAssertEqual(value.flag, flag, "\(value)") }
    }

    func testNamesAreSortedByBytes() {
        XCTAssertEqual(
            sortedByBytes(["b", "é", "a", "B", "e\u{301}", "ab", ""]), ["", "B", "a", "ab", "b", "e\u{301}", "é"])
    }

    func testHostileFilesAreRejected() throws {
        XCTAssertEqual(try decodePropertyList(file([[0xA1, 1], [0x10, 5]])), .array([.integer(5)]))
        let refused: [(String, [UInt8])] = [
            ("nothing", []), ("only a header", Array("bplist00".utf8)), ("an array in itself", file([[0xA1, 0]])),
            ("two in each other", file([[0xA1, 1], [0xA1, 0]])),
            ("a dictionary in itself", file([[0xD1, 1, 0], [0x51, 0x61]])),
            ("a reference beyond the objects", file([[0xA1, 9]])),
            ("a number as key", file([[0xD1, 1, 1], [0x10, 1]])),
            ("a count beyond the file", file([[0xAF, 0x13, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]])),
            ("data beyond the file", file([[0x4F, 0x12, 0x7F, 0xFF, 0xFF, 0xFF]])),
            ("an unknown marker", file([[0xF0]])),
            ("text beyond the file", file([[0x6E, 0]])), ("a count that is no integer", file([[0xAF, 0x51, 0x61]])),
            ("top beyond the objects", file([[0x08]], top: 1)), ("an integer of 32 bytes", file([[0x15]])),
            ("a reference of 16 bytes", file([[0x8F] + [UInt8](repeating: 1, count: 16)])),
        ]
        for (what, bytes) in refused {
            XCTAssertThrowsError(try decodePropertyList(bytes), what) { error in
                XCTAssertEqual((error as? CoreError)?.status, .storeCorrupt, what)
            }
        }
    }

    /// A hundred arrays, each with the next one twice: a small file that expands to 2^100 values.
    func testSharedValuesCountEachTime() {
        let objects = (0..<100).map { [0xA2, UInt8($0 + 1), UInt8($0 + 1)] } + [[0x08]]
        var bytes = Array("bplist00".utf8)
        var offsets: [UInt8] = []
        for object in objects {
            offsets += [UInt8(bytes.count >> 8), UInt8(bytes.count & 255)]
            bytes += object
        }
        let table = bytes.count
        bytes += offsets + [0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, UInt8(objects.count)]
        bytes += [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(table >> 8), UInt8(table & 255)]
        XCTAssertThrowsError(try decodePropertyList(bytes)) { error in
            XCTAssertTrue(String(describing: error).contains("values"), "\(error)")
        }
        var limits = PropertyListLimits()
        limits.depth = 50
        XCTAssertThrowsError(try decodePropertyList(bytes, limits: limits)) { error in
            XCTAssertTrue(String(describing: error).contains("nested"), "\(error)")
        }
    }

    func testMutatedFilesNeverTrap() throws {
        var generator = SeededGenerator(state: 4711)
        let seeds = [
            encodePropertyList(sample()), StoreMetadata(model: try SampleModels.everything()).encoded(),
            file([
                [0xD2, 1, 2, 3, 4], [0x51, 0x61], [0x51, 0x62], [0xA2, 3, 4],
                [0x33] + [UInt8](repeating: 0x41, count: 8),
            ]),
        ]
        var limits = PropertyListLimits()
        limits.count = 10_000
        var (read, refused) = (0, 0)
        for round in 0..<20_000 {
            var bytes = seeds[round % seeds.count]
            for _ in 0..<Int.random(in: 1...6, using: &generator) {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                switch UInt64.random(in: 0...9, using: &generator) {
                case 0 where bytes.count > 60: bytes.removeSubrange(place..<min(place + 5, bytes.count))
                case 1: bytes.insert(UInt8.random(in: 0...255, using: &generator), at: place)
                case 2, 3:
                    bytes[bytes.count - 1 - Int.random(in: 0..<32, using: &generator)] = UInt8.random(
                        in: 0...255, using: &generator)
                default: bytes[place] = UInt8.random(in: 0...255, using: &generator)
                }
            }
            do {
                let value = try decodePropertyList(bytes, limits: limits)
                XCTAssertFalse(encodePropertyList(value).isEmpty)
                read += 1
            } catch { refused += 1 }
        }
        XCTAssertGreaterThan(read, 1000)
        XCTAssertGreaterThan(refused, 1000)
    }
}
