import Corestone
import CorestoneGraph
import XCTest

/// Random graphs of contexts, parents and blocks that wait for each other: no thread waits forever. A wait that would
/// deadlock fails with code 132000.
final class DeadlockHuntTests: XCTestCase {
    func testRandomContextGraphsNeverDeadlock() throws {
        let graphs = ProcessInfo.processInfo.environment["CORESTONE_GRAPHS"].flatMap(Int.init) ?? 1000
        var total = Hunt.Counts()
        for seed in 1...graphs {
            let hunt = try Hunt(seed: UInt64(seed))
            guard hunt.run() else { fatalError("graph \(seed): deadlock") }
            XCTAssertEqual(hunt.counts.withLock { $0.unexpected }, [], "graph \(seed)")
            hunt.counts.withLock { total += $0 }
        }
        print(
            "\(graphs) graphs of contexts: \(total.blocks) blocks, \(total.saves) saves, \(total.conflicts) conflicts, "
                + "\(total.refusals) waits refused, none hangs")
        XCTAssertGreaterThan(total.refusals, 0, "no graph had a wait that would deadlock")
    }
}

/// Random contexts, and threads that use them.
private final class Hunt: @unchecked Sendable {
    struct Counts {
        var blocks = 0, saves = 0, conflicts = 0, refusals = 0
        /// Unexpected errors.
        var unexpected: [String] = []

        static func += (all: inout Counts, other: Counts) {
            all.blocks += other.blocks
            all.saves += other.saves
            all.conflicts += other.conflicts
            all.refusals += other.refusals
        }
    }

    let counts = Locked(Counts())
    private let contexts: [Context]
    private let threads: Int
    private let seed: UInt64
    private let running = DispatchGroup()

    private static let timeout = 60.0, deepest = 3

    init(seed: UInt64) throws {
        self.seed = seed
        var random = SeededGenerator(seed: seed)
        let model = try GraphTestCase.company()
        let coordinator = try Coordinator(model: model)
        _ = try coordinator.add(MemoryStore(model: model))
        var contexts = [Context(coordinator: coordinator, queue: .privateQueue)]
        for number in 1..<Int.random(in: 2...6, using: &random) {
            let parent = Int.random(in: 0...number, using: &random)
            contexts.append(
                parent == number
                    ? Context(coordinator: coordinator, queue: .privateQueue)
                    : Context(parent: contexts[parent], queue: .privateQueue))
            contexts[number].automaticallyMergesChangesFromParent = Bool.random(using: &random)
        }
        self.contexts = contexts
        threads = Int.random(in: 2...4, using: &random)
        try contexts[0].performAndWait { context in
            for number in 0..<5 { _ = try context.insert("Employee", ["name": "E\(number)"]) }
            try context.save()
        }
    }

    /// Returns false if a thread does not finish.
    func run() -> Bool {
        for number in 0..<threads {
            running.enter()
            Thread.detachNewThread { [self] in
                var random = SeededGenerator(seed: seed &* 31 &+ UInt64(number))
                for _ in 0..<3 { wait(0, &random) }
                running.leave()
            }
        }
        return running.wait(timeout: .now() + Hunt.timeout) == .success
    }

    private func wait(_ depth: Int, _ random: inout SeededGenerator) {
        note { try contexts.randomElement(using: &random)?.performAndWait { block($0, depth, &random) } }
    }

    private func block(_ context: Context, _ depth: Int, _ random: inout SeededGenerator) {
        counts.withLock { $0.blocks += 1 }
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            note { try step(context, depth, &random) }
        }
    }

    private func step(_ context: Context, _ depth: Int, _ random: inout SeededGenerator) throws {
        switch Int.random(in: 0..<8, using: &random) {
        case 0: _ = try context.insert("Employee", ["name": "new"])
        case 1:
            try context.fetch("Employee").randomElement(using: &random)?.set(
                "age", Int.random(in: 0..<99, using: &random))
        case 2: _ = try context.count("Employee", "age > 10")
        case 3:
            do {
                try context.save()
                counts.withLock { $0.saves += 1 }
            } catch {
                try context.rollback()
                try context.refreshAll()
                throw error
            }
        case 4:
            let own = UInt64.random(in: 0...UInt64.max, using: &random)
            running.enter()
            do {
                try contexts.randomElement(using: &random)?.enqueue { [self] context in
                    var random = SeededGenerator(seed: own)
                    block(context, Hunt.deepest, &random)
                    running.leave()
                }
            } catch {
                running.leave()
                throw error
            }
        default: if depth < Hunt.deepest { wait(depth + 1, &random) }
        }
    }

    private func note(_ body: () throws -> Void) {
        do { try body() } catch let error as CoreError where error.code == 132000 {
            counts.withLock { $0.refusals += 1 }
        } catch let error as CoreError where error.status == .conflict || error.status == .objectGone {
            counts.withLock { $0.conflicts += 1 }
        } catch { counts.withLock { $0.unexpected.append("\(error)") } }
    }
}
