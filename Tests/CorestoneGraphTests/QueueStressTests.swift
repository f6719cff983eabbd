import Corestone
import CorestoneGraph
import XCTest

/// Threads that take contexts of random families in random order: some are refused, none hangs, and nothing is lost.
final class QueueStressTests: GraphTestCase {
    private enum Outcome { case done, refused }

    func testRandomPerformsOfFamiliesEnd() throws {
        for seed in 1...5 as ClosedRange<UInt64> { try run(seed) }
    }

    private func run(_ seed: UInt64) throws {
        var random = SplitMix(seed)
        var contexts = [Context(coordinator: coordinator, queue: .privateQueue)]
        for _ in 1..<7 {
            let parent = contexts[Int(random.next() % UInt64(contexts.count))]
            contexts.append(
                random.next() % 3 == 0
                    ? Context(coordinator: coordinator, queue: .privateQueue)
                    : Context(parent: parent, queue: .privateQueue))
        }
        let family = contexts, group = DispatchGroup(), ends = Locked<[Outcome: Int]>([:]),
            problems = Locked<[String]>([])
        for thread in 0..<6 as Range<UInt64> {
            DispatchQueue.global().async(group: group) {
                var random = SplitMix(seed &* 1000 &+ thread)
                for _ in 0..<50 {
                    do {
                        try QueueStressTests.perform(family, 3, &random)
                        ends.withLock { $0[.done, default: 0] += 1 }
                    } catch let error as CoreError where error.code == 132000 {
                        ends.withLock { $0[.refused, default: 0] += 1 }
                    } catch { problems.withLock { $0.append("\(error)") } }
                }
            }
        }
        XCTAssertEqual(group.wait(timeout: .now() + 60), .success, "some wait for each other, with seed \(seed)")
        XCTAssertEqual(problems.withLock { $0 }, [])
        XCTAssertGreaterThan(ends.withLock { $0[.done] ?? 0 }, 0)
    }

    private static func perform(_ family: [Context], _ depth: Int, _ random: inout SplitMix) throws {
        let context = family[Int(random.next() % UInt64(family.count))]
        var inner = random
        try context.performAndWait { context in
            switch inner.next() % 5 {
            case 0: _ = try context.insert("Employee", ["name": "E"])
            case 1: _ = try context.count("Employee")
            case 2: try context.save()
            case 3: if try context.tryLock() { try context.unlock() }
            default: break
            }
            if depth > 0, inner.next() % 2 == 0 { try perform(family, depth - 1, &inner) }
        }
        random = inner
    }
}

/// A small generator of the same numbers for the same seed.
private struct SplitMix {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
