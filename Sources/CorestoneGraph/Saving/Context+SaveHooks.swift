import CorestoneModel
import CorestoneValues

extension Context {
    /// How often hooks may change objects before one save.
    static let maximumSaveAttempts = 1000

    /// Makes all that is pending fit to be written: hooks are asked what they want to change, until none of them changes
    /// anything any more, then validators and the model's conditions. Each round is an event: objects that it touched, or that
    /// joined the save in it, are asked in the next one.
    /// - Returns: the plan with what hooks and validators changed.
    func prepared(_ first: SavePlan) throws -> SavePlan {
        guard has(.willSave) else { return try validated(first) }
        defer { (hookState.touched, hookState.namesCulprit) = (nil, false) }
        var waiting = first.all
        // Kept, so that no object ends and another one takes its place in memory.
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

    /// Tells the hooks of all objects that were saved.
    func tellDidSave(_ plan: SavePlan) {
        guard has(.didSave) else { return }
        for object in plan.all { object.sendDidSave(in: self) }
    }

    func has(_ kind: HookKinds) -> Bool { coordinator.model.hookKinds & kind.rawValue != 0 }

    /// For the end of an event: notes whom it touched, while a save asks hooks.
    func noteTouchedBeforeSave() {
        guard hookState.touched != nil else { return }
        forEachTouched { object, _ in
            hookState.touched?.append(object)
            if hookState.namesCulprit { noteCulprit(object, (try? object.valuesAtEventStart().keys.sorted()) ?? []) }
        }
    }

    /// Notes who changes in the last round, and what: the first object that has a hook, with the keys that come to notice.
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
