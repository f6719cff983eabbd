import CorestoneValues

/// Few objects ever keep anything, so it lies beside them and takes no room in each.
private let keptByObjects = Locked<[ObjectIdentifier: AnyObject]>([:])

extension ManagedObject {
    /// What the C boundary keeps alive for views into computed values. It ends with the object, or when that leaves its context.
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
            // Outside the lock: it may be the last reference to other objects.
            withExtendedLifetime(old) {}
        }
    }

    /// For the end of the object.
    func dropKept() {
        dropObservers()
        kept = nil
        forgetFiles()
        forgetFetched()
        forgetTransformedValues()
        forgetPart()
    }
}
