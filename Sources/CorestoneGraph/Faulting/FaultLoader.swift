import CorestoneModel
import CorestoneValues

/// The state of loading objects on demand.
///
/// It consists of groups of faults that are loaded together, the connections that read rows, and values that were
/// loaded separately from the rows.
final class FaultLoader {
    /// The context, which owns the fault loader.
    unowned(unsafe) private(set) var context: Context!

    /// The number of faults in groups, 8 bytes each, above which old groups are removed.
    private static let groupedFaultLimit = 1 << 20

    private var groups: [UInt32: FaultGroup] = [:]
    private var lastGroup: UInt32 = 0
    /// The number of the oldest group that may still exist.
    private var oldestGroup: UInt32 = 1
    /// The number of keys in all groups.
    private var groupedCount = 0

    /// The watch that counts or rejects single faults; nil unless the application enabled it.
    var watch: FaultWatch?
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
    var aheadQueue: SerialQueue?

    /// Values of partial fetches whose faults have not fired.
    var parts: [ObjectIdentifier: RowPart] = [:]
    /// Values read from backing files, while views of them may be in use.
    var fileValues: [ObjectIdentifier: [FileValue]] = [:]
    /// Results of fetched properties, by object and name.
    var fetchedValues: [ObjectIdentifier: [String: FetchedList]] = [:]
    /// The nesting depth of fetches of fetched properties.
    var fetchedNesting = 0

    /// Attaches the fault loader to its context. Called once, when the context is created.
    func attach(to context: Context) { self.context = context }

    // MARK: Groups

    func group(_ number: UInt32) -> FaultGroup? { number == 0 ? nil : groups[number] }

    /// Records faults that were fetched together, so that a fault that fires loads others of the group.
    func group(_ faults: [ManagedObject], root: Entity, store: Store) {
        guard faults.count > 1 else { return }
        lastGroup &+= 1
        if lastGroup == 0 { lastGroup = 1 }
        groups[lastGroup] = FaultGroup(root: root, store: store, primaryKeys: faults.map(\.primaryKey))
        for fault in faults { fault.faultGroup = lastGroup }
        groupedCount += faults.count
        removeOldGroups()
    }

    /// Stores the position up to which a group was read, or removes a group that was read completely.
    func update(_ group: FaultGroup, _ number: UInt32) {
        if group.position < group.primaryKeys.count {
            groups[number] = group
        } else {
            groups[number] = nil
            groupedCount -= group.primaryKeys.count
        }
    }

    /// Removes the oldest groups, because their faults may never fire. A fault without its group fires alone.
    private func removeOldGroups() {
        while groupedCount > FaultLoader.groupedFaultLimit, oldestGroup != lastGroup {
            if let old = groups.removeValue(forKey: oldestGroup) { groupedCount -= old.primaryKeys.count }
            oldestGroup &+= 1
        }
    }

    func removeAllGroups() {
        groups = [:]
        groupedCount = 0
        oldestGroup = lastGroup &+ 1
    }
}

/// Faults that were fetched together without rows, by primary key.
struct FaultGroup {
    let root: Entity
    let store: Store
    var primaryKeys: [Int64]
    /// The index of the next key to read.
    var position = 0
}

extension Context {
    /// The function of `FaultLoader.callSiteFinder`.
    package var callSiteFinder: (() -> CallSite?)? {
        get { faultLoader.callSiteFinder }
        set { faultLoader.callSiteFinder = newValue }
    }
}
