extension IdentityMap {
    func setRetainsAll(_ keeps: Bool) {
        if keeps == (retained != nil) { return }
        guard keeps else {
            // Objects that are deallocated access the identity map, so the dictionary is released after the assignment.
            let former = retained
            retained = nil
            return withExtendedLifetime(former) {}
        }
        retained = [:]
        for object in objects { retain(object) }
    }

    func retain(_ object: ManagedObject) { retained?[ObjectIdentifier(object)] = object }

    /// Retains new objects, if the context retains all objects.
    func retainAll(_ objects: [ManagedObject]) {
        if retained == nil { return }
        for object in objects { retain(object) }
    }
}
