import CorestoneModel
import CorestoneValues

/// The application's decision about an inaccessible fault.
///
/// Such a fault is an object whose row does not exist, or an unsaved object that the parent context does not have. The
/// parameters are the fault, its ID and the property that is read. Return true to treat the object as deleted with nil
/// values, or false to make the access fail with code 133000.
public typealias InaccessibleFaultHandler = (ManagedObject, ObjectID, String?) throws -> Bool

// An inaccessible fault is an object whose row was deleted before the row was read. When the application reads a value
// of the object, the settings of the context decide whether the read fails or the object counts as deleted.
extension FaultLoader {
    /// Handles a read from an object whose row is missing.
    ///
    /// - Throws: Code 133000 if the handler returns false, or `shouldDeleteInaccessibleFaults` is false without a
    ///   handler.
    ///   The errors of the handler.
    func handleInaccessible(_ object: ManagedObject, reading slot: Int) throws {
        let failure = object.store.map(object.deleted) ?? object.unknownInAncestorsError()
        let place = ObjectIdentifier(object)
        // If the handler reads a value of the same object, that read fails.
        guard context.faultState.objectsBeingChecked.insert(place).inserted else { throw failure }
        defer { context.faultState.objectsBeingChecked.remove(place) }
        let isTaken: Bool
        if let handler = context.inaccessibleFaultHandler {
            isTaken = try handler(object, object.objectID, object.entity.properties[slot].path)
        } else {
            DebugLog.write("CoreData: fault: \(failure.message)")
            isTaken = context.shouldDeleteInaccessibleFaults
        }
        if object.state.contains(.detached) { throw object.detachedError() }
        if object.record != nil { return }
        guard isTaken else { throw failure }
        object.state.remove(.fault)
        object.state.formUnion([.inaccessible, .deleted])
        context.changeTracker.noteDeleted(object)
    }

    /// Turns inaccessible objects into faults again before a save, which does not include them.
    func restoreInaccessibleFaults() { for object in context.changeTracker.deleted { object.endInaccessibility() } }
}

extension ManagedObject {
    func endInaccessibility() {
        guard state.contains(.inaccessible) else { return }
        state.subtract([.inaccessible, .deleted])
        state.insert(.fault)
    }
}
