import Corestone
import XCTest

/// Changes of other writers to the rows of a custom store.
///
/// The tests cover the conflicts that the store reports in a save, and the rows that it returns after a save.
final class HostConflictTests: XCTestCase {
    /// The rows of a store, incremental or atomic.
    private final class Desk: @unchecked Sendable {
        struct Row: Equatable {
            var version: Int64
            var values: [String: PropertyValue]
        }
        var rows: [StoreReference: Row] = [:]
        var keepsVersions = true
        var (saves, loads, obtained) = (0, 0, 0)
        /// The number of next saves in which every row is in conflict.
        var refusals = 0
        var failure: (any Error)?
        var given: [StoreNode] = []
        /// The references of new rows; nil: made up.
        var references: [StoreReference]?
        /// Numbers new rows from the first unused number.
        var numbers = false
        var lastInserted: [StoreReference] = []
        /// The entity of all rows; nil: the requested one.
        var entity: Entity?

        func save(_ request: SaveChangesRequest) throws -> [StoreNode] {
            saves += 1
            lastInserted = request.inserted.map(\.row.reference)
            if let failure { throw failure }
            if refusals > 0 {
                refusals -= 1
                for saved in request.inserted + request.updated + request.deleted { try request.addConflict(saved.row) }
                return []
            }
            var isStale = false
            for saved in request.inserted where rows[saved.row.reference] != nil {
                try request.addConflict(saved.row)
                isStale = true
            }
            for saved in request.updated + request.deleted + request.locked
            where rows[saved.row.reference].map({ keepsVersions && $0.version != saved.oldVersion ?? saved.version })
                ?? true
            {
                try request.addConflict(saved.row)
                isStale = true
            }
            if isStale { return [] }
            for saved in request.inserted + request.updated {
                rows[saved.row.reference] = Row(version: saved.version, values: saved.values)
            }
            for saved in request.deleted { rows[saved.row.reference] = nil }
            return given
        }

        func obtain(_ count: Int) -> [StoreReference] {
            obtained += 1
            if numbers { return (0..<count).map { .integer(Int64(rows.count + $0 + 1)) } }
            return references ?? (0..<count).map { .text("\(obtained)/\($0)") }
        }

        func node(_ entity: Entity, _ reference: StoreReference) -> StoreNode? {
            rows[reference].map {
                StoreNode(self.entity ?? entity, reference, $0.values, version: keepsVersions ? $0.version : 0)
            }
        }
    }

    private final class Drawer: IncrementalStore, @unchecked Sendable {
        let (opening, desk): (StoreOpening, Desk)
        init(_ opening: StoreOpening) throws { fatalError("made by the test") }
        init(_ opening: StoreOpening, _ desk: Desk) { (self.opening, self.desk) = (opening, desk) }
        var metadata: [String: PropertyListValue] { opening.metadata.dictionary }
        func fetch(_ request: FetchRequest) throws -> FetchAnswer {
            FetchAnswer(desk.rows.keys.compactMap { desk.node(request.entity, $0) })
        }
        func nodes(for rows: [RowReference]) throws -> [StoreNode] {
            rows.compactMap { desk.node($0.entity, $0.reference) }
        }
        func save(_ request: SaveChangesRequest) throws -> [StoreNode] { try desk.save(request) }
        func references(for objects: [NewObject]) throws -> [StoreReference]? { desk.obtain(objects.count) }
    }

    private final class Pile: AtomicStore, @unchecked Sendable {
        let (opening, desk): (StoreOpening, Desk)
        init(_ opening: StoreOpening) throws { fatalError("made by the test") }
        init(_ opening: StoreOpening, _ desk: Desk) { (self.opening, self.desk) = (opening, desk) }
        var metadata: [String: PropertyListValue] { opening.metadata.dictionary }
        func load() throws -> [StoreNode] {
            desk.loads += 1
            let person = try opening.model.requireEntity(named: "Person")
            return desk.rows.keys.compactMap { desk.node(person, $0) }
        }
        func save(_ request: SaveChangesRequest) throws -> [StoreNode] { try desk.save(request) }
        func references(for objects: [NewObject]) throws -> [StoreReference]? { desk.obtain(objects.count) }
    }

