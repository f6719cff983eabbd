import Corestone
import GraphSteps
import XCTest

/// One run of `ResultsPropertyTests`: a controller, two live queries, and contexts that change their results.
final class ResultsRun {
    let seed: UInt64
    var dice: Dice
    let context: Context, other: Context
    /// A context of the second coordinator, or nil without a file.
    let far: Context?
    let store: ResultsRunStore
    private let request: FetchRequest
    private let controller: FetchedResultsController
    private let list = ListModel()
    private var live: [ObjectID] = []
    /// The same IDs, updated by `idChanges`.
    private var stepped: [ObjectID] = []
    private var liveFailure: String?
    private var token: Observation?
    private let waiting = DifferenceQueue()
    private var read: [ObjectID] = []
    private var queueToken: Observation?
    private let sectionName: ((ManagedObject) throws -> String)?
    /// `CORESTONE_SEED` is set.
    var isTraced = false
    private(set) var edits = 0
    private(set) var failure: String?

    init(seed: UInt64) throws {
        self.seed = seed
        dice = Dice(seed: seed)
        store = try ResultsRunStore(isFile: seed % 3 == 2, keepsHistory: seed % 2 == 0)
        context = Context(coordinator: store.coordinator)
        other = Context(coordinator: store.coordinator)
        far = store.there.map { Context(coordinator: $0) }
        request = FetchRequest(entity: try store.coordinator.model.requireEntity(named: "Item"))
        context.mergePolicy = .standard(.objectTrump)
        // Rows that batch requests delete stay deleted.
        other.mergePolicy = .standard(.storeTrump)
        try context.setUndoManager(UndoManager())
        context.automaticallyMergesChangesFromParent = true
        context.automaticallyMergesRemoteChanges = far != nil

        var name: ((ManagedObject) throws -> String)?
        var path: String?
        switch dice.below(7) {
        case 0:
            (path, request.sortDescriptors) = ("team", [SortDescriptor("team"), SortDescriptor("name")])
            name = { try $0.get("team") ?? "" }
        case 1:
            (path, request.sortDescriptors) = ("group.name", [SortDescriptor("-group.name"), SortDescriptor("rank")])
            name = nil
        case 2:
            request.sortDescriptors = [SortDescriptor("rank")]
            name = { "\((try $0.get("rank", as: Int.self) ?? -10) / 3)" }
        case 3: request.sortDescriptors = [SortDescriptor("name", ascending: true, caseInsensitive: true)]
        case 4: request.sortDescriptors = []
        case 5: request.sortDescriptors = [SortDescriptor("-rank"), SortDescriptor("team")]
        default:
            (path, request.sortDescriptors) = ("flag", [SortDescriptor("flag"), SortDescriptor("-team")])
            name = { try $0.get("flag", as: Bool.self) == true ? "1" : "0" }
        }
        let predicates = [
            "flag == YES", "rank > 3 OR team == 'b'", "group.name != 'g1'", "ANY group.items.rank > 9",
            "group.items.@count > 2", "ANY tags.items.rank < 2", "tags.@count > 0",
        ]
        if dice.chance(70) { request.predicate = try Predicate.parse(dice.pick(predicates)) }
        // Without an order, a limit would select arbitrary rows.
        if dice.chance(25), !request.sortDescriptors.isEmpty { request.limit = 1 + dice.below(8) }
        if request.limit > 0, dice.chance(40) { request.offset = dice.below(4) }
        if dice.chance(25) { request.batchSize = 3 }
        if dice.chance(15) { request.includesSubentities = false }
        if path == nil, let name {
            controller = FetchedResultsController(
                fetchRequest: request, managedObjectContext: context, sectionName: { try name($0) })
        } else {
            controller = FetchedResultsController(
                fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: path)
        }
        sectionName = name
        if request.sortDescriptors.isEmpty { request.sortDescriptors = [] }
        controller.dependencyKeyPaths = dice.pick([
            [], ["group.name"], ["group.items"], ["tags.name", "group.items.team"],
        ])
    }

