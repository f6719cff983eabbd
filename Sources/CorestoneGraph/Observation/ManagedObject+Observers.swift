extension ManagedObject {
    /// Called for objects with `.observed` before a property changes.
    func willChangeObserved(_ slot: Int) {}

    /// Called for objects with `.observed` after a property changed.
    func didChangeObserved(_ slot: Int) {}
}