    private struct Place {
        let desk: Desk
        let store: Store
        let context: Context
    }

    /// - Parameter subentity: the name of a subentity of Person.
    private func opened(
        atomic: Bool, subentity: String? = nil, _ change: (Desk) -> Void = { _ in }
    ) throws -> Place {
        let model = Model()
        let person = try model.addEntity(named: "Person")
        try person.addAttribute(named: "name", type: .string)
        try person.addAttribute(named: "age", type: .integer32)
        let desk = Desk()
        if let subentity {
            let entity = try model.addEntity(named: subentity)
            try entity.setParent(person)
            desk.entity = entity
        }
        change(desk)
        let name = "Desk \(UUIDValue.random())"
        let type =
            try atomic
            ? StoreTypes.register(name, Pile.self) { Pile($0, desk) }
            : StoreTypes.register(name, Drawer.self) { Drawer($0, desk) }
        defer { _ = try? StoreTypes.unregister(name) }
        let coordinator = try Coordinator(model: model)
        let store = try coordinator.addStore(type, at: "desk")
        return Place(desk: desk, store: store, context: Context(coordinator: coordinator))
    }

    private func failure(_ body: () throws -> Void, line: UInt = #line) -> CoreError {
        do { try body() } catch let error as CoreError { return error } catch { XCTFail("\(error)", line: line) }
        XCTFail("nothing failed", line: line)
        return CoreError(.internal, "")
    }

    private func saved(_ place: Place, _ name: String, age: Int) throws -> (ManagedObject, StoreReference) {
        let object = try place.context.insert("Person", ["name": name, "age": age])
        try place.context.save()
        return (object, try XCTUnwrap(object.objectID.storeReference))
    }

    private func text(_ row: Desk.Row?) -> String {
        guard let row else { return "-" }
        return
            "\(row.values["name"].map(\.excerptForTests) ?? "nil") \(row.values["age"].map(\.excerptForTests) ?? "nil")"
    }

    // MARK: Rows that were changed in the store

    func testMergePolicyResolvesConflictsOfChangedRows() throws {
        for atomic in [false, true] {
            for keepsVersions in [true, false] {
                for (policy, expected) in [
                    (MergePolicy.storeTrump, "theirs 7"), (.objectTrump, "mine 7"), (.overwrite, "mine 1"),
                    (.rollback, "theirs 7"),
                ] {
                    let place = try opened(atomic: atomic) { $0.keepsVersions = keepsVersions }
                    let (object, reference) = try saved(place, "old", age: 1)
                    place.desk.rows[reference] = Desk.Row(
                        version: 5, values: ["name": .string("theirs"), "age": .int(7)])
                    // A store without versions has to detect the conflict itself.
                    if !keepsVersions { place.desk.refusals = 1 }
                    try object.set("name", "mine")
                    place.desk.saves = 0
                    let error = failure { try place.context.save() }
                    XCTAssertEqual([error.status.rawValue, Int32(error.code)], [-101, 133020])
                    XCTAssertEqual([error.entity, error.key], ["Person", "name"])
                    XCTAssertEqual(error.objectURI, object.objectID.uri)
                    XCTAssertEqual(error.conflicts.count, 1)
                    XCTAssertTrue(error.message.contains("changed in the store"), error.message)
                    if !keepsVersions { place.desk.refusals = 1 }
                    place.context.mergePolicy = policy
                    try place.context.save()
                    let message = "\(atomic) \(keepsVersions) \(policy.type)"
                    XCTAssertEqual(text(place.desk.rows[reference]), expected, message)
                    XCTAssertFalse(place.context.hasChanges)
                    XCTAssertLessThanOrEqual(place.desk.saves, 3, message)
                    try place.context.refresh(object, mergeChanges: false)
                    XCTAssertTrue(expected.hasPrefix(try object.get("name", as: String.self) ?? "?"), message)
                }
            }
        }
    }

