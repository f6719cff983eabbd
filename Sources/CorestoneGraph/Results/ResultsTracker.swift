import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// The owner of a results tracker. The tracker notifies it of changes on the context's queue.
protocol ResultsClient: AnyObject {
    /// Whether to notify the client of IDs that became permanent, even without other changes.
    var observesRenames: Bool { get }
    /// Notifies the client that the results are about to change. They are still unchanged.
    func resultsWillChange()
    /// Notifies the client that the results have changed. `objects` are those of the difference's changes.
    func resultsDidChange(_ difference: ResultsDifference, objects: [ManagedObject])
    /// Cancels the announced change, because the client has reset the context in `resultsWillChange`.
    func resultsDidNotChange()
    /// Notifies the client that the results were lost: the context was reset, or tracking failed.
    func resultsWereLost(_ error: CoreError?)
}

/// The tracked results of a fetch request.
///
/// Each event of the context updates them to the results that a fetch would return.
///
/// For each object, the tracker stores the ID and the sort keys. The order by these keys and the tie-breaker is total,
/// so a binary search finds the position of every object, regardless of other changes. An object that an event changed
/// is evaluated, and is removed, inserted, moved or reported as updated. `ResultsTracker+Invariants.swift` lists the
/// invariants.
final class ResultsTracker {
    /// The context, not retained.
    ///
    /// A controller retains it. A live query uses it only in notifications of the context.
    unowned(unsafe) let context: Context
    let request: FetchRequest
    let naming: SectionNaming?
    let dependencies: DependencyPaths
    /// The predicate for evaluation in memory.
    let predicate: Predicate?
    let refersToOtherObjects: Bool
    /// Whether the tracker retains its objects, in addition to their IDs.
    let holdsObjects: Bool
    private(set) weak var client: (any ResultsClient)?

    /// The current results; nil before the first fetch, and after a reset or an error.
    private(set) var snapshot: ResultsSnapshot?
    private(set) var members: [ObjectID: Member] = [:]
    /// The temporary IDs under which members were added, by object.
    private(set) var unsaved: [ObjectIdentifier: ObjectID] = [:]
    /// The numbers of the stores at the last fetch.
    private var stores: [UInt32] = []

    /// The changes that were not processed yet.
    var pendingChanges = PendingResultsChanges()
    private var isBusy = false
    /// Whether the context was reset and the client was not notified yet.
    private(set) var isLost = false
    /// A number that each fetch, each loss of the results and `end` increment.
    ///
    /// Code that calls the client or the application detects these events by a changed number.
    private(set) var epoch = 0
    private var observations: [Observation] = []
    #if DEBUG
        /// Whether the order of the results is checked; see `checkInvariants()`.
        var isOrderChecked = false
    #endif

    /// An object in the results.
    struct Member {
        let row: ResultsRow
        /// The object; nil if the tracker retains only IDs.
        let object: ManagedObject?
    }

    init(
        _ request: FetchRequest, _ naming: SectionNaming?, dependencies: [String], in context: Context,
        holdsObjects: Bool, client: any ResultsClient
    ) throws {
        try request.requireObjects(hasOtherForms: false)
        try request.resolve(in: context.coordinator.model)
        self.context = context
        self.request = request.copy()
        // The sort keys are read from the fetched rows.
        self.request.includesPropertyValues = true
        predicate = request.effectivePredicate
        refersToOtherObjects = predicate?.refersToOtherObjects ?? false
        self.naming = naming
        self.holdsObjects = holdsObjects
        self.client = client
        self.dependencies = try DependencyPaths(dependencies, of: self.request, naming)
    }

    deinit { end() }

    var sorts: [SortDescriptor] { request.sortDescriptors }

    // MARK: Fetching

    /// Runs the fetch and replaces the results.
    ///
    /// - Parameter cached: The cached sections, if they are still valid.
    func fetch(sections cached: SectionTable? = nil) throws {
        let fresh = try fetched(sections: cached)
        epoch += 1
        setResults(fresh)
        pendingChanges = PendingResultsChanges()
        isLost = false
    }

