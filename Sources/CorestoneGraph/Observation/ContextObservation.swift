/// The observers of a context and of its objects.
struct ContextObservation {
    /// The observers of notifications.
    let listeners = ContextListeners()
    /// The trackers of fetched results controllers and live queries.
    let trackers = Listeners<TrackedChange, ContextChanges>()
    /// The observers of properties of objects; nil until the first one is added.
    var objects: ObjectObservers?
    /// Whether observers of `didSave` are being notified.
    var isPostingDidSave = false
}
