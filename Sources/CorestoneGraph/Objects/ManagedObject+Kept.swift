import CorestoneValues

/// The kept values of all objects. Only few objects have one, so it is not stored in the objects.
private let keptByObjects = Locked<[ObjectIdentifier: AnyObject]>([:])

extension ManagedObject {
    /// The values that the C interface retains for views of computed values.
    ///
    /// They are released when the object leaves its context or is deallocated.
    package var kept: AnyObject? {
        get { state.contains(.keeps) ? keptByObjects.withLock { $0[ObjectIdentifier(self)] } : nil }
        set {
            if newValue == nil && !state.contains(.keeps) { return }
            let place = ObjectIdentifier(self)
            let old = keptByObjects.withLock { all in
                defer { all[place] = newValue }
                return all[place]
            }
            if newValue == nil { state.remove(.keeps) } else { state.insert(.keeps) }
            // Released outside the lock, because it may be the last reference to other objects.
            withExtendedLifetime(old) {}
        }
    }

    /// Releases all auxiliary values before the object is deallocated or leaves its context.
    func dropKept() {
        dropObservers()
        kept = nil
        forgetFiles()
        forgetFetched()
        forgetTransformedValues()
        forgetPart()
    }
}