    func testMergePolicyResolvesConflictsOfDeletedRows() throws {
        for atomic in [false, true] {
            for (policy, isThere) in [
                (MergePolicy.storeTrump, false), (.objectTrump, true), (.overwrite, true), (.rollback, false),
            ] {
                let place = try opened(atomic: atomic)
                let (object, reference) = try saved(place, "old", age: 1)
                place.desk.rows[reference] = nil
                try object.set("name", "mine")
                let error = failure { try place.context.save() }
                XCTAssertEqual(error.code, 133020)
                XCTAssertTrue(error.message.contains("deleted in the store"), error.message)
                place.context.mergePolicy = policy
                try place.context.save()
                XCTAssertEqual(place.desk.rows[reference] != nil, isThere, "\(atomic) \(policy.type)")
                XCTAssertEqual(object.isGone, !isThere)
            }
        }
    }

    func testMergePolicyResolvesDeletionsOfChangedRows() throws {
        for atomic in [false, true] {
            for (policy, isThere) in [
                (MergePolicy.storeTrump, false), (.objectTrump, false), (.overwrite, false), (.rollback, true),
            ] {
                let place = try opened(atomic: atomic)
                let (object, reference) = try saved(place, "old", age: 1)
                place.desk.rows[reference] = Desk.Row(version: 5, values: ["name": .string("theirs"), "age": .int(7)])
                try place.context.delete(object)
                XCTAssertEqual(failure { try place.context.save() }.code, 133020)
                place.context.mergePolicy = policy
                try place.context.save()
                XCTAssertEqual(place.desk.rows[reference] != nil, isThere, "\(atomic) \(policy.type)")
            }
            // Both sides deleted it: this is not a conflict.
            let place = try opened(atomic: atomic)
            let (object, reference) = try saved(place, "old", age: 1)
            place.desk.rows[reference] = nil
            try place.context.delete(object)
            try place.context.save()
            XCTAssertTrue(object.isGone)
        }
    }

    func testMergePolicyResolvesNewRowsThatAlreadyExist() throws {
        for atomic in [false, true] {
            for (policy, expected) in [
                (MergePolicy.storeTrump, "theirs 7"), (.objectTrump, "mine 7"), (.overwrite, "mine nil"),
                (.rollback, "theirs 7"),
            ] {
                let place = try opened(atomic: atomic) { $0.references = [.text("ada")] }
                place.desk.rows[.text("ada")] = Desk.Row(
                    version: 5, values: ["name": .string("theirs"), "age": .int(7)])
                let object = try place.context.insert("Person", ["name": "mine"])
                let error = failure { try place.context.save() }
                XCTAssertEqual([error.code, error.conflicts.count], [133020, 1])
                XCTAssertEqual(error.entity, "Person")
                XCTAssertTrue(error.message.contains("/Person/pada is new here"), error.message)
                place.context.mergePolicy = policy
                try place.context.save()
                let message = "\(atomic) \(policy.type)"
                XCTAssertEqual(text(place.desk.rows[.text("ada")]), expected, message)
                XCTAssertEqual(object.isGone, policy.type == .rollback, message)
                if !object.isGone {
                    XCTAssertEqual(object.objectID.storeReference, .text("ada"))
                    XCTAssertEqual(
                        "\(try object.get("name", as: String.self) ?? "")",
                        policy.type == .storeTrump ? "theirs" : "mine")
                    try object.set("name", "later")
                    try place.context.save()
                    XCTAssertTrue(text(place.desk.rows[.text("ada")]).hasPrefix("later"), message)
                }
                XCTAssertFalse(place.context.hasChanges)
            }
        }
    }

    func testMergeFailsWhenARowOfAnotherEntityHasTheReference() throws {
        let place = try opened(atomic: false, subentity: "Manager") { $0.references = [.text("ada")] }
        place.desk.rows[.text("ada")] = Desk.Row(version: 5, values: ["name": .string("theirs")])
        place.context.mergePolicy = .objectTrump
        try place.context.insert("Person", ["name": "mine"])
        let error = failure { try place.context.save() }
        XCTAssertEqual([error.status.rawValue, Int32(error.code)], [-101, 133020])
        XCTAssertTrue(error.message.contains("the new Person has the reference of "), error.message)
        XCTAssertEqual(error.entity, "Person")
        XCTAssertEqual(error.value, .string("ada"))
        XCTAssertEqual(error.objectURI?.hasSuffix("/Manager/pada"), true)
    }

