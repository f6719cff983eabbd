import Corestone

/// Saving, undo, rollback, and saves of another context.
extension GraphRun {
    // MARK: Undo

    func undo(times: Int) throws {
        try endEvent()
        for _ in 0..<times {
            guard let before = undos.popLast() else { break }
            note("undo")
            try context.undo()
            redos.append(current)
            take(before)
        }
        try compare()
    }

    func redo(times: Int) throws {
        try endEvent()
        for _ in 0..<times {
            guard let after = redos.popLast() else { break }
            note("redo")
            try context.redo()
            undos.append(current)
            take(after)
        }
        try compare()
    }

    private func take(_ world: World) {
        let before = current
        current = world
        noteTouched(since: before)
    }

    func undoAndRedoAll() throws {
        try endEvent()
        let count = undos.count
        note("undo and redo \(count) events")
        let now = current
        try undo(times: count)
        try redo(times: count)
        try require(current == now, "the reference differs after undo and redo")
    }

    func rollBack() throws {
        note("roll back")
        try endEvent()
        try context.rollback()
        (current, undos, redos) = (base, [], [])
        (touched, relinked) = ([], [])
        try adoptTransientValues()
        try compare()
    }

    /// Refreshes and rollbacks discard transient values, so the world adopts those of the context.
    private func adoptTransientValues() throws {
        for (kind, entity) in Schema.kinds.enumerated() {
            for (place, attribute) in Schema.attributes[kind].enumerated() where attribute.isTransient {
                for object in try context.fetch(entity) {
                    let serial = try serial(object)
                    let value = try value(object, attribute)
                    current.items[serial]?.values[place] = value
                    base.items[serial]?.values[place] = value
                }
            }
        }
    }

    // MARK: Saving

    private var stale: [Int] { base.serials.filter { baseVersions[$0] != storedVersions[$0] } }

    func save(_ dice: inout Dice) throws {
        try endEvent()
        guard current.isValid else { return try repair() }
        // It is unspecified whether a save writes these objects.
        for serial in stale where touched.contains(serial) && (current.items[serial] == nil || !isChanged(serial)) {
            try refresh(serial, mergingChanges: true)
        }
        let conflicts = stale.filter { current.items[$0] != nil && isChanged($0) }
        let policy = dice.pick([MergePolicy.error, .storeTrump, .objectTrump, .overwrite])
        note("save, conflicts \(conflicts), policy \(policy.type)")
        if !conflicts.isEmpty {
            if policy === MergePolicy.error { try failToSave(conflicts) }
            for serial in conflicts { merge(serial, policy) }
            forgetUndo()
        }
        context.mergePolicy = policy
        try context.save()
        context.mergePolicy = .error
        didSave()
        try compare()
        try require(!context.hasChanges, "the context has changes after a save")
        if dice.chance(30) { try read(Context(coordinator: coordinator), stored, "a fresh context") }
    }

    /// The save fails and changes nothing; a refresh loads the values that the other context saved.
    private func failToSave(_ conflicts: [Int]) throws {
        do {
            try context.save()
            throw Mismatch("a save succeeded despite conflicts of \(conflicts)")
        } catch let error as CoreError {
            try require(error.code == 133020, "a save failed with \(error)")
        }
        try compare()
        for serial in conflicts { try refresh(serial, mergingChanges: true) }
    }

    /// Merges an object that another context also saved. The other context changes only attributes.
    private func merge(_ serial: Int, _ policy: MergePolicy) {
        guard baseVersions[serial] != storedVersions[serial], let theirs = stored.items[serial] else { return }
        for place in theirs.values.indices where !Schema.attributes[theirs.kind][place].isTransient {
            let old = base.items[serial]!.values[place]
            let isMine = current.items[serial]!.values[place] != old
            let isTheirs = theirs.values[place] != old
            let takesTheirs =
                switch policy.type {
                case .storeTrump: isTheirs
                case .overwrite: false
                default: isTheirs && !isMine
                }
            if takesTheirs { current.items[serial]!.values[place] = theirs.values[place] }
        }
    }

