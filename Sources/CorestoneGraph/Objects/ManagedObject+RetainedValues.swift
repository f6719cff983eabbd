import CorestoneValues

/// The values of `retainedValues` by object. They are not stored in the objects, because only few objects have one.
private let keptByObjects = Locked<[ObjectIdentifier: AnyObject]>([:])

extension ManagedObject {
    /// The values that the C interface retains for views of computed values.
    ///
    /// They are released when the object leaves its context or is deallocated.
    package var retainedValues: AnyObject? {
        get { state.contains(.keeps) ? keptByObjects.withLock { $0[ObjectIdentifier(self)] } : nil }
        set {
            if newValue == nil && !state.contains(.keeps) { return }
            let place = ObjectIdentifier(self)
            let old = keptByObjects.withLock { all in
                defer { all[place] = newValue }
                return all[place]
            }
            if newValue == nil { state.remove(.keeps) } else { state.insert(.keeps) }
            // The old value is released outside the lock, because it may contain the last reference to other objects.
            withExtendedLifetime(old) {}
        }
    }

    /// Releases all auxiliary values before the object is deallocated or leaves its context.
    func dropRetainedValues() {
        dropObservers()
        retainedValues = nil
        forgetFiles()
        forgetFetched()
        forgetTransformedValues()
        forgetPart()
    }
}