    func testRejectedReferenceOfANewRowIsRequestedAgain() throws {
        for atomic in [false, true] {
            let place = try opened(atomic: atomic)
            place.desk.refusals = 1
            let object = try place.context.insert("Person", ["name": "mine"])
            XCTAssertTrue(failure { try place.context.save() }.message.contains("rejects its reference"))
            place.desk.refusals = 1
            place.context.mergePolicy = .objectTrump
            try place.context.save()
            XCTAssertEqual(place.desk.obtained, 2)
            XCTAssertEqual(object.objectID.storeReference, .text("2/0"))
        }
    }

    func testSaveFailsWhenAStoreReportsConflictsRepeatedly() throws {
        for atomic in [false, true] {
            for isNew in [false, true] {
                let place = try opened(atomic: atomic)
                let (object, _) = try saved(place, "old", age: 1)
                if isNew { try place.context.insert("Person", ["name": "new"]) } else { try object.set("age", 2) }
                place.desk.refusals = .max
                place.context.mergePolicy = .objectTrump
                let error = failure { try place.context.save() }
                XCTAssertEqual([error.status.rawValue, Int32(error.code)], [-101, 133020])
                XCTAssertTrue(error.message.contains("17 times") && error.message.contains("/Person/p"), error.message)
                XCTAssertEqual(error.entity, "Person")
                XCTAssertEqual(error.children.count, 1)
                XCTAssertTrue(place.context.hasChanges)
            }
        }
    }

    /// Other contexts read the reloaded rows, and their saves are compared with them.
    func testAtomicStoreIsReloadedAfterAConflict() throws {
        let place = try opened(atomic: true)
        let (ada, adasReference) = try saved(place, "Ada", age: 1)
        let (_, beasReference) = try saved(place, "Bea", age: 1)
        let other = Context(coordinator: place.context.coordinator)
        let bea = try XCTUnwrap(try other.fetch("Person", "name == 'Bea'").first)
        XCTAssertEqual(try bea.get("age", as: Int.self), 1)
        let theirs: [String: PropertyValue] = ["name": .string("theirs"), "age": .int(9)]
        for reference in [adasReference, beasReference] {
            place.desk.rows[reference] = Desk.Row(version: 4, values: theirs)
        }
        place.desk.rows[.text("new")] = Desk.Row(version: 1, values: theirs)
        try ada.set("age", 2)
        XCTAssertEqual(failure { try place.context.save() }.code, 133020)
        XCTAssertEqual(place.desk.loads, 2)
        XCTAssertEqual(try Context(coordinator: place.context.coordinator).count("Person", "name == 'theirs'"), 3)
        try bea.set("age", 3)
        XCTAssertEqual(failure { try other.save() }.code, 133020)
        other.mergePolicy = .objectTrump
        try other.save()
        XCTAssertEqual(text(place.desk.rows[beasReference]), "theirs 3")
    }

    // MARK: After a save or a failed save

    func testInvalidReturnedRowsDoNotFailASave() throws {
        for atomic in [false, true] {
            let place = try opened(atomic: atomic)
            let lines = Locked<[String]>([])
            DebugLog.setSink { line in lines.withLock { $0.append(line) } }
            defer { DebugLog.setSink(nil) }
            let person = try place.context.coordinator.model.requireEntity(named: "Person")
            place.desk.references = [.text("a"), .text("b")]
            place.desk.given = [
                StoreNode(person, .text("a"), ["age": .string("no number")], version: 3),
                StoreNode(person, .text("b"), ["age": .int(8)], version: 4), StoreNode(person, .text("c")),
            ]
            let objects = try ["A", "B"].map { try place.context.insert("Person", ["name": $0, "age": 1]) }
            try place.context.save()
            XCTAssertEqual([place.desk.saves, place.desk.rows.count], [1, 2])
            XCTAssertFalse(place.context.hasChanges)
            XCTAssertEqual(try objects.map { try $0.get("age", as: Int.self) }, [1, 8])
            let told = lines.withLock { $0 }
            XCTAssertEqual(told.count, 2)
            XCTAssertTrue(told[0].contains("desk") && told[0].contains("age"), told[0])
        }
    }

