extension Context {
    /// Whether the context retains all registered objects.
    ///
    /// The default is false: the context retains only objects with unsaved changes. Other objects live as long as the
    /// application, or an object that refers to them, retains them.
    public var retainsRegisteredObjects: Bool {
        get { onQueue { identityMap.retained != nil } }
        set { onQueue { setRetainsAll(newValue) } }
    }

    private func setRetainsAll(_ keeps: Bool) {
        if keeps == (identityMap.retained != nil) { return }
        guard keeps else {
            // Objects that are deallocated access the identity map, so the dictionary is released after the assignment.
            let former = identityMap.retained
            identityMap.retained = nil
            return withExtendedLifetime(former) {}
        }
        identityMap.retained = [:]
        for object in everyObject { retain(object) }
    }

    func retain(_ object: ManagedObject) { identityMap.retained?[ObjectIdentifier(object)] = object }

    /// Retains new objects, if the context retains all objects.
    func retainAll(_ objects: [ManagedObject]) {
        if identityMap.retained == nil { return }
        for object in objects { retain(object) }
    }
}
