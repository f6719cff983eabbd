/// The state of loading objects on demand, on which a `FaultLoader` works.
///
/// It includes the groups of faults that are loaded together, the readers of the stores, and values that were loaded
/// separately from the rows.
struct FaultState {
    var groups = FaultGroups()

    /// The watch that counts, logs or rejects single faults; nil unless the application enabled it.
    private(set) var watch: FaultWatch?
    /// A function that returns the application's call site of a single fault. Has precedence over `callSite`.
    var callSiteFinder: (() -> CallSite?)?
    /// Objects for which the handler of inaccessible faults is running.
    var objectsBeingChecked: Set<ObjectIdentifier> = []

    /// The connections through which the context reads stores.
    var readers: [ContextReader] = []
    /// The reader that was last used for the newest state of a store, with the store's number.
    var lastReader: (store: UInt32, reader: any StoreReading)?
    /// The rows that were read for the asynchronous fetch that is ending.
    var ahead: FetchAhead?
    /// The queue on which rows of asynchronous fetches are read.
    private var aheadQueue: SerialQueue?

    /// Values of partial fetches whose faults have not fired.
    var parts: [ObjectIdentifier: RowPart] = [:]
    /// Values read from backing files, while views of them may be in use.
    var fileValues: [ObjectIdentifier: [FileValue]] = [:]
    /// Results of fetched properties, by object and name.
    var fetchedValues: [ObjectIdentifier: [String: FetchedList]] = [:]
    /// The nesting depth of fetches of fetched properties.
    var fetchedNesting = 0

    /// Changes the watch, which is created if necessary and removed if it is no longer needed.
    mutating func changeWatch(_ change: (FaultWatch) -> Void) {
        let changed = watch ?? FaultWatch()
        change(changed)
        watch = changed.isNeeded ? changed : nil
    }

    /// Returns the queue on which rows of asynchronous fetches are read. Created by the first call.
    mutating func queueForReadingAhead(_ label: ContextLabel) -> SerialQueue {
        if let aheadQueue { return aheadQueue }
        let queue = SerialQueue(label)
        aheadQueue = queue
        return queue
    }
}
