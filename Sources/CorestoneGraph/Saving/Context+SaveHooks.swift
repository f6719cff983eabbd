import CorestoneModel
import CorestoneValues

extension Context {
    /// Runs the didSave hooks of all saved objects.
    func runDidSaveHooks(_ plan: SavePlan) {
        guard has(.didSave) else { return }
        for object in plan.all { object.sendDidSave(in: self) }
    }

    func has(_ kind: HookKinds) -> Bool { coordinator.model.hookKinds & kind.rawValue != 0 }

    /// Records the objects that an event touched, if a save is running hooks. Called at the event's end.
    func noteTouchedBeforeSave() {
        guard hookState.touched != nil else { return }
        changeTracker.forEachTouched { object, _ in
            hookState.touched?.append(object)
            if hookState.recordsChangedObject {
                hookState.recordChangedObject(object, (try? object.valuesAtEventStart().keys.sorted()) ?? [])
            }
        }
    }
}
