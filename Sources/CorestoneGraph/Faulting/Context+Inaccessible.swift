import CorestoneModel
import CorestoneValues

/// The application's decision about an inaccessible fault.
///
/// Such a fault is an object whose row does not exist, or an unsaved object that the parent context does not have. The
/// parameters are the fault, its ID and the property that is read. Return true to treat the object as deleted with nil
/// values, or false to make the access fail with code 133000.
public typealias InaccessibleFaultHandler = (ManagedObject, ObjectID, String?) throws -> Bool

// An inaccessible fault is an object whose row was deleted before it was read. When the application reads a value of
// the object, the settings of the context decide whether the read fails or the object counts as deleted.
extension Context {
    /// Handles a read from an object whose row is missing.
    ///
    /// - Throws: Code 133000 if the handler returns false, or `shouldDeleteInaccessibleFaults` is false without a
    ///   handler; the errors of the handler.
    func handleInaccessible(_ object: ManagedObject, reading slot: Int) throws {
        let failure = object.store.map(object.deleted) ?? object.unknownInAncestorsError()
        let place = ObjectIdentifier(object)
        // If the handler reads a value of the same object, that read fails.
        guard faultLoader.objectsBeingChecked.insert(place).inserted else { throw failure }
        defer { faultLoader.objectsBeingChecked.remove(place) }
        let isTaken: Bool
        if let inaccessibleFaultHandler {
            isTaken = try inaccessibleFaultHandler(object, object.objectID, object.entity.properties[slot].path)
        } else {
            DebugLog.write("CoreData: fault: \(failure.message)")
            isTaken = shouldDeleteInaccessibleFaults
        }
        if object.state.contains(.detached) { throw object.detachedError() }
        if object.record != nil { return }
        guard isTaken else { throw failure }
        object.state.remove(.fault)
        object.state.formUnion([.inaccessible, .deleted])
        changeTracker.noteDeleted(object)
    }

    /// Whether an object of a list was deleted after the list was created.
    ///
    /// The values of such an object are nil, as for inaccessible faults.
    ///
    /// - Throws: Code 133000 with the index of the row if `shouldDeleteInaccessibleFaults` is false.
    package func isMissing(_ object: ManagedObject, row: Int) throws -> Bool {
        if !object.state.contains(.detachedIndividually) { return false }
        if shouldDeleteInaccessibleFaults { return true }
        let uri = object.objectID.uri
        throw CoreError(
            .objectGone, code: .managedObjectReferentialIntegrity,
            "row \(row) of the results does not have values: \(uri) was deleted after the fetch; fetch the objects again",
            entity: object.entity.name, value: .int(Int64(row)), objectURI: uri)
    }

    /// Turns inaccessible objects into faults again before a save, which does not include them.
    func restoreInaccessibleFaults() { for object in changeTracker.deleted { object.endInaccessibility() } }
}

extension ManagedObject {
    func endInaccessibility() {
        guard state.contains(.inaccessible) else { return }
        state.subtract([.inaccessible, .deleted])
        state.insert(.fault)
    }
}
