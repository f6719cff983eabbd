/// The observers of a context and of its objects.
struct ContextObservation {
    /// The observers of notifications.
    let listeners = ContextListeners()
    /// The trackers of fetched results controllers and live queries.
    let trackers = Listeners<TrackedChange, ContextChanges>()
    /// The observers of properties of objects; nil until the first one is added.
    private(set) var objects: ObjectObservers?
    /// Whether observers of `didSave` are being notified.
    var isPostingDidSave = false

    /// Sets the observers of properties. Called once, when the first one is added.
    mutating func begin(_ observers: ObjectObservers) { objects = observers }
}
