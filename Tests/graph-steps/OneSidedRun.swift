import Corestone

/// Random steps over relationships with and without inverse. Delete rules do not maintain those without inverse.
///
/// After every step, in every context: reading relationships and changed values, predicates and sorts never fail and
/// never return an object that does not exist. After every save: no required reference is null in the store, and a
/// check of the file has no findings.
final class OneSidedRun: RandomRun {
    static let types: [StoreType] = [.sqlite, .xml, .binary, .inMemory]
    private static let mostObjects = 20

    private let type: StoreType
    private let path: String
    private let coordinator: Coordinator
    private let main: Context
    private var child: Context
    private let other: Context
    private let undoManager = UndoManager()
    /// Whether dangling references may remain: contexts then save changes that other contexts do not see.
    private let mayDangle: Bool
    private var lastSerial = 0
    /// Whether the current step leaves changes pending.
    private var unprocessed = false
    private(set) var log: [String] = []
    private let keepsLog: Bool

    /// - Parameter number: Selects the type of the store, and whether one context or three are used.
    init(number: Int, path: String, keepsLog: Bool) throws {
        (self.path, self.keepsLog) = (path, keepsLog)
        type = OneSidedRun.types[number % 4]
        mayDangle = number / 4 % 2 == 1
        coordinator = try Coordinator(model: try OneSidedRun.model())
        var options = StoreOptions()
        options.normalSync = true
        _ = try coordinator.addStore(type, at: path, options: options)
        main = Context(coordinator: coordinator)
        try main.setUndoManager(undoManager)
        child = Context(parent: main)
        other = Context(coordinator: coordinator)
        if mayDangle {
            main.automaticallyMergesChangesFromParent = true
            child.automaticallyMergesChangesFromParent = number / 8 % 2 == 1
        }
    }

    private static func model() throws -> Model {
        let model = Model()
        let node = try model.addEntity(named: "Node")
        let base = try model.addEntity(named: "Base")
        for entity in [node, base] { try entity.addAttribute(named: "serial", type: .integer64) }
        _ = try node.addRelationship(named: "peer", destination: node)
        _ = try node.addRelationship(named: "anchor", destination: base, isOptional: false)
        _ = try node.addRelationship(named: "bag", destination: base, isToMany: true)
        _ = try node.addRelationship(named: "row", destination: node, isToMany: true, isOrdered: true)
        let owner = try node.addRelationship(named: "owner", destination: base)
        let owned = try base.addRelationship(named: "owned", destination: node, isToMany: true)
        try owner.setInverse(owned)
        let mates = try base.addRelationship(named: "mates", destination: base, isToMany: true)
        try mates.setInverse(mates)
        let parts = try base.addRelationship(named: "parts", destination: base, isToMany: true, isOrdered: true)
        let whole = try base.addRelationship(named: "whole", destination: base)
        try parts.setInverse(whole)
        try parts.setDeleteRule(.cascade)
        let home = try node.addRelationship(named: "home", destination: base)
        let guests = try base.addRelationship(named: "guests", destination: node, isToMany: true)
        try home.setInverse(guests)
        try home.setDeleteRule(.noAction)
        let leaf = try model.addEntity(named: "Leaf")
        try leaf.setParent(node)
        _ = try leaf.addRelationship(named: "stem", destination: node)
        return model
    }

    private func note(_ text: @autoclosure () -> String) { if keepsLog { log.append(text()) } }

    private func name(_ object: ManagedObject?) -> String {
        guard let object, let serial = try? object.get("serial", as: Int.self) else { return "nothing" }
        return "\(object.entity.name) \(serial)"
    }

    // MARK: Steps

    func step(_ number: UInt64) throws {
        var dice = Dice(seed: number)
        let context = mayDangle ? dice.pick([main, main, child, other]) : main
        if context !== main { note(context === child ? "in the child:" : "in the other context:") }
        do { try step(&dice, in: context) } catch let error as CoreError {
            // The row was deleted by another context, or a delete rule or hook rejected the change.
            guard mayDangle, error.status == .objectGone || error.status == .conflict else { throw error }
            note("failed: \(error.message)")
            try context.rollback()
        }
        // Unread members and stale rows behave differently.
        let isRead = dice.chance(75)
        unprocessed = dice.chance(40)
        note("  \(isRead ? "read" : "not read"), \(unprocessed ? "changes stay pending" : "processed")")
        for context in mayDangle ? [main, child, other] : [main] {
            if !unprocessed { try context.processPendingChanges() }
            if isRead { try check(context) }
        }
    }

