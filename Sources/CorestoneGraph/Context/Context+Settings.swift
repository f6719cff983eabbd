import CorestoneValues

/// The application's settings of a context.
struct ContextSettings {
    var transactionAuthor: String?
    var mergePolicy = MergePolicy.error
    var userInfo: Any?
    var propagatesDeletesAtEndOfEvent = true
    var shouldDeleteInaccessibleFaults = true
    var inaccessibleFaultHandler: InaccessibleFaultHandler?
    var stalenessInterval = -1.0
    var faultBatchSize = 256
    var callSite: CallSite?
    var savedHistoryToken: HistoryToken?
    var savesUnvalidated = false
}

// Settings of a context with a private queue can be used on any thread; the access waits for the queue. Settings of
// other contexts must be used on the context's thread.
extension Context {
    /// The name of the context in messages and in the persistent history, and of the private queue's thread.
    ///
    /// Can be used on any thread.
    public var name: String? {
        get { label.name }
        set {
            label.name = newValue
            queue?.updateThreadName()
        }
    }

    /// The call site where the application created the context, for messages. Can be used on any thread.
    public var origin: CallSite? { label.origin }

    /// Sets the call site for bindings whose calls do not contain it.
    package func setOrigin(_ origin: CallSite?) { label.origin = origin }

    /// The author of the context's saves in the persistent history.
    public var transactionAuthor: String? {
        get { onQueue { settings.transactionAuthor } }
        set { onQueue { settings.transactionAuthor = newValue } }
    }

    /// The rule that resolves conflicts in a save.
    public var mergePolicy: MergePolicy {
        get { onQueue { settings.mergePolicy } }
        set { onQueue { settings.mergePolicy = newValue } }
    }

    /// An arbitrary value of the application.
    public var userInfo: Any? {
        get { onQueue { settings.userInfo } }
        set { onQueue { settings.userInfo = newValue } }
    }

    /// Whether delete rules are applied when pending changes are processed.
    ///
    /// If false, a save applies them. The default is true.
    public var propagatesDeletesAtEndOfEvent: Bool {
        get { onQueue { settings.propagatesDeletesAtEndOfEvent } }
        set { onQueue { settings.propagatesDeletesAtEndOfEvent = newValue } }
    }

    /// Whether an object whose row is missing counts as deleted, with nil values, when a value is read.
    ///
    /// If false, the read fails with code 133000. The default is true.
    public var shouldDeleteInaccessibleFaults: Bool {
        get { onQueue { settings.shouldDeleteInaccessibleFaults } }
        set { onQueue { settings.shouldDeleteInaccessibleFaults = newValue } }
    }

    /// The handler of inaccessible faults; replaces `shouldDeleteInaccessibleFaults`.
    ///
    /// It is not called by functions that report a missing row themselves, such as `existingObject(with:)`.
    public var inaccessibleFaultHandler: InaccessibleFaultHandler? {
        get { onQueue { settings.inaccessibleFaultHandler } }
        set { onQueue { settings.inaccessibleFaultHandler = newValue } }
    }

    /// The maximum age, in seconds, of a cached row from which a fault is loaded; older rows are read again.
    ///
    /// A negative value, the default, allows any age.
    public var stalenessInterval: Double {
        get { onQueue { settings.stalenessInterval } }
        set {
            onQueue {
                settings.stalenessInterval = newValue
                owner[1] = newValue >= 0 ? 1 : 0
            }
        }
    }

    /// The maximum number of faults of a group that are loaded when one fires; see `setFaultBatchSize(_:)`.
    public internal(set) var faultBatchSize: Int {
        get { onQueue { settings.faultBatchSize } }
        set { onQueue { settings.faultBatchSize = newValue } }
    }

    /// The application's current call site, for the report of single faults and the fault policy; see `callSiteFinder`.
    public var callSite: CallSite? {
        get { onQueue { settings.callSite } }
        set { onQueue { settings.callSite = newValue } }
    }

    /// Releases the application's callbacks and user info after the context was closed. Can be called on any thread.
    package func detachHost() {
        interruptCheck = nil
        // Released after the assignments, because the release can run code of the application.
        let former = (callSiteFinder, settings.inaccessibleFaultHandler, settings.userInfo)
        callSiteFinder = nil
        settings.inaccessibleFaultHandler = nil
        settings.userInfo = nil
        withExtendedLifetime(former) {}
    }

    /// Whether the context retains all registered objects.
    ///
    /// The default is false: the context retains only objects with unsaved changes. Other objects live as long as the
    /// application, or an object that refers to them, retains them.
    public var retainsRegisteredObjects: Bool {
        get { onQueue { identityMap.retained != nil } }
        set { onQueue { identityMap.setRetainsAll(newValue) } }
    }
}
