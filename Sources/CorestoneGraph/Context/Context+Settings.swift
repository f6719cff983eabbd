import CorestoneValues

/// What the host set up in a context.
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

// A context with a private queue may be set up from any thread: what is set waits for its queue. Others on their own thread.
extension Context {
    /// For people, for the history of stores that keep one, and for the thread of a private queue. Any thread.
    public var name: String? {
        get { label.name }
        set {
            label.name = newValue
            queue?.takeName()
        }
    }

    /// Where the host made the context, for messages. Any thread.
    public var origin: CallSite? { label.origin }

    /// For hosts whose calls do not tell by themselves.
    package func setOrigin(_ origin: CallSite?) { label.origin = origin }

    /// Who changes what this context saves, for the history of stores that keep one.
    public var transactionAuthor: String? {
        get { onQueue { settings.transactionAuthor } }
        set { onQueue { settings.transactionAuthor = newValue } }
    }

    /// What settles the conflicts of a save.
    public var mergePolicy: MergePolicy {
        get { onQueue { settings.mergePolicy } }
        set { onQueue { settings.mergePolicy = newValue } }
    }

    /// Whatever the host wants to have at hand with the context.
    public var userInfo: Any? {
        get { onQueue { settings.userInfo } }
        set { onQueue { settings.userInfo = newValue } }
    }

    /// Whether delete rules are applied when pending changes are processed, as at first; else a save applies them.
    public var propagatesDeletesAtEndOfEvent: Bool {
        get { onQueue { settings.propagatesDeletesAtEndOfEvent } }
        set { onQueue { settings.propagatesDeletesAtEndOfEvent = newValue } }
    }

    /// Whether an object whose row is not there counts as deleted, its values nil, when a value is asked for; else that is an
    /// error with code 133000. True at first.
    public var shouldDeleteInaccessibleFaults: Bool {
        get { onQueue { settings.shouldDeleteInaccessibleFaults } }
        set { onQueue { settings.shouldDeleteInaccessibleFaults = newValue } }
    }

    /// Asked instead of `shouldDeleteInaccessibleFaults`. Not asked by calls that look for the row, such as
    /// `existingObject(with:)`, which say themselves that there is none.
    public var inaccessibleFaultHandler: InaccessibleFaultHandler? {
        get { onQueue { settings.inaccessibleFaultHandler } }
        set { onQueue { settings.inaccessibleFaultHandler = newValue } }
    }

    /// How old, in seconds, a row may be that fills a fault: older ones are read again. Below zero, as at first: of any age.
    public var stalenessInterval: Double {
        get { onQueue { settings.stalenessInterval } }
        set {
            onQueue {
                settings.stalenessInterval = newValue
                owner[1] = newValue >= 0 ? 1 : 0
            }
        }
    }

    public internal(set) var faultBatchSize: Int {
        get { onQueue { settings.faultBatchSize } }
        set { onQueue { settings.faultBatchSize = newValue } }
    }

    /// Where the host's code is, for the report of single faults and for their policy; see `callSiteFinder`.
    public var callSite: CallSite? {
        get { onQueue { settings.callSite } }
        set { onQueue { settings.callSite = newValue } }
    }

    /// Lets go of what belongs to the host, which nobody else can ask for any more. Any thread.
    package func letGoOfHost() {
        interruptCheck = nil
        callSiteFinder = nil
        settings.inaccessibleFaultHandler = nil
        settings.userInfo = nil
    }
}