    private func setResults(_ fresh: Fetched) {
        var all: [ObjectID: Member] = Dictionary(minimumCapacity: fresh.rows.count)
        unsaved = [:]
        for (place, row) in fresh.rows.enumerated() {
            let object = fresh.objects[place]
            all[row.id] = Member(row: row, object: object)
            if row.id.isTemporary, let object = object ?? context.identityMap.registered(with: row.id) {
                unsaved[ObjectIdentifier(object)] = row.id
            }
        }
        // The former members are released after all assignments, because the deallocation of objects accesses the
        // context, and the released objects may be tracked.
        let former = members
        defer { withExtendedLifetime(former) {} }
        members = all
        snapshot = ResultsSnapshot(RowList(fresh.rows), fresh.sections)
        stores = context.coordinator.stores.map(\.number)
        #if DEBUG
            isOrderChecked = true
        #endif
        checkInvariants()
    }

    private func forget() {
        epoch += 1
        let former = members
        members = [:]
        withExtendedLifetime(former) {}
        (unsaved, snapshot, pendingChanges) = ([:], nil, PendingResultsChanges())
    }

    /// Whether stores were added or removed since the fetch.
    private var hasOtherStores: Bool { context.coordinator.stores.map(\.number) != stores }

    // MARK: Members

    func member(_ object: ManagedObject) -> Member? {
        if let member = members[object.objectID] { return member }
        // The object may be listed under its former, temporary ID.
        return unsaved.isEmpty ? nil : unsaved[ObjectIdentifier(object)].flatMap { members[$0] }
    }

    func member(_ id: ObjectID) -> Member? { members[id] }

    /// Returns the object of a row.
    ///
    /// If the tracker does not retain the object, or the object has left the context, returns the registered object or
    /// a fault. The row of a fault may have been deleted.
    func object(of row: ResultsRow) throws -> ManagedObject {
        if let object = members[row.id]?.object, !object.isGone { return object }
        return try context.objectOrDetached(of: row.id)
    }

    /// Returns the position of a row in a list that contains it.
    func place(of row: ResultsRow, in list: RowList) throws -> Int {
        let place = try list.partition { try sorts.precedes($0, row) }
        if place < list.count, list[place] === row { return place }
        // The binary search fails if a comparator of the application is inconsistent.
        guard let place = list.all.firstIndex(where: { $0 === row }) else {
            throw CoreError(
                .internal,
                "the results of \(request.entity.name) no longer contain \(row.id.uri); "
                    + (request.sortDescriptors.contains { $0.comparator != nil }
                        ? "make the comparators of the sort descriptors consistent"
                        : "report it as a defect of the library"),
                entity: request.entity.name, objectURI: row.id.uri)
        }
        return place
    }

    // MARK: Tracking

    /// Starts tracking the context's changes.
    ///
    /// - Parameter ended: Called when the context is closed or deallocated before the tracking ends.
    func begin(ended: (@Sendable () -> Void)? = nil) {
        if !observations.isEmpty { return }
        observations = [
            context.observation.trackers.observe(.event, { [weak self] in self?.eventDidEnd($0) }, ended: ended),
            context.observation.trackers.observe(.save, { [weak self] in self?.contextDidSave($0) }),
        ]
        if !dependencies.isEmpty { observations.append(context.observation.trackers.observe(.slots, { _ in })) }
    }

    func end() {
        cancel()
        observations = []
        epoch += 1
    }

    /// Ends tracking permanently. Can be called on any thread.
    func cancel() { for observation in observations { observation.cancel() } }

    var isFollowing: Bool { !observations.isEmpty }

    private func eventDidEnd(_ changes: ContextChanges) {
        guard snapshot != nil else { return }
        if changes.invalidatedAll {
            forget()
            isLost = true
        } else {
            pendingChanges.add(changes)
        }
        processPendingChanges()
    }

    private func contextDidSave(_ changes: ContextChanges) {
        guard snapshot != nil else { return }
        pendingChanges.addSaved(changes, all: !dependencies.isEmpty || !request.includesPendingChanges)
        processPendingChanges()
    }

    /// Makes the next event report all earlier changes too, by a comparison with a new fetch.
    func requireComparison() { pendingChanges.isEverything = true }

