import CPlatform
import Corestone
import Foundation
import XCTest

@testable import CorestoneGraph
@testable import CorestoneModel
@testable import CorestoneValues

/// Imports that are rejected or cancelled: the context is then like one without the import.
final class RejectedImportTests: XCTestCase {
    /// The relationships of A have all cardinalities. Rows have columns with the same names.
    private static let model = """
        {
          "A": {"name": "string", "n": "int16?",
                "partner": "to-one B? inverse owner", "group": "to-one G? inverse members",
                "list": "to-one L? inverse items", "boss": "to-one A? inverse staff",
                "staff": "to-many ordered A inverse boss", "parts": "to-many P inverse part_of",
                "tags": "to-many T inverse tagged", "marks": "to-many ordered T inverse marked"},
          "B": {"name": "string", "owner": "to-one A? inverse partner"},
          "G": {"name": "string", "members": "to-many A inverse group"},
          "L": {"name": "string", "items": "to-many ordered A inverse list"},
          "P": {"name": "string", "part_of": "to-one A? inverse parts"},
          "T": {"name": "string", "tagged": "to-many A inverse tags", "marked": "to-many ordered A inverse marks"},
          "Row": {"position": "int32", "name": "string", "n": "int32?", "partner": "to-one B?", "group": "to-one G?",
                  "list": "to-one L?", "boss": "to-one A?", "staff": "to-many ordered A", "parts": "to-many P",
                  "tags": "to-many T", "marks": "to-many ordered T"}
        }
        """
    private static let columns = [
        "name", "n", "partner", "group", "list", "boss", "staff", "parts", "tags", "marks",
    ]

