import XCTest

@testable import CorestoneSQLite

final class OrderKeysTests: XCTestCase {
    private func applied(_ keys: [Int64?]) -> (keys: [Int64?], written: Int) {
        var result = keys
        let changes = OrderKeys.changes(keys)
        for (place, key) in changes { result[place] = key }
        return (result, changes.count)
    }

    private func isAscending(_ keys: [Int64?]) -> Bool {
        let known = keys.compactMap { $0 }
        return known.count == keys.count && zip(known, known.dropFirst()).allSatisfy { $0 < $1 }
    }

    func testNewAndAppendedMembersGetKeysInSteps() {
        XCTAssertEqual(applied([nil, nil, nil]).keys, [2048, 3072, 4096])
        XCTAssertEqual(applied([2048, 3072, nil]).keys, [2048, 3072, 4096])
        XCTAssertEqual(applied([nil, 2048]).keys, [1024, 2048])
        XCTAssertEqual(applied([2048, nil, 3072]).keys, [2048, 2560, 3072])
        XCTAssertEqual(applied([]).written, 0)
        XCTAssertEqual(applied([2048, 3072]).written, 0)
    }

    func testMovingOneMemberRewritesOneKey() {
        XCTAssertEqual(applied([5120, 2048, 3072, 4096]).written, 1)
        XCTAssertEqual(applied([2048, 4096, 3072, 5120]).written, 1)
    }

    func testMissingGapRenumbersAllMembers() {
        XCTAssertEqual(applied([7, nil, 8]).keys, [2048, 3072, 4096])
        XCTAssertEqual(applied([Int64(Int32.max), nil]).keys, [2048, 3072])
        XCTAssertEqual(applied([1, nil]).written, 1)
    }

    func testKeysAtTheirLimitsAreRenumbered() {
        let most = Int64(Int32.max)
        // A key out of range is treated as missing.
        XCTAssertEqual(applied([0, 5000]).keys, [2500, 5000])
        XCTAssertEqual(applied([-1, nil]).keys, [2048, 3072])
        XCTAssertEqual(applied([most + 1, nil]).keys, [2048, 3072])
        // The last step that fits, and the first one that does not.
        XCTAssertEqual(applied([most - 2048, nil]).keys, [most - 2048, most - 1024])
        XCTAssertEqual(applied([most - 2047, nil]).keys, [2048, 3072])
        XCTAssertEqual(applied([most - 3072, nil, nil]).keys, [most - 3072, most - 2048, most - 1024])
        XCTAssertEqual(applied([most - 3071, nil, nil]).keys, [2048, 3072, 4096])
        // The smallest gaps that fit one key and two keys.
        XCTAssertEqual(applied([7, nil, 9]).keys, [7, 8, 9])
        XCTAssertEqual(applied([7, nil, nil, 10]).keys, [7, 8, 9, 10])
        XCTAssertEqual(applied([7, nil, nil, 9]).keys, [2048, 3072, 4096, 5120])
        XCTAssertEqual(applied([nil, 1]).keys, [2048, 3072])
        XCTAssertEqual(applied([nil, nil, 3000, nil, 4000, nil]).keys, [1000, 2000, 3000, 3500, 4000, 5024])
        // Of equal keys, one is kept.
        XCTAssertEqual(applied([2048, 2048]).keys, [1024, 2048])
        // Renumbering does not rewrite keys that are already correct.
        XCTAssertEqual(OrderKeys.changes([2048, nil, 2049]).map(\.place), [1, 2])
    }

    /// After any sequence of moves, insertions and removals, keys are ascending and fit 32 bits. A member that was
    /// neither moved nor added is rewritten only if all members are.
    func testRandomEditsKeepKeysAscending() {
        var generator = SplitMix(state: 42)
        for _ in 0..<3000 {
            var keys: [Int64?] = (0..<Int.random(in: 0...12, using: &generator)).map { _ in
                Bool.random(using: &generator) ? nil : Int64.random(in: -5...5000, using: &generator)
            }
            for _ in 0..<12 {
                let (result, written) = applied(keys)
                XCTAssert(isAscending(result), "\(keys) gave \(result)")
                XCTAssert(result.allSatisfy { $0.map { $0 > 0 && $0 <= Int64(Int32.max) } ?? false }, "\(result)")
                keys = result
                XCTAssertEqual(applied(keys).written, 0)
                _ = written
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: keys.insert(nil, at: Int.random(in: 0...keys.count, using: &generator))
                case 1 where !keys.isEmpty: keys.remove(at: Int.random(in: 0..<keys.count, using: &generator))
                default:
                    guard keys.count > 1 else { continue }
                    let moved = keys.remove(at: Int.random(in: 0..<keys.count, using: &generator))
                    keys.insert(moved, at: Int.random(in: 0...keys.count, using: &generator))
                }
            }
        }
    }
}

/// A generator with the same numbers in every run.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ value >> 30) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
        return value ^ value >> 31
    }
}
