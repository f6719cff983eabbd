import Corestone
import CorestoneGraph
import XCTest

/// Children of one parent on many threads.
final class NestingThreadTests: GraphTestCase {
    private static let threads = 4, rounds = 60

    func testChildrenOnManyThreadsLoseNoChanges() throws {
        let root = Context(coordinator: coordinator, queue: .privateQueue)
        let middle = Context(parent: root, queue: .privateQueue)
        try root.performAndWait { context in
            for number in 0..<NestingThreadTests.threads { _ = try context.insert("Employee", ["name": "E\(number)"]) }
        }
        let group = DispatchGroup(), failures = Locked<[String]>([])
        for number in 0..<NestingThreadTests.threads {
            DispatchQueue.global().async(group: group) {
                // Half of the children have the root as their parent, the others the context above it.
                let child = Context(parent: number % 2 == 0 ? root : middle, queue: .privateQueue)
                child.automaticallyMergesChangesFromParent = true
                do { try NestingThreadTests.count(up: number, child, root, middle) } catch {
                    failures.withLock { $0.append("\(error)") }
                }
            }
        }
        XCTAssertEqual(group.wait(timeout: .now() + 120), .success, "deadlock: the threads did not finish")
        XCTAssertEqual(failures.withLock { $0 }, [])
        try middle.performAndWait { try $0.save() }
        try root.performAndWait { try $0.save() }
        let found = try other().fetch("Employee", sort: ["name"])
        let counts = try found.prefix(NestingThreadTests.threads).map { try $0.get("age", as: Int.self) ?? -1 }
        XCTAssertEqual(counts, Array(repeating: NestingThreadTests.rounds, count: NestingThreadTests.threads))
        XCTAssertEqual(found.count, NestingThreadTests.threads * (NestingThreadTests.rounds + 1))
    }

    private static func count(up number: Int, _ child: Context, _ root: Context, _ middle: Context) throws {
        for round in 1...rounds {
            try child.performAndWait { context in
                let own = try context.fetch("Employee", "name == %@", "E\(number)")[0]
                try own.set("age", round)
                let friend = try context.insert("Employee", ["name": "F\(number).\(round)"])
                try own.add(friend, to: "friends")
                try context.save()
            }
            if round % 7 == number { try middle.performAndWait { try $0.save() } }
            if round % 11 == number { try root.performAndWait { try $0.save() } }
        }
    }
}