    private struct SplitMix: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }
    }

    private var folder = ""

    override func setUpWithError() throws {
        folder = NSTemporaryDirectory() + "corestone-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    override func tearDown() { try? FileManager.default.removeItem(atPath: folder) }

    /// A context with a store. Worlds with the same seed have the same objects and changes.
    private final class World {
        let coordinator: Coordinator
        let context: Context
        private let parent: Context?
        /// Every object that existed before the import, identified by its index.
        var all: [ManagedObject] = []
        var generator: SplitMix

        init(_ folder: String, seed: UInt64, isNested: Bool = false) throws {
            coordinator = try Coordinator(model: Model(text: RejectedImportTests.model))
            var options = StoreOptions()
            options.normalSync = true
            _ = try coordinator.addSQLiteStore(at: "\(folder)/\(UUID().uuidString).sqlite", options: options)
            parent = isNested ? Context(coordinator: coordinator) : nil
            context = parent.map { Context(parent: $0) } ?? Context(coordinator: coordinator)
            generator = SplitMix(state: seed)
            try context.setUndoManager(UndoManager())
        }

        func save() throws {
            try context.save()
            try parent?.save()
        }

        func random(_ count: Int) -> Int { Int.random(in: 0..<count, using: &generator) }

        func live(_ entity: String, isSaved: Bool = false) -> ManagedObject? {
            all.filter {
                !$0.isGone && !$0.isDeleted && $0.entity.name == entity && !(isSaved && $0.isInserted)
            }.randomElement(using: &generator)
        }

        func insert(_ entity: String) throws {
            let object = try context.insert(entity)
            try object.set("name", "\(entity)\(all.count)")
            all.append(object)
        }

        /// Sets a random property of an object to a random value.
        func change(_ object: ManagedObject, isSaved: Bool = false) throws {
            let properties = object.entity.properties.filter { !["name", "position"].contains($0.name) }
            guard let property = properties.randomElement(using: &generator) else { return }
            guard let relationship = property as? Relationship else { return try object.set("n", random(4)) }
            let name = relationship.destination.name
            if !relationship.isToMany {
                let target = random(4) == 0 ? nil : live(name, isSaved: isSaved)
                return try object.set(relationship.name, target)
            }
            var members: [ManagedObject] = []
            for _ in 0..<random(4) {
                if let member = live(name, isSaved: isSaved), !members.contains(where: { $0 === member }) {
                    members.append(member)
                }
            }
            switch isSaved ? 0 : random(3) {
            case 0: try object.setMembers(members, key: relationship.key)
            case 1: try object.addMembers(members, key: relationship.key)
            default: for member in members { _ = try object.removeMember(member, key: relationship.key) }
            }
        }

        func step() throws {
            let entity = ["A", "A", "A", "B", "G", "L", "P", "T"][random(8)]
            guard let object = live(entity), random(7) > 0 else { return try insert(entity) }
            if random(12) == 0 { return try context.delete(object) }
            try change(object)
        }

        /// Creates the stored rows of the import. The last one has a value out of range if `isRejected` is true.
        func makeRows(isRejected: Bool) throws {
            let names = all.filter { $0.entity.name == "A" }
            let count = 1 + random(8)
            for position in 0..<count {
                let row = try context.insert("Row", ["position": position, "name": "new\(position)"])
                if random(3) > 0, let known = names.randomElement(using: &generator) {
                    try row.set("name", known.get("name") ?? "")
                }
                for _ in 0..<8 { try change(row, isSaved: true) }
                if isRejected, position == count - 1 { try row.set("n", 100_000) }
            }
        }

        /// Imports the rows with some of the columns.
        func importRows(columns: [String], isUpsert: Bool, isCancelled: Bool) throws {
            var stream = platform_arrow_stream()
            let rows = try other().fetchArrow("Row", keyPaths: columns, sort: ["position"])
            rows.export(to: &stream)
            var options = ArrowImportOptions()
            options.validates = true
            options.progress = { _, isEnd in !(isEnd && isCancelled) }
            if isUpsert {
                options.keys = ["name"]
                try context.upsertArrow("A", from: &stream, options: options)
            } else {
                try context.insertArrow("A", from: &stream, options: options)
            }
        }

        private var others: [Context] = []
        func other() -> Context {
            others.append(Context(coordinator: coordinator))
            return others[others.count - 1]
        }

        /// The objects as text, with their states, values and the names of their targets.
        func picture() throws -> [String] {
            try all.map { object in
                if object.isGone { return "gone" }
                let state =
                    "inserted=\(object.isInserted) updated=\(object.isUpdated) deleted=\(object.isDeleted) "
                    + "changes=\(object.hasChanges)"
                return try "\(state) keys=\(object.changedKeys) \(RejectedImportTests.text(object))"
            } + ["context \(context.hasChanges) \(context.insertedObjects.count) \(context.updatedObjects.count)"]
        }

        func stored() throws -> [String] {
            try ["A", "B", "G", "L", "P", "T"].flatMap { entity in
                try other().fetch(entity, sort: ["name"]).map(RejectedImportTests.text)
            }
        }
    }

    private static func text(_ object: ManagedObject) throws -> String {
        try object.entity.properties.map { property in
            guard let relationship = property as? Relationship else {
                return "\(property.name)=\(try object.value(slot: Int(property.slot)))"
            }
            let names = try object.targets(of: relationship).map { "\(try $0.value(forKeyPath: "name"))" }
            return "\(property.name)=\(relationship.isOrdered ? names : names.sorted())"
        }.joined(separator: " ")
    }

    private func assertEqual(_ twin: [String], _ found: [String], _ what: String) {
        for (place, (expected, text)) in zip(twin, found).enumerated() where expected != text {
            return XCTFail("\(what), \(place):\n  expected \(expected)\n  found    \(text)")
        }
        XCTAssertEqual(twin.count, found.count, what)
    }

    private func world(seed: UInt64, isRejected: Bool, isProcessed: Bool) throws -> World {
        let world = try World(folder, seed: seed, isNested: seed % 5 == 4)
        for _ in 0..<40 { try world.step() }
        try world.save()
        world.all.removeAll(where: \.isGone)
        try world.makeRows(isRejected: isRejected)
        try world.save()
        if world.random(2) == 0 { try world.context.refreshAll() }
        for _ in 0..<world.random(3) {
            for _ in 0..<world.random(8) { try world.step() }
            try world.context.processPendingChanges()
        }
        if world.random(3) > 0 { for _ in 0..<world.random(8) { try world.step() } }
        if isProcessed { try world.context.processPendingChanges() }
        return world
    }

    private func run(seed: UInt64) throws {
        var generator = SplitMix(state: seed &* 7919)
        let isCancelled = Bool.random(using: &generator)
        let isUpsert = Int.random(in: 0..<4, using: &generator) > 0
        let isProcessed = Bool.random(using: &generator)
        let columns = RejectedImportTests.columns.filter { name in
            name == "name" || name == "n" || Int.random(in: 0..<3, using: &generator) > 0
        }
        let found = try world(seed: seed, isRejected: !isCancelled, isProcessed: isProcessed)
        let twin = try world(seed: seed, isRejected: !isCancelled, isProcessed: isProcessed)
        XCTAssertThrowsError(
            try found.importRows(columns: columns, isUpsert: isUpsert, isCancelled: isCancelled), "seed \(seed)")
        for world in [found, twin] { try world.context.processPendingChanges() }
        let (manager, twinManager) = (found.context.undoManager, twin.context.undoManager)
        assertEqual(try twin.picture(), try found.picture(), "seed \(seed)")
        XCTAssertEqual(manager?.undoStack.count, twinManager?.undoStack.count, "seed \(seed)")
        XCTAssertEqual(manager?.canUndo, twinManager?.canUndo, "seed \(seed)")
        if seed % 2 == 0 {
            while twinManager?.canUndo == true {
                for world in [found, twin] { try world.context.undo() }
                assertEqual(try twin.picture(), try found.picture(), "seed \(seed), undo")
            }
            XCTAssertEqual(manager?.canUndo, false)
        }
        for world in [found, twin] { try world.save() }
        assertEqual(try twin.stored(), try found.stored(), "seed \(seed), saved")
    }

    func testRejectedImportLeavesAContextLikeItsTwin() throws {
        let first = ProcessInfo.processInfo.environment["CORESTONE_SEED"].flatMap { UInt64($0) } ?? 1
        let count = ProcessInfo.processInfo.environment["CORESTONE_SEEDS"].flatMap { UInt64($0) } ?? 60
        for seed in first..<first + count { try run(seed: seed) }
    }

    /// A graph of all cardinalities with unsaved changes. Every relationship of the row takes a target from an object
    /// that the row does not name.
    func testRejectedAndCancelledImportsRestoreAllCardinalities() throws {
        for isCancelled in [false, true] {
            for isChanged in [false, true] {
                let world = try World(folder, seed: 1)
                for entity in ["A", "A", "A", "B", "G", "G", "L", "L", "P", "P", "T", "T"] { try world.insert(entity) }
                let (first, second, third) = (world.all[0], world.all[1], world.all[2])
                func set(_ name: String, _ objects: [ManagedObject], of object: ManagedObject) throws {
                    try object.setMembers(objects, key: object.entity.requireProperty(named: name).key)
                }
                try second.set("partner", world.all[3])
                try set("members", [first, second], of: world.all[4])
                try set("items", [third, first, second], of: world.all[6])
                try set("staff", [second, third], of: first)
                try set("parts", [world.all[8], world.all[9]], of: second)
                try set("tagged", [second, third], of: world.all[10])
                try set("marked", [third, second], of: world.all[11])
                try world.context.save()
                let row = try world.context.insert("Row", ["position": 0, "name": "A0", "n": 2])
                let last = try world.context.insert("Row", ["position": 1, "name": "z", "n": isCancelled ? 3 : 70_000])
                try row.set("partner", world.all[3])
                try row.set("group", world.all[5])
                try row.set("list", world.all[7])
                try row.set("boss", second)
                try set("staff", [third], of: row)
                try set("parts", [world.all[9]], of: row)
                try set("tags", [world.all[10]], of: row)
                try set("marks", [world.all[11]], of: row)
                try set("staff", [second, first], of: last)
                try world.context.save()
                if isChanged {
                    try third.set("n", 7)
                    try set("items", [second, third, first], of: world.all[6])
                    try set("parts", [world.all[8]], of: third)
                    try world.context.processPendingChanges()
                    try world.all[5].set("name", "changed")
                }
                let before = try world.picture()
                XCTAssertThrowsError(
                    try world.importRows(
                        columns: RejectedImportTests.columns, isUpsert: true, isCancelled: isCancelled))
                assertEqual(before, try world.picture(), "cancelled \(isCancelled), changed \(isChanged)")
                XCTAssertEqual(world.context.hasChanges, isChanged)
                let stored = try world.stored()
                try world.context.save()
                if !isChanged { assertEqual(stored, try world.stored(), "saved") }
            }
        }
    }

    /// The changes before an import and the import are undone in one step, as changes of one event.
    func testImportBelongsToTheUndoStepOfEarlierChanges() throws {
        let world = try World(folder, seed: 1)
        try world.insert("A")
        _ = try world.context.insert("Row", ["position": 0, "name": "A0", "n": 2])
        try world.context.save()
        world.context.undoManager?.removeAllActions()
        try world.all[0].set("n", 5)
        try world.importRows(columns: ["name", "n"], isUpsert: true, isCancelled: false)
        try world.context.processPendingChanges()
        XCTAssertEqual(world.context.undoManager?.undoStack.count, 1)
        XCTAssertEqual(try world.all[0].value(forKeyPath: "n"), .int(2))
        try world.context.undo()
        XCTAssertEqual(try world.all[0].value(forKeyPath: "n"), .null)
        XCTAssertFalse(world.context.hasChanges)
    }

    /// A callback that ends the event splits the import into several events.
    func testRejectedImportIsRestoredIfACallbackEndsTheEvent() throws {
        for isAccepted in [false, true] {
            let world = try World(folder, seed: 1)
            for entity in ["A", "A", "G", "G"] { try world.insert(entity) }
            try world.all[0].set("group", world.all[2])
            for (position, name) in ["A0", "A1", "new"].enumerated() {
                let row = try world.context.insert("Row", ["position": position, "name": name, "n": 9])
                try row.set("group", world.all[3])
            }
            try world.context.save()
            world.context.undoManager?.removeAllActions()
            let before = try world.picture()
            var stream = platform_arrow_stream()
            try world.other().fetchArrow("Row", keyPaths: ["name", "n", "group"], sort: ["position"])
                .export(to: &stream)
            var options = ArrowImportOptions()
            options.keys = ["name"]
            options.progress = { [context = world.context] _, _ in
                try? context.processPendingChanges()
                return isAccepted
            }
            if isAccepted {
                try world.context.upsertArrow("A", from: &stream, options: options)
                XCTAssertEqual(try world.context.count("A"), 3)
                XCTAssertEqual(world.context.undoManager?.canUndo, true)
                try world.context.undo()
            } else {
                XCTAssertThrowsError(try world.context.upsertArrow("A", from: &stream, options: options))
                XCTAssertEqual(world.context.undoManager?.canUndo, false)
            }
            assertEqual(before, try world.picture(), "accepted \(isAccepted)")
            XCTAssertEqual(try world.context.count("A"), 2)
        }
    }

    func testUpsertFindsObjectsThatAreRegisteredWithOlderValues() throws {
        for isChanged in [false, true] {
            let world = try World(folder, seed: 1)
            for entity in ["A", "G"] { try world.insert(entity) }
            try world.context.save()
            let writer = world.other()
            for name in ["A", "G"] { try writer.fetch(name)[0].set("name", "new\(name)") }
            let row = try writer.insert("Row", ["position": 0, "name": "newA", "n": 8])
            try row.set("group", try writer.fetch("G")[0])
            try writer.save()
            if isChanged { try world.all[0].set("n", 3) }
            var stream = platform_arrow_stream()
            try world.other().fetchArrow("Row", keyPaths: ["name", "n", "group.name"]).export(to: &stream)
            var options = ArrowImportOptions()
            options.keys = ["name"]
            let result = try world.context.upsertArrow("A", from: &stream, options: options)
            XCTAssertEqual(result, ArrowImportResult(inserted: 0, updated: 1))
            XCTAssertEqual(try world.all[0].value(forKeyPath: "n"), .int(8))
            XCTAssertEqual(try world.all[0].value(forKeyPath: "group"), .object(world.all[1]))
            // Only the object with changes of its own was changed by both contexts.
            if isChanged { XCTAssertThrowsError(try world.context.save()) } else { try world.context.save() }
            try world.context.rollback()
        }
    }

    func testRejectedImportRestoresValuesThatAreNotTracked() throws {
        let world = try World(folder, seed: 1)
        for entity in ["A", "G"] { try world.insert(entity) }
        try world.all[0].set("n", 4)
        for (position, number) in [5, 70_000].enumerated() {
            _ = try world.context.insert("Row", ["position": position, "name": "A0", "n": number])
        }
        try world.context.save()
        let before = try world.picture()
        XCTAssertThrowsError(
            try world.context.withoutTracking {
                try world.importRows(columns: ["name", "n"], isUpsert: true, isCancelled: false)
            })
        assertEqual(before, try world.picture(), "without tracking")
    }
}
