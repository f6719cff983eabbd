import CorestoneModel
import CorestoneValues

extension Context {
    /// The maximum number of rounds of hooks before one save.
    static let maximumSaveAttempts = 1000

    /// Prepares pending changes for a save.
    ///
    /// Runs hooks until they no longer change objects, then validators and the model's validation rules. Each round of
    /// hooks is an event; the hooks of objects that were changed or added in it run in the next round. If validators
    /// change objects, the hooks of these objects run again.
    ///
    /// - Returns: The plan with the changes of hooks and validators.
    func prepared(_ first: SavePlan) throws -> SavePlan {
        guard has(.willSave) else { return try validated(first) }
        defer { (hookState.touched, hookState.namesCulprit) = (nil, false) }
        var waiting = first.all
        // Retains the objects, so that a new object does not have the address of a deallocated object.
        var known = waiting
        var asked = Set(known.map(ObjectIdentifier.init))
        func wanting(in plan: SavePlan) -> [ManagedObject] {
            let joined = plan.all.filter { asked.insert(ObjectIdentifier($0)).inserted }
            known += joined
            let touched = hookState.touched ?? []
            hookState.touched = []
            var seen: Set<ObjectIdentifier> = []
            return (touched + joined).filter {
                $0.entity.has(.willSave) && $0.hasChanges && seen.insert(ObjectIdentifier($0)).inserted
            }
        }
        hookState.touched = []
        for attempt in 1...Context.maximumSaveAttempts {
            hookState.namesCulprit = attempt == Context.maximumSaveAttempts
            for object in waiting where !object.isGone { try object.sendWillSave() }
            try processPendingChanges(appliesDeleteRules: true)
            var plan = pendingPlan
            waiting = wanting(in: plan)
            if !waiting.isEmpty { continue }
            plan = try validated(plan)
            waiting = wanting(in: plan)
            if waiting.isEmpty { return plan }
        }
        throw stillDirty()
    }

    /// Runs the didSave hooks of all saved objects.
    func runDidSaveHooks(_ plan: SavePlan) {
        guard has(.didSave) else { return }
        for object in plan.all { object.sendDidSave(in: self) }
    }

    func has(_ kind: HookKinds) -> Bool { coordinator.model.hookKinds & kind.rawValue != 0 }

    /// Records the objects that an event touched, if a save is running hooks. Called at the event's end.
    func noteTouchedBeforeSave() {
        guard hookState.touched != nil else { return }
        forEachTouched { object, _ in
            hookState.touched?.append(object)
            if hookState.namesCulprit { noteCulprit(object, (try? object.valuesAtEventStart().keys.sorted()) ?? []) }
        }
    }

    /// Records the object that is changed in the last round, and its changed keys.
    ///
    /// Only the first object with a hook is recorded.
    func noteCulprit(_ object: ManagedObject, _ slots: [Int]) {
        guard object.entity.has(.willSave), hookState.culprit?.object ?? object === object else { return }
        var keys = hookState.culprit?.keys ?? []
        for slot in slots where !keys.contains(object.entity.properties[slot].path) {
            keys.append(object.entity.properties[slot].path)
        }
        hookState.culprit = (object, keys)
    }

    private func stillDirty() -> CoreError {
        let culprit = hookState.culprit
        hookState.culprit = nil
        let (object, keys) = (culprit?.object, culprit?.keys ?? [])
        var what = object.map { "\($0.entity.name) \($0.objectID.uri)" } ?? "objects"
        if let object, !keys.isEmpty {
            what = keys.map { "\(object.entity.name).\($0)" }.joined(separator: ", ") + " of \(object.objectID.uri)"
        }
        return CoreError(
            .validation, code: .managedObjectValidation,
            "the context is still dirty after \(Context.maximumSaveAttempts) attempts to save, because a hook changed "
                + "\(what) each time. Set a value in will_save (willSave) only if it differs, and do not insert or delete "
                + "objects in each call",
            entity: object?.entity.name, key: keys.first, objectURI: object?.objectID.uri)
    }
}