    func go(_ count: Int) throws {
        for name in ["g0", "g1", "g2"] { _ = try context.insert("Group", ["name": name]) }
        for name in ["t0", "t1", "t2"] { _ = try context.insert("Tag", ["name": name]) }
        for _ in 0..<dice.below(20) { try insert(context) }
        try context.save()
        controller.delegate = list
        try controller.performFetch()
        try list.load(controller)
        token = try context.observe(request) { [unowned self] _, difference, objects in
            replay(difference, &live)
            if difference.isReset { stepped = [] }
            guard let found = stepped.applying(difference.collectionDifference) else {
                return liveFailure = "the ID changes cannot be applied"
            }
            stepped = found
            if objects.count != difference.changes.count { liveFailure = "objects are missing" }
        }
        queueToken = try context.observe(request) { [waiting] _, difference, _ in waiting.append(difference) }
        while edits < count, failure == nil {
            for _ in 0...dice.below(4) { try edit(dice.chance(75) ? context : other) }
            try step()
            try check()
        }
    }

    func describe() {
        print(
            request.predicate?.description ?? "-",
            request.sortDescriptors.map { ($0.ascending ? "" : "-") + $0.keyPath },
            request.limit, request.offset, request.batchSize, controller.sectionNameKeyPath ?? "-",
            controller.dependencyKeyPaths)
    }

    private func step() throws {
        let choice = dice.below(30)
        if isTraced { print("step", choice) }
        switch choice {
        case 0...2: try context.save()
        case 3...5: try other.save()
        case 6: try context.undo()
        case 7: try context.redo()
        case 8: try context.rollback()
        case 9: other.automaticallyMergesChangesFromParent.toggle()
        case 10:
            // The row of a changed object may have been deleted.
            if let object = try pick(context) { try? context.refresh(object, mergeChanges: dice.chance(50)) }
        case 11: try context.refreshAll()
        case 12: if dice.chance(30) { try context.reset() }
        case 13: try other.rollback()
        case 14: try mergeAsBatch()
        case 15:
            // The save of a child changes its parent.
            let child = Context(parent: context)
            for _ in 0..<2 { try edit(child) }
            try child.save()
        case 16: try context.obtainPermanentIDs(for: context.insertedObjects)
        case 17...23: try runBatch()
        default: break
        }
    }

    /// Merges changes of another context by their IDs only, like those of a batch request.
    private func mergeAsBatch() throws {
        try other.save()
        context.automaticallyMergesChangesFromParent = false
        defer { context.automaticallyMergesChangesFromParent = true }
        for _ in 0..<3 { try edit(other) }
        var ids = ChangedIDs()
        let observation = other.observe(.didSaveObjectIDs) { ids = $1.ids }
        try other.save()
        observation.cancel()
        try Context.mergeChanges(
            fromRemoteContextSave: [
                "inserted": ids.inserted.map { .id($0) }, "updated": ids.updated.map { .id($0) },
                "deleted": ids.deleted.map { .id($0) },
            ], into: [context])
    }

    // MARK: Edits

    private func insert(_ context: Context) throws {
        let object = try context.insert(dice.chance(20) ? "Special" : "Item")
        for _ in 0..<3 { try change(object, context) }
    }

    func edit(_ context: Context) throws {
        edits += 1
        let all = try context.fetch("Item")
        if all.isEmpty || dice.chance(all.count > 20 ? 5 : 25) { return try insert(context) }
        let object = dice.pick(all)
        if dice.chance(15) {
            trace("delete", object, context)
            return try context.delete(object)
        }
        if dice.chance(6), let group = try context.fetch("Group").first {
            try group.set("name", "g\(dice.below(4))")
            return trace("rename", group, context)
        }
        try change(object, context)
        if dice.chance(5) { try context.processPendingChanges() }
    }

    private func change(_ object: ManagedObject, _ context: Context) throws {
        switch dice.below(6) {
        case 0: try object.set("name", dice.pick(["x", "y", "Z", "z", "w", "ab"]))
        case 1: try object.set("team", dice.pick(["a", "b", "c", "d", "e"]))
        case 2: try object.set("rank", dice.below(12))
        case 3: try object.set("flag", dice.chance(50))
        case 4: try object.setMembers(context.fetch("Tag").filter { _ in dice.chance(40) }, of: "tags")
        default:
            let groups = try context.fetch("Group")
            if !groups.isEmpty { try object.set("group", dice.chance(20) ? nil : dice.pick(groups)) }
        }
        trace("change", object, context)
    }