    func testReferencesAreKeptWhenASaveFails() throws {
        struct Full: Error {}
        for atomic in [false, true] {
            let place = try opened(atomic: atomic)
            let object = try place.context.insert("Person", ["name": "A"])
            place.desk.failure = Full()
            XCTAssertEqual(failure { try place.context.save() }.status, .callback)
            XCTAssertTrue(object.objectID.isTemporary)
            XCTAssertEqual(place.desk.lastInserted, [.text("1/0")])
            // A reference is requested for the second object only.
            let other = try place.context.insert("Person", ["name": "B"])
            place.desk.failure = nil
            try place.context.save()
            XCTAssertEqual(object.objectID.storeReference, .text("1/0"))
            XCTAssertEqual(other.objectID.storeReference, .text("2/0"))
            XCTAssertEqual([place.desk.obtained, place.desk.rows.count], [2, 2])
        }
    }

    func testAllReferencesAreRequestedAgainWhenTheStoreRepeatsOne() throws {
        struct Full: Error {}
        let place = try opened(atomic: false) { $0.references = [.integer(1)] }
        let first = try place.context.insert("Person", ["name": "A"])
        place.desk.failure = Full()
        _ = failure { try place.context.save() }
        place.desk.failure = nil
        let second = try place.context.insert("Person", ["name": "B"])
        place.desk.numbers = true
        try place.context.save()
        XCTAssertEqual(Set([first, second].map { $0.objectID.storeReference }), [.integer(1), .integer(2)])
    }

    // MARK: Without a merge policy

    func testBatchRequestsReportConflicts() throws {
        for atomic in [false, true] {
            let place = try opened(atomic: atomic)
            let (object, reference) = try saved(place, "old", age: 1)
            let person = object.entity
            let requests: [(String, BatchRequest)] = [
                ("delete", BatchDeleteRequest(fetchRequest: FetchRequest(entity: person))),
                ("update", BatchUpdateRequest(entity: person, propertiesToUpdate: ["age": .constant(.int(3))])),
                ("insert", BatchInsertRequest(entity: person, rows: [["name": .string("new")]])),
            ]
            for (work, request) in requests {
                place.desk.refusals = 1
                let error = failure { _ = try place.context.execute(request) as BatchResult }
                XCTAssertEqual([error.status.rawValue, Int32(error.code)], [-101, 133020])
                XCTAssertTrue(error.message.contains("could not \(work) rows of Person"), error.message)
                XCTAssertEqual(error.children.map(\.entity), ["Person"])
                if work != "insert" { XCTAssertEqual(error.children[0].objectURI, object.objectID.uri) }
                XCTAssertEqual(text(place.desk.rows[reference]), "old 1")
            }
        }
    }

    func testMigrationReportsConflicts() throws {
        for atomic in [false, true] {
            let place = try opened(atomic: atomic)
            let coordinator = try Coordinator(model: place.context.coordinator.model)
            let memory = try coordinator.addStore(.inMemory, at: "memory")
            let context = Context(coordinator: coordinator)
            try context.insert("Person", ["name": "A"])
            try context.save()
            let name = "Desk \(UUIDValue.random())"
            let type =
                try atomic
                ? StoreTypes.register(name, Pile.self) { Pile($0, place.desk) }
                : StoreTypes.register(name, Drawer.self) { Drawer($0, place.desk) }
            defer { _ = try? StoreTypes.unregister(name) }
            place.desk.refusals = 1
            let error = failure { _ = try coordinator.migrateStore(memory, to: type, at: "desk") }
            XCTAssertEqual([error.status.rawValue, Int32(error.code)], [-101, 133020])
            XCTAssertTrue(error.message.contains("could not import memory"), error.message)
            XCTAssertEqual(error.children.map(\.entity), ["Person"])
            XCTAssertEqual(coordinator.stores.count, 1)
        }
    }
}

extension PropertyValue {
    fileprivate var excerptForTests: String {
        switch self {
        case .null: "nil"
        case .int(let number): "\(number)"
        case .text(let text): text.string
        default: "?"
        }
    }
}