    private func step(_ dice: inout Dice, in context: Context) throws {
        switch dice.below(100) {
        case 0..<20: try insert(&dice, in: context)
        case 20..<38: try setTarget(&dice, in: context)
        case 38..<54: try changeMembers(&dice, in: context)
        case 54..<70: try delete(&dice, in: context)
        case 70..<80: try save(context)
        case 80..<86: try undo(&dice)
        case 86..<90: try undoInsertion(&dice)
        case 90..<93:
            note("roll back")
            try context.rollback()
        case 93..<95:
            note("refresh all")
            try context.refreshAll()
        case 95..<97: try refresh(&dice, in: context)
        case 97:
            note("reset")
            try context.reset()
        default: try startChild()
        }
    }

    private func live(_ entity: String, in context: Context) throws -> [ManagedObject] {
        try context.fetch(entity).filter { !$0.isDeleted }
            .sorted { try $0.get("serial", as: Int.self) ?? 0 < $1.get("serial", as: Int.self) ?? 0 }
    }

    private func pick(_ dice: inout Dice, _ entity: String, in context: Context) throws -> ManagedObject? {
        let found = try live(entity, in: context)
        return found.isEmpty ? nil : dice.pick(found)
    }

    private func insert(_ dice: inout Dice, in context: Context) throws {
        lastSerial += 1
        let entity = dice.pick(["Node", "Leaf", "Base", "Base"])
        guard try live(entity, in: context).count < OneSidedRun.mostObjects else {
            return try delete(&dice, in: context)
        }
        note("insert \(entity) \(lastSerial)")
        let made = try context.insert(entity)
        try made.set("serial", lastSerial)
        if entity != "Base" { try made.set("anchor", try anchor(&dice, in: context)) }
    }

    private func anchor(_ dice: inout Dice, besides former: ManagedObject? = nil, in context: Context) throws
        -> ManagedObject
    {
        let bases = try live("Base", in: context).filter { $0 !== former }
        if !bases.isEmpty && dice.chance(80) { return dice.pick(bases) }
        lastSerial += 1
        note("insert Base \(lastSerial)")
        let made = try context.insert("Base")
        try made.set("serial", lastSerial)
        return made
    }

    private func setTarget(_ dice: inout Dice, in context: Context) throws {
        let key = dice.pick(["peer", "peer", "anchor", "owner", "whole", "home", "stem"])
        let entity = key == "whole" ? "Base" : key == "stem" ? "Leaf" : "Node"
        guard let object = try pick(&dice, entity, in: context) else { return }
        let mayBeNil = key != "anchor" && dice.chance(15)
        let target = mayBeNil ? nil : try pick(&dice, key == "peer" || key == "stem" ? "Node" : "Base", in: context)
        if key == "anchor" && target == nil || key == "whole" && target === object { return }
        note("set \(key) of \(name(object)) to \(name(target))")
        try object.set(key, target)
    }

    private func changeMembers(_ dice: inout Dice, in context: Context) throws {
        let key = dice.pick(["bag", "bag", "row", "row", "owned", "mates", "parts", "guests"])
        let isOfNode = key == "bag" || key == "row"
        guard let object = try pick(&dice, isOfNode ? "Node" : "Base", in: context) else { return }
        let members = try object.members(key)
        if !members.isEmpty && dice.chance(30) {
            let member = dice.pick(members)
            note("take \(name(member)) out of \(key) of \(name(object))")
            return try object.remove(member, from: key)
        }
        guard let member = try pick(&dice, ["row", "owned", "guests"].contains(key) ? "Node" : "Base", in: context),
            member !== object, !members.contains(where: { $0 === member })
        else { return }
        note("add \(name(member)) to \(key) of \(name(object))")
        try object.add(member, to: key)
    }

    private func delete(_ dice: inout Dice, in context: Context) throws {
        guard let object = try pick(&dice, dice.pick(["Node", "Base"]), in: context) else { return }
        if !mayDangle { try replaceReferences(to: object, &dice, in: context) }
        note("delete \(name(object))")
        try context.delete(object)
    }

    /// Replaces the references to an object without inverse, as a careful application does before the deletion.
    private func replaceReferences(to object: ManagedObject, _ dice: inout Dice, in context: Context) throws {
        var going = [object]
        var next = 0
        while next < going.count {
            if going[next].entity.name == "Base" {
                for part in try going[next].members("parts") where !going.contains(where: { $0 === part }) {
                    going.append(part)
                }
            }
            next += 1
        }
        for node in try live("Node", in: context) {
            for key in ["peer", "anchor"] + (node.entity.name == "Leaf" ? ["stem"] : []) {
                guard let target = try node.get(key, as: ManagedObject.self), !target.hasTemporaryID,
                    going.contains(where: { $0 === target })
                else { continue }
                note("replace \(key) of \(name(node))")
                if key != "anchor" {
                    try node.set(key, nil as ManagedObject?)
                } else {
                    lastSerial += 1
                    let made = try context.insert("Base")
                    try made.set("serial", lastSerial)
                    try node.set(key, made)
                }
            }
        }
    }