    private func didSave() {
        for serial in Set(base.items.keys).subtracting(current.items.keys) {
            stored.items[serial] = nil
            storedVersions[serial] = nil
            baseVersions[serial] = nil
            base.items[serial] = nil
        }
        let persistent = current.persistent
        for serial in touched where current.items[serial] != nil {
            base.items[serial] = current.items[serial]
            stored.items[serial] = persistent.items[serial]
            storedVersions[serial, default: 0] += 1
            baseVersions[serial] = storedVersions[serial]
        }
        (touched, relinked) = ([], [])
    }

    /// A required value is missing: the save fails, and nothing has changed.
    func saveInvalid(_ dice: inout Dice) throws {
        let people = current.serials(kind: 1)
        guard !people.isEmpty else { return }
        let serial = dice.pick(people)
        note("set \(serial).age to nil, save")
        try object(serial).set("age", nil)
        change { $0.items[serial]!.values[1] = nil }
        try endEvent()
        do {
            try context.save()
            throw Mismatch("a save succeeded without the age of \(serial)")
        } catch let error as CoreError {
            try require([1560, 1570].contains(error.code), "a save failed with \(error)")
        }
        try compare()
    }

    private func repair() throws {
        for serial in current.serials(kind: 1) where current.items[serial]!.values[1] == nil {
            let value = nextValue()
            note("set \(serial).age to \(value)")
            try object(serial).set("age", value)
            change { $0.items[serial]!.values[1] = value }
        }
        try endEvent()
    }

    // MARK: Another context, and refreshing

    func changeElsewhere(_ dice: inout Dice) throws {
        let serials = stored.serials
        guard !serials.isEmpty else { return }
        let serial = dice.pick(serials)
        let kind = stored.items[serial]!.kind
        let places = Schema.attributes[kind].indices.filter { !Schema.attributes[kind][$0].isTransient }
        let (place, value) = (dice.pick(places), nextValue())
        // A fault of this context would load the new value.
        try compare()
        note("elsewhere set \(serial).\(Schema.attributes[kind][place].name) to \(value) and save")
        let elsewhere = Context(coordinator: coordinator)
        guard let id = ids[serial], let other = try elsewhere.storedObject(with: id) else {
            throw Mismatch("another context does not find \(serial)")
        }
        try set(value, Schema.attributes[kind][place], of: other)
        try elsewhere.save()
        stored.items[serial]!.values[place] = value
        storedVersions[serial]! += 1
    }

    func refresh(_ dice: inout Dice) throws {
        try endEvent()
        let merging = dice.chance(50)
        let serials = current.serials.filter { base.items[$0] != nil && (merging || !relinked.contains($0)) }
        guard !serials.isEmpty else { return }
        try refresh(dice.pick(serials), mergingChanges: merging)
        try compare()
    }

    private func refresh(_ serial: Int, mergingChanges: Bool) throws {
        note("refresh \(serial), merging \(mergingChanges)")
        guard let id = ids[serial] else { throw Mismatch("\(serial) has no ID") }
        try context.refresh(try context.object(with: id), mergeChanges: mergingChanges)
        didRefresh(serial, mergingChanges: mergingChanges)
        forgetUndo()
        if current.items[serial] != nil { try adoptTransientValues() }
    }

    private func didRefresh(_ serial: Int, mergingChanges: Bool) {
        guard let theirs = stored.items[serial] else { return }
        if var mine = current.items[serial] {
            for place in theirs.values.indices
            where !mergingChanges || mine.values[place] == base.items[serial]!.values[place] {
                mine.values[place] = theirs.values[place]
            }
            current.items[serial] = mine
        }
        base.items[serial]!.values = theirs.values
        baseVersions[serial] = storedVersions[serial]
        if !mergingChanges { touched.remove(serial) }
    }

    func refreshAll() throws {
        try endEvent()
        // It is unspecified whether these objects count as changed.
        guard touched.allSatisfy({ base.items[$0] == nil || current.items[$0] == nil || isChanged($0) }) else { return }
        note("refresh all")
        try context.refreshAll()
        for serial in base.serials { didRefresh(serial, mergingChanges: true) }
        forgetUndo()
        try adoptTransientValues()
        try compare()
    }
}
