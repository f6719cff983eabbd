import CorestonePredicate
import CorestoneValues
import XCTest

final class SortTests: XCTestCase {
    private func sorted(_ texts: [String], _ selector: SortDescriptor.Selector, ascending: Bool = true) throws
        -> [String]
    {
        let descriptor = SortDescriptor(path: KeyPath("self"), ascending: ascending, selector: selector)
        return try SortDescriptor.sorted(texts.map { .string($0) }, by: [descriptor]).compactMap { value in
            if case .text(let text) = value { text.string } else { nil }
        }
    }

    func testSelectorsHaveTheNamesOfCoreData() {
        XCTAssertEqual(
            SortDescriptor.Selector.allCases.map(\.rawValue),
            [
                "compare:", "caseInsensitiveCompare:", "localizedCompare:", "localizedCaseInsensitiveCompare:",
                "localizedStandardCompare:",
            ])
    }

    func testSelectorsOrderStrings() throws {
        try withEachCollation {
            XCTAssertEqual(try sorted(["b", "a", "B", "A"], .compare), ["A", "B", "a", "b"])
            XCTAssertEqual(try sorted(["b", "A", "a", "B"], .caseInsensitive), ["A", "a", "b", "B"], "stable")
            XCTAssertEqual(try sorted(["b", "A", "é", "a", "f", "e"], .localized), ["a", "A", "b", "e", "é", "f"])
            XCTAssertEqual(
                try sorted(["b", "A", "a", "B"], .localizedCaseInsensitive), ["A", "a", "b", "B"], "stable")
            XCTAssertEqual(
                try sorted(["éclair", "Zoo", "apple"], .localizedCaseInsensitive), ["apple", "éclair", "Zoo"])
            XCTAssertEqual(
                try sorted(
                    ["file-a", "file-1", "file-01", "file-2", "file-10", "file-b", "file-ab"], .localizedStandard),
                ["file-1", "file-01", "file-2", "file-10", "file-a", "file-ab", "file-b"])
        }
    }

    private func withEachCollation(_ body: () throws -> Void) rethrows {
        let before = Collation.current
        defer { Collation.use(before) }
        for usesICU in [false, true] {
            Collation.use(Collation(locale: "en_US", usesICU: usesICU))
            try body()
        }
    }

    func testNilIsFirstAscendingAndLastDescending() throws {
        let values: [PropertyValue] = [.int(2), .null, .int(1)]
        let up = SortDescriptor("self")
        XCTAssertEqual(try SortDescriptor.sorted(values, by: [up]), [.null, .int(1), .int(2)])
        XCTAssertEqual(try SortDescriptor.sorted(values, by: [up.reversed]), [.int(2), .int(1), .null])
    }

    func testComparatorOrdersNonNilValues() throws {
        let byLength = SortComparator { a, b in
            (a.textual?.count ?? 0) - (b.textual?.count ?? 0)
        }
        let descriptor = SortDescriptor(path: KeyPath("self"), comparator: byLength)
        let values: [PropertyValue] = [.string("ccc"), .string("a"), .null, .string("bb"), .string("z")]
        XCTAssertEqual(
            try SortDescriptor.sorted(values, by: [descriptor]),
            [.null, .string("a"), .string("z"), .string("bb"), .string("ccc")])
        XCTAssertEqual(
            try SortDescriptor.sorted(values, by: [descriptor.reversed]),
            [.string("ccc"), .string("bb"), .string("a"), .string("z"), .null])
        XCTAssertEqual(descriptor, SortDescriptor(path: KeyPath("self"), comparator: byLength))
        XCTAssertNotEqual(descriptor, SortDescriptor(path: KeyPath("self")))
    }

    func testErrorOfAComparatorIsRethrown() {
        struct Trouble: Error {}
        let descriptor = SortDescriptor(path: KeyPath("self"), comparator: SortComparator { _, _ in throw Trouble() })
        XCTAssertThrowsError(try SortDescriptor.sorted([.int(1), .int(2)], by: [descriptor])) {
            XCTAssertTrue($0 is Trouble)
        }
    }

