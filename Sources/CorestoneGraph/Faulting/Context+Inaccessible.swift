import CorestoneModel
import CorestoneValues

/// Decides about an object whose row the store does not have, or which the parent does not have if it was never saved, by the fault,
/// its ID and the property that was asked for: true makes it count as deleted and its values nil, false is error 133000.
public typealias InaccessibleFaultHandler = (ManagedObject, ObjectID, String?) throws -> Bool

// An inaccessible fault is an object whose row went away before it was read. To the library it is a ghost like any other; to the
// host, which may meet one at any getter, it is what the context says.
extension Context {
    /// The host asks for a value of an object whose row is not there.
    /// - Throws: code 133000 when neither the handler nor `shouldDeleteInaccessibleFaults` takes the object; what the handler
    ///   throws.
    func meetInaccessible(_ object: ManagedObject, askedFor slot: Int) throws {
        let failure = object.store.map(object.deleted) ?? object.unknownBeneath()
        let place = ObjectIdentifier(object)
        // A handler that asks for the values of the very object learns that they are not there.
        guard faultLoader.objectsInQuestion.insert(place).inserted else { throw failure }
        defer { faultLoader.objectsInQuestion.remove(place) }
        let isTaken: Bool
        if let inaccessibleFaultHandler {
            isTaken = try inaccessibleFaultHandler(object, object.objectID, object.entity.properties[slot].path)
        } else {
            DebugLog.write("CoreData: fault: \(failure.message)")
            isTaken = shouldDeleteInaccessibleFaults
        }
        if object.state.contains(.gone) { throw object.gone() }
        if object.record != nil { return }
        guard isTaken else { throw failure }
        object.state.remove(.fault)
        object.state.formUnion([.inaccessible, .deleted])
        noteDeleted(object)
    }

    /// Whether an object of a list was deleted since the list was made, which then has no values in its row: as with faults
    /// whose rows are gone.
    /// - Throws: code 133000, which names the row, where `shouldDeleteInaccessibleFaults` is false.
    package func isMissing(_ object: ManagedObject, row: Int) throws -> Bool {
        if !object.state.contains(.left) { return false }
        if shouldDeleteInaccessibleFaults { return true }
        let uri = object.objectID.uri
        throw CoreError(
            .objectGone, code: .managedObjectReferentialIntegrity,
            "row \(row) of the results has no values: \(uri) was deleted after the fetch; fetch again",
            entity: object.entity.name, value: .int(Int64(row)), objectURI: uri)
    }

    /// Objects that count as deleted because they never had a row are no part of a save: they are faults again.
    func settleInaccessible() { for object in changeTracker.deleted { object.endInaccessibility() } }
}

extension ManagedObject {
    func endInaccessibility() {
        guard state.contains(.inaccessible) else { return }
        state.subtract([.inaccessible, .deleted])
        state.insert(.fault)
    }
}