    /// Processes the changes and notifies the client.
    ///
    /// Changes that the client causes are processed in further rounds, at most 8 rounds in all. The remaining changes
    /// are processed at the next event.
    private func processPendingChanges() {
        if isBusy { return }
        isBusy = true
        defer { isBusy = false }
        for _ in 0..<8 {
            guard isFollowing else { return }
            if !unsaved.isEmpty { takeRenamed() }
            if isLost {
                isLost = false
                client?.resultsWereLost(nil)
            } else if !pendingChanges.isEmpty {
                let taken = pendingChanges
                pendingChanges = PendingResultsChanges()
                let began = epoch
                do { try context.faultLoader.exemptFromFaultPolicy { try apply(taken) } } catch {
                    guard began == epoch else { continue }
                    forget()
                    client?.resultsWereLost(error as? CoreError ?? CoreError(.callback, "\(error)"))
                }
            } else {
                return
            }
        }
    }

    /// Runs `body`, which notifies the client. Changes that the client causes are processed afterwards.
    func notifying(_ body: () throws -> Void) rethrows {
        let wasBusy = isBusy
        isBusy = true
        defer {
            isBusy = wasBusy
            processPendingChanges()
        }
        try body()
    }

    private func apply(_ pendingChanges: PendingResultsChanges) throws {
        guard let former = snapshot, let client else { return }
        // Predicates, comparators and section name functions may run code of the application. If that code fetches
        // again or resets the context, this update is obsolete.
        let began = epoch
        let change = try context.withAncestors { () -> ResultsUpdate? in
            if hasOtherStores { leaveOutRemovedStores() }
            if pendingChanges.isEverything || hasOtherStores || mayAffectUnreachableResults(pendingChanges.merged) {
                return try updateByFetching(former, pendingChanges)
            }
            return try update(former, pendingChanges)
        }
        guard let change, began == epoch else { return }
        let (sections, changes) = change.rearrangement.changes()
        if sections.isEmpty && changes.isEmpty && !(client.observesRenames && !change.renamed.isEmpty) {
            return commit(change)
        }
        let objects = try changes.map { try change.objects[$0.objectID] ?? object(of: $0.objectID) }
        client.resultsWillChange()
        guard began == epoch else {
            if isLost { client.resultsDidNotChange() }
            return
        }
        commit(change)
        client.resultsDidChange(
            ResultsDifference(
                from: former, to: change.snapshot, sections, changes, renamed: change.renamed), objects: objects)
    }

    /// Removes closed stores from the request's affected stores.
    private func leaveOutRemovedStores() {
        let open = context.coordinator.stores
        request.affectedStores?.removeAll { store in !open.contains { $0 === store } }
    }

    /// Whether merged saves may affect results that cannot be found from the changed objects.
    ///
    /// The relationships from the results to the changed objects no longer exist: members were deleted, or unsaved
    /// changes replaced the relationships.
    private func mayAffectUnreachableResults(_ merged: [ChangedIDs]) -> Bool {
        if dependencies.isEmpty || merged.isEmpty { return false }
        return context.hasChanges || dependencies.mayHaveLost(merged)
    }

    private func object(of id: ObjectID) throws -> ManagedObject {
        try members[id]?.object ?? context.objectOrDetached(of: id)
    }

    private func commit(_ change: ResultsUpdate) {
        if let fresh = change.fresh { return setResults(fresh) }
        var ended: [Member?] = []
        for (row, object) in change.removed {
            ended.append(members.removeValue(forKey: row.id))
            if row.id.isTemporary { unsaved[ObjectIdentifier(object)] = nil }
        }
        for (row, object) in change.inserted {
            members[row.id] = Member(row: row, object: holdsObjects ? object : nil)
            if row.id.isTemporary { unsaved[ObjectIdentifier(object)] = row.id }
        }
        snapshot = change.snapshot
        withExtendedLifetime(ended) {}
        checkInvariants()
    }

    /// Updates members whose IDs became permanent without a notification.
    ///
    /// A parent's save assigns permanent IDs to objects that this context may have released.
    func takeRenamed() {
        if context.parent == nil { return }
        for (place, id) in unsaved where context.identityMap.permanentKey(of: id.reference, root: id.entity.root) != nil
        {
            guard let member = members[id], let object = context.identityMap.registered(with: id) else { continue }
            unsaved[place] = nil
            unsaved[ObjectIdentifier(object)] = id
            pendingChanges.noteRenamed(member.object ?? object)
        }
    }
}