    func testInconsistentComparatorReturnsAPermutation() throws {
        nonisolated(unsafe) var state: UInt64 = 88_172_645_463_325_252
        let dice = SortComparator { _, _ in
            state ^= state << 13
            state ^= state >> 7
            return Int(state % 3) - 1
        }
        let values = (0..<500).map { PropertyValue.int($0) }
        let sorted = try SortDescriptor.sorted(
            values, by: [SortDescriptor(path: KeyPath("self"), comparator: dice)])
        XCTAssertEqual(Set(sorted), Set(values))
        let extreme = SortComparator { _, _ in .min }
        _ = try SortDescriptor.sorted(
            values, by: [SortDescriptor(path: KeyPath("self"), ascending: false, comparator: extreme)])
    }

    func testSignOfASortKeyReversesTheDirection() {
        for (key, ascending, path, isUp) in [
            ("a.b", true, "a.b", true), ("a.b", false, "a.b", false), ("-a.b", true, "a.b", false),
            ("-a", false, "a", true),
        ] {
            let descriptor = SortDescriptor(key, ascending: ascending)
            XCTAssertEqual(descriptor.keyPath, path)
            XCTAssertEqual(descriptor.ascending, isUp)
            XCTAssertEqual(descriptor.selector, .compare)
            XCTAssertEqual(descriptor.reversed.ascending, !isUp)
            XCTAssertEqual(descriptor.reversed.reversed, descriptor)
        }
        let folded = SortDescriptor("-a", caseInsensitive: true)
        XCTAssertEqual(folded.reversed, SortDescriptor("a", caseInsensitive: true))
        XCTAssertEqual(folded.reversed.selector, .caseInsensitive)
    }

    func testValuesOfDifferentKindsAreOrdered() throws {
        let ordered: [PropertyValue] = [
            .null, .double(-1), .bool(false), .decimal(DecimalNumber(mantissa: 5, exponent: -1)), .int(1), .uri("a"),
            .string("b"),
            .date(0), .date(1), .bytes(Bytes([1])), .bytes(Bytes([1, 0])), .bytes(Bytes([2])),
            .uuid(UUIDValue(high: 0, low: 5)), .uuid(UUIDValue(high: 1, low: 0)), .array([.int(1)]),
        ]
        for selector in SortDescriptor.Selector.allCases {
            let up = SortDescriptor(path: KeyPath("self"), selector: selector)
            for (i, a) in ordered.enumerated() {
                for (j, b) in ordered.enumerated() {
                    XCTAssertEqual(try up.compare(a, b).signum(), (i - j).signum(), "\(a) \(b) \(selector)")
                    XCTAssertEqual(try up.reversed.compare(a, b).signum(), (j - i).signum(), "\(a) \(b) \(selector)")
                }
            }
        }
        let up = SortDescriptor("self")
        XCTAssertEqual(try up.compare(.array([.int(1)]), .set([])), 0)
        XCTAssertEqual(try up.compare(.array([.int(1)]), .array([.int(2)])), 0)
    }

    func testFirstDistinguishingDescriptorDeterminesTheOrder() throws {
        let rows: [PropertyValue] = [(1, 2, 0), (1, 1, 1), (0, 2, 2), (1, 1, 3), (0, 3, 4)].map {
            .dictionary(["a": .int($0.0), "b": .int($0.1), "place": .int($0.2)])
        }
        func order(_ descriptors: String...) throws -> [Int] {
            try SortDescriptor.order(of: rows, by: descriptors.map { SortDescriptor($0) })
        }
        XCTAssertEqual(try order("a", "b"), [2, 4, 1, 3, 0])
        XCTAssertEqual(try order("-a", "b"), [1, 3, 0, 2, 4])
        XCTAssertEqual(try order("a", "-b"), [4, 2, 0, 1, 3])
        XCTAssertEqual(try order("b", "a", "-place"), [3, 1, 2, 0, 4])
        XCTAssertEqual(try order(), [0, 1, 2, 3, 4])
        XCTAssertThrowsError(try order("a.nokey")) { XCTAssertEqual(($0 as? CoreError)?.key, "nokey") }
    }
}
