extension Context {
    /// Whether the context keeps every object that it knows. If not, as at first, it keeps those with unsaved changes, and the
    /// host, or an object that leads to them, the others.
    public var retainsRegisteredObjects: Bool {
        get { onQueue { identityMap.retained != nil } }
        set { onQueue { keepAll(newValue) } }
    }

    private func keepAll(_ keeps: Bool) {
        if keeps == (identityMap.retained != nil) { return }
        guard keeps else {
            // Their ends come after the table is gone, which they would look at.
            let former = identityMap.retained
            identityMap.retained = nil
            return withExtendedLifetime(former) {}
        }
        identityMap.retained = [:]
        for object in everyObject { retain(object) }
    }

    func retain(_ object: ManagedObject) { identityMap.retained?[ObjectIdentifier(object)] = object }

    /// Keeps objects that were just made, if the context does that.
    func retainAll(_ objects: [ManagedObject]) {
        if identityMap.retained == nil { return }
        for object in objects { retain(object) }
    }
}
