import Corestone

/// A difference between Corestone and the world.
package struct Mismatch: Error, CustomStringConvertible {
    package let description: String
    init(_ description: String) { self.description = description }
}

/// A context over an SQLite store, and the world that it must match, both changed by the same steps.
///
/// A step is a number that determines all choices, so a sequence of steps can be repeated and shortened.
final class GraphRun {
    let coordinator: Coordinator
    let context: Context
    let undoManager = UndoManager()
    var objects: [Int: ManagedObject] = [:]
    var ids: [Int: ObjectID] = [:]

    /// The expected state of the context.
    var current = World()
    /// The expected state without unsaved changes.
    var base = World()
    /// The expected state of the store, with the number of writes of each row.
    var stored = World()
    var storedVersions: [Int: Int] = [:]
    /// The version of each row that the context read.
    var baseVersions: [Int: Int] = [:]

    /// Objects that changed since the last save, on both sides of relationships; and those with changed relationships.
    var touched: Set<Int> = []
    var relinked: Set<Int> = []
    /// The state at the start of the current event.
    var eventStart: World?
    var undos: [World] = []
    var redos: [World] = []

    private var lastSerial = 0
    private var lastValue = 0
    /// A readable log of the steps; kept only on request.
    private(set) var log: [String] = []
    private let keepsLog: Bool
    let path: String

    init(path: String, keepsLog: Bool = false) throws {
        (self.path, self.keepsLog) = (path, keepsLog)
        coordinator = try Coordinator(model: try Schema.model())
        var options = StoreOptions()
        options.normalSync = true
        _ = try coordinator.addSQLiteStore(at: path, options: options)
        context = Context(coordinator: coordinator)
        try context.setUndoManager(undoManager)
    }

    func note(_ text: @autoclosure () -> String) { if keepsLog { log.append(text()) } }

    func require(_ condition: Bool, _ message: @autoclosure () -> String) throws {
        if !condition { throw Mismatch(message()) }
    }

    func nextSerial() -> Int {
        lastSerial += 1
        return lastSerial
    }

    /// Values are unique, so a value that occurs again was restored by undo.
    func nextValue() -> Int {
        lastValue += 1
        return lastValue
    }

    func object(_ serial: Int) throws -> ManagedObject {
        guard let object = objects[serial] else { throw Mismatch("object \(serial) is unknown") }
        return object
    }

    // MARK: Events

    /// Changes the world, and records the changed objects.
    func change(_ body: (inout World) -> Void) {
        let before = current
        if eventStart == nil { eventStart = before }
        body(&current)
        noteTouched(since: before)
    }

    func noteTouched(since before: World) {
        for serial in Set(before.items.keys).union(current.items.keys)
        where before.items[serial] != current.items[serial] {
            touched.insert(serial)
            if before.items[serial]?.links != current.items[serial]?.links { relinked.insert(serial) }
        }
    }

    /// An event is one undo step.
    func endEvent() throws {
        try context.processPendingChanges()
        guard let start = eventStart else { return }
        eventStart = nil
        if start == current { return forgetUndo() }
        undos.append(start)
        redos = []
    }

    /// Clears both stacks after a change that no undo step records.
    func forgetUndo() {
        (undos, redos) = ([], [])
        undoManager.removeAllActions()
    }

    // MARK: Comparing

    /// Compares the whole graph with the world.
    func compare() throws {
        try endEvent()
        try require(
            undoManager.canUndo == !undos.isEmpty, "canUndo is \(undoManager.canUndo), of \(undos.count) events")
        try require(
            undoManager.canRedo == !redos.isEmpty, "canRedo is \(undoManager.canRedo), of \(redos.count) events")
        // Unsaved deletions are kept too: a rollback restores these objects.
        objects = objects.filter { base.items[$0.key] != nil }
            .merging(try read(context, current, "the context")) { $1 }
        for (serial, object) in objects where !object.hasTemporaryID { ids[serial] = object.objectID }
        try compareSets()
    }

    private func compareSets() throws {
        let inserted = Set(try context.insertedObjects.map(serial))
        let updated = Set(try context.updatedObjects.map(serial))
        let deleted = Set(try context.deletedObjects.map(serial))
        try require(
            inserted.isDisjoint(with: updated) && updated.isDisjoint(with: deleted)
                && deleted.isDisjoint(with: inserted),
            "the sets overlap: inserted \(inserted.sorted()), updated \(updated.sorted()), deleted \(deleted.sorted())")
        let (now, then) = (Set(current.items.keys), Set(base.items.keys))
        try require(
            inserted == now.subtracting(then), "inserted is \(inserted.sorted()), not \(now.subtracting(then).sorted())"
        )
        try require(
            deleted == then.subtracting(now), "deleted is \(deleted.sorted()), not \(then.subtracting(now).sorted())")
        let changed = now.intersection(then).filter { isChanged($0) }
        try require(
            updated.isSuperset(of: changed),
            "updated is \(updated.sorted()), without \(changed.subtracting(updated).sorted())")
        try require(
            updated.isSubset(of: touched),
            "updated is \(updated.sorted()), with \(updated.subtracting(touched).sorted())")
    }

    /// Whether a save has to write the object.
    func isChanged(_ serial: Int) -> Bool { current.persistent.items[serial] != base.persistent.items[serial] }

    func serial(_ object: ManagedObject) throws -> Int { try object.get("serial", as: Int.self) ?? 0 }

    /// Reads all objects of a context, and compares them.
    /// - Returns: the objects by their serial numbers.
    @discardableResult
    func read(_ context: Context, _ world: World, _ name: String) throws -> [Int: ManagedObject] {
        var found: [Int: ManagedObject] = [:]
        for (kind, entity) in Schema.kinds.enumerated() {
            for object in try context.fetch(entity) {
                let serial = try serial(object)
                try require(world.items[serial]?.kind == kind, "\(name) has \(entity) \(serial), which does not exist")
                try require(found.updateValue(object, forKey: serial) == nil, "\(name) has \(entity) \(serial) twice")
            }
        }
        for serial in world.serials {
            guard let object = found[serial] else { throw Mismatch("\(name) lacks \(serial)") }
            try compare(object, world.items[serial]!, name)
        }
        return found
    }

    private func compare(_ object: ManagedObject, _ item: Item, _ name: String) throws {
        for (place, attribute) in Schema.attributes[item.kind].enumerated() {
            let value = try value(object, attribute)
            try require(
                value == item.values[place],
                "\(name): \(attribute.name) of \(item.serial) is \(value.map { "\($0)" } ?? "nil"), not "
                    + (item.values[place].map { "\($0)" } ?? "nil"))
        }
        for (place, relationship) in Schema.relationships[item.kind].enumerated() {
            var links: [Int]
            if relationship.isToMany {
                links = try object.members(relationship.name).map(serial)
                if !relationship.isOrdered { links.sort() }
            } else {
                links = try object.get(relationship.name, as: ManagedObject.self).map { [try serial($0)] } ?? []
            }
            try require(
                links == item.links[place],
                "\(name): \(relationship.name) of \(item.serial) is \(links), not \(item.links[place])")
        }
    }

    func value(_ object: ManagedObject, _ attribute: Schema.Attribute) throws -> Int? {
        if !attribute.isText { return try object.get(attribute.name, as: Int.self) }
        return try object.get(attribute.name, as: String.self).map { Int($0) ?? -1 }
    }

    func set(_ value: Int?, _ attribute: Schema.Attribute, of object: ManagedObject) throws {
        if attribute.isText {
            try object.set(attribute.name, value.map { "\($0)" })
        } else {
            try object.set(attribute.name, value)
        }
    }
}