    private func undo(_ dice: inout Dice) throws {
        try main.processPendingChanges()
        for _ in 0..<(1 + dice.below(3)) {
            if dice.chance(60) {
                guard undoManager.canUndo else { return }
                note("undo")
                try main.undo()
            } else {
                guard undoManager.canRedo else { return }
                note("redo")
                try main.redo()
            }
        }
    }

    /// Undoes an insertion while unrecorded changes refer to the inserted objects.
    private func undoInsertion(_ dice: inout Dice) throws {
        try main.processPendingChanges()
        guard let node = try pick(&dice, "Node", in: main), let keeper = try pick(&dice, "Node", in: main) else {
            return
        }
        note("insert two, add them to \(name(keeper)) unrecorded, undo")
        let peer = try main.insert("Node")
        let base = try main.insert("Base")
        lastSerial += 2
        try peer.set("serial", lastSerial - 1)
        try peer.set("anchor", base)
        try base.set("serial", lastSerial)
        try main.processPendingChanges()
        undoManager.disableUndoRegistration()
        try node.set("peer", peer)
        try keeper.add(peer, to: "row")
        try keeper.add(base, to: "bag")
        try main.processPendingChanges()
        try undoManager.enableUndoRegistration()
        if undoManager.canUndo { try main.undo() }
    }

    private func refresh(_ dice: inout Dice, in context: Context) throws {
        guard let object = try pick(&dice, "Node", in: context), !object.hasTemporaryID else { return }
        // A refresh without merging would restore the replaced references.
        let merges = !mayDangle || dice.chance(50)
        note("refresh \(name(object)), merging \(merges)")
        try context.refresh(object, mergeChanges: merges)
    }

    private func startChild() throws {
        note("another child")
        let merges = child.automaticallyMergesChangesFromParent
        child = Context(parent: main)
        child.automaticallyMergesChangesFromParent = merges
    }

    func finish() throws { try save(main) }

    // MARK: Saving

    private func save(_ context: Context) throws {
        note("save")
        context.mergePolicy = .objectTrump
        do { try context.save() } catch let error as CoreError {
            note("failed: \(error.message)")
            // A required target was deleted, or the context is stale.
            guard error.status == .validation || mayDangle else { throw error }
            return try context.rollback()
        }
        if context !== child { try checkStore() }
    }

    private func checkStore() throws {
        let reader = try type == .inMemory ? coordinator : Coordinator(model: try OneSidedRun.model())
        if type != .inMemory { _ = try reader.addStore(type, at: path) }
        let fresh = Context(coordinator: reader)
        // An XML file cannot represent a dangling reference.
        let losesDangling = mayDangle && type == .xml
        for node in try fresh.fetch("Node") where !losesDangling {
            if case .null = try node.committedValues(forKeys: ["anchor"])["anchor"] ?? .null {
                throw Mismatch("the store has no anchor for \(name(node))")
            }
        }
        try check(fresh)
        guard type == .sqlite else { return }
        let report = try StoreReport(ofStoreAt: path)
        let problems = report.problems.filter {
            !(mayDangle && $0.kind == .reference && ["peer", "anchor", "stem"].contains($0.key ?? ""))
        }
        if let first = problems.first { throw Mismatch("the check of the store reports: \(first.message)") }
    }

    // MARK: Checking

    private func check(_ context: Context) throws {
        for object in context.registeredObjects where !object.isDeleted { try check(object, context) }
        for object in context.insertedObjects where !object.isDeleted { try check(object, context) }
        _ = try context.fetch(
            "Node", "peer.serial > 3 OR anchor.serial > 3 OR ANY bag.serial > 3", sort: ["peer.serial"])
        _ = try context.fetch("Node", "peer == nil OR anchor == nil OR row.@count > 1")
    }

    private func check(_ object: ManagedObject, _ context: Context) throws {
        for relationship in object.entity.relationships {
            let targets: [ManagedObject]
            if relationship.isToMany {
                targets = try object.members(relationship.name)
            } else {
                targets = try object.get(relationship.name, as: ManagedObject.self).map { [$0] } ?? []
            }
            for target in targets {
                guard target.context === context else {
                    throw Mismatch("\(relationship.name) of \(name(object)) refers to an object that does not exist")
                }
                // An unsaved deletion: a to-one target stays until the save, as in Core Data.
                _ = try target.get("serial", as: Int.self)
            }
        }
        _ = try object.changedValues()
    }
}
