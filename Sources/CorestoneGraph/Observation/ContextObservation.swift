/// The observers of a context and of its objects.
struct ContextObservation {
    /// Observers of notifications.
    let listeners = ContextListeners()
    /// Fetched results controllers and live queries.
    let trackers = Listeners<TrackedNews, ContextChanges>()
    /// Observers of properties of objects; nil until the first is added.
    var objects: ObjectObservers?
    /// Whether observers of `didSave` are being notified.
    var isPostingDidSave = false
}