    func trace(_ what: String, _ object: ManagedObject, _ context: Context) {
        guard isTraced else { return }
        let who = context === self.context ? "" : context === other ? "other " : "child "
        print(
            who + what, object.objectID,
            object.entity.attributes.map { (try? object.value(forKey: $0.name)).map { "\($0)" } ?? "?" },
            (try? object.value(forKeyPath: "group.objectID")).map { "\($0)" } ?? "")
    }

    private func pick(_ context: Context) throws -> ManagedObject? {
        let all = try context.fetch("Item")
        return all.isEmpty ? nil : dice.pick(all)
    }

    // MARK: Checks

    private func check() throws {
        try context.processPendingChanges()
        if isTraced { print(edits, list.take().joined(separator: "; ")) }
        if list.resets > 0, controller.fetchedObjects == nil {
            try controller.performFetch()
            try list.load(controller)
        }
        let found = try context.fetch(request).map(\.objectID)
        // A fetch without an order has the order of the store.
        let expected = request.sortDescriptors.isEmpty ? [] : found
        if isTraced { print("list", list.rows, "live", live, "own", controller.snapshot?.objectIDs as Any) }
        let shown = list.rows.map { $0.map(\.objectID) }
        let own = try XCTUnwrap(controller.sections).map { $0.objects.map(\.objectID) }
        if shown != own { failure = "the list shows\n\(shown), the controller has\n\(own)\n\(list.take())" }
        if list.names != controller.sections?.map(\.name) { failure = "sections \(list.names)" }
        if !expected.isEmpty && own.flatMap({ $0 }) != expected {
            failure = "the controller has\n\(own), a fetch returns\n\(expected)"
        }
        if Set(own.joined()) != Set(found) { failure = "the controller has\n\(own), a fetch returns\n\(found)" }
        if let sectionName {
            var names: [String] = []
            for row in own { names += try row.map { try sectionName(context.object(with: $0)) } }
            let known = zip(list.names, list.rows).flatMap { name, rows in rows.map { _ in name } }
            if names != known { failure = "sections are \(known), not \(names)" }
        }
        for (place, id) in own.joined().enumerated() {
            let path = try controller.indexPath(for: context.object(with: id))
            let object = try path.map { try controller.object(at: $0) }
            if object?.objectID != id { failure = "\(place) is not at \(String(describing: path))" }
        }
        if live != own.flatMap({ $0 }) { failure = "live\n\(live)\nis not\n\(own)" }
        if stepped != live { failure = "the ID changes yield\n\(stepped)\nnot\n\(live)" }
        if let liveFailure { failure = liveFailure }
        if dice.chance(20) { try readWaiting(own.flatMap { $0 }) }
        _ = list.take()
    }

    private func readWaiting(_ own: [ObjectID]) throws {
        while let difference = waiting.take() { replay(difference, &read) }
        if read != own { failure = "the reader has\n\(read)\nnot\n\(own)" }
    }

    private func replay(_ difference: ResultsDifference, _ ids: inout [ObjectID]) {
        if difference.isReset { ids = [] }
        for (former, id) in difference.renamed { if let place = ids.firstIndex(of: former) { ids[place] = id } }
        for change in difference.changes.filter({ $0.kind == .delete || $0.kind == .move })
            .sorted(by: { $0.indexPath! > $1.indexPath! })
        {
            guard let place = change.indexPath?.row, place < ids.count else {
                return liveFailure = "a removed index is beyond the end"
            }
            ids.remove(at: place)
        }
        for change in difference.changes.filter({ $0.kind == .insert || $0.kind == .move })
            .sorted(by: { $0.newIndexPath! < $1.newIndexPath! })
        {
            guard let place = change.newIndexPath?.row, place <= ids.count else {
                return liveFailure = "an inserted index is beyond the end"
            }
            ids.insert(change.objectID, at: place)
        }
    }
}
