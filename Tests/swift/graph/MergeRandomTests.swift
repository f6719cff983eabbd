import Corestone
import XCTest

/// Two contexts change the same few objects at random and save under random policies.
///
/// After each merge, the store is consistent, and both contexts see it after a refresh.
final class MergeRandomTests: GraphTestCase {
    private var random = SplitMix(seed: 0)

    func testRandomMergesKeepTheStoreConsistent() throws {
        for seed in 0..<100 {
            try setUpWithError()
            random = SplitMix(seed: UInt64(seed))
            let contexts = [other(), other()]
            for name in ["A", "B", "C", "D"] { _ = try contexts[0].insert("Employee", ["name": name]) }
            for name in ["X", "Y"] { _ = try contexts[0].insert("Department", ["name": name]) }
            for title in ["P", "Q"] { _ = try contexts[0].insert("Project", ["title": title]) }
            try contexts[0].save()
            for _ in 0..<30 {
                let context = contexts[random.below(2)]
                for _ in 0...random.below(3) { try change(context) }
                context.mergePolicy = MergePolicy.standard(
                    MergePolicyType(rawValue: Int32(1 + random.below(4))) ?? .error)
                try context.save()
                XCTAssertFalse(context.hasChanges, "seed \(seed)")
                let state = try checked(other(), "seed \(seed)")
                try context.refreshAll()
                XCTAssertEqual(try checked(context, "seed \(seed)"), state, "seed \(seed)")
            }
        }
    }

    private func change(_ context: Context) throws {
        let employees = try context.fetch("Employee", sort: ["name"])
        guard let one = pick(employees), let two = pick(employees) else {
            _ = try context.insert("Employee", ["name": "N\(random.below(1000))"])
            return
        }
        switch random.below(9) {
        case 0: try one.set("age", random.below(100))
        case 1: try one.set("rating", Double(random.below(100)))
        case 2: try one.set("department", pick(try context.fetch("Department", sort: ["name"])))
        case 3: try one.set("department", nil as ManagedObject?)
        case 4: if one !== two { try one.set("spouse", two) }
        case 5: if one !== two { try one.add(two, to: "friends") }
        case 6:
            if let project = pick(try context.fetch("Project", sort: ["title"])) {
                try one.add(project, to: "projects")
            }
        case 7: if let project = pick(try one.members("projects")) { try one.remove(project, from: "projects") }
        default:
            if random.below(3) == 0 {
                try context.delete(one)
            } else {
                _ = try context.insert("Employee", ["name": "N\(random.below(1000))"])
            }
        }
    }

    private func pick(_ objects: [ManagedObject]) -> ManagedObject? {
        objects.isEmpty ? nil : objects[random.below(objects.count)]
    }

    /// The objects of a context as text. Checks that both sides of each relationship are equal.
    private func checked(_ context: Context, _ message: String) throws -> [String] {
        try context.fetch("Employee").map { one in
            let friends = try one.members("friends")
            for friend in friends {
                XCTAssert(try friend.members("friends").contains { $0 === one }, "friends, \(message)")
            }
            let projects = try one.members("projects")
            for project in projects {
                XCTAssert(try project.members("members").contains { $0 === one }, "members, \(message)")
            }
            let spouse: ManagedObject? = try one.get("spouse")
            if let spouse { XCTAssert(try spouse.get("spouse", as: ManagedObject.self) === one, "spouse, \(message)") }
            let department: ManagedObject? = try one.get("department")
            if let department {
                XCTAssert(try department.members("employees").contains { $0 === one }, "employees, \(message)")
            }
            return try "\(one.objectID) \(one.get("name") ?? "") \(one.get("age") ?? 0) \(one.get("rating") ?? 0.0) "
                + "\(department?.objectID.uri ?? "-") \(spouse?.objectID.uri ?? "-") "
                + "\(friends.map(\.objectID.uri).sorted()) \(projects.map(\.objectID.uri).sorted())"
        }.sorted()
    }
}

private struct SplitMix {
    private var state: UInt64
    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 }

    mutating func below(_ bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((z ^ (z >> 31)) % UInt64(bound))
    }
}
