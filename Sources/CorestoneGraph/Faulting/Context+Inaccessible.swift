import CorestoneModel
import CorestoneValues

extension Context {
    /// Whether an object of a list was deleted or rolled back after the list was created.
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
            "\(object.entity.name) \(uri) at index \(row) of the results was deleted or rolled back and does "
                + "not have values; fetch the objects again with cst_context_fetch (fetch)",
            entity: object.entity.name, key: "index", value: .int(Int64(row)), objectURI: uri)
    }
}
