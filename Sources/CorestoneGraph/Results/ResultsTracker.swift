import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// Who keeps results, and hears how they change. On the context's queue.
protocol ResultsClient: AnyObject {
    /// Whether it wants to hear of IDs that became permanent, where nothing else changed.
    var hearsRenames: Bool { get }
    /// Results are about to change: they are what they were.
    func resultsWillChange()
    /// They have changed. `objects` are those of the difference's changes.
    func resultsDidChange(_ difference: ResultsDifference, objects: [ManagedObject])
    /// The context was reset by the client while it was told that results are about to change: nothing becomes of that.
    func resultsDidNotChange()
    /// The context was reset, or tracking failed: there are no results any more.
    func resultsWereLost(_ error: CoreError?)
}

/// The results of a request, kept as a fetch would give them while objects come, change and go.
///
/// It keeps of each object the ID and the values of its sort keys; the order by these, and by the tie of equal ones, is total, so
/// a search finds the place of any object, whatever has happened to others meanwhile. An object that an event changed is looked
/// at, and taken out, put in, or put elsewhere.
final class ResultsTracker {
    /// The context holds it by what it listens to, and outlives that.
    unowned(unsafe) let context: Context
    let request: FetchRequest
    let naming: SectionNaming?
    let dependencies: DependencyPaths
    /// With the meaning that it has in memory.
    let predicate: Predicate?
    let leadsOn: Bool
    /// Whether it keeps its objects, beside their IDs.
    let holdsObjects: Bool
    private(set) weak var client: (any ResultsClient)?

    /// What there is now; nil before the first fetch, and after a reset.
    private(set) var snapshot: ResultsSnapshot?
    private var members: [ObjectID: Member] = [:]
    /// The IDs under which members stand whose IDs were temporary when they came.
    private var unsaved: [ObjectIdentifier: ObjectID] = [:]
    /// The stores that were asked.
    private var stores: [UInt32] = []

    /// What happened and was not looked at yet.
    var news = ResultsNews()
    private var isBusy = false
    /// The context was reset, and the client was not told yet.
    private(set) var isLost = false
    /// Raised with each fetch and each reset, so that who calls the client notices.
    private(set) var epoch = 0
    private var observations: [Observation] = []

    struct Member {
        let row: ResultsRow
        /// Of a tracker that keeps its objects.
        let object: ManagedObject?
    }

    init(
        _ request: FetchRequest, _ naming: SectionNaming?, dependencies: [String], in context: Context,
        holdsObjects: Bool, client: any ResultsClient
    ) throws {
        try request.requireObjects()
        try request.resolve(in: context.coordinator.model)
        self.context = context
        self.request = request.copy()
        // Its rows tell the sort keys.
        self.request.includesPropertyValues = true
        predicate = request.effectivePredicate
        leadsOn = predicate?.leadsOn ?? false
        self.naming = naming
        self.holdsObjects = holdsObjects
        self.client = client
        self.dependencies = try DependencyPaths(dependencies, of: self.request, naming)
    }

    deinit { end() }

    var sorts: [SortDescriptor] { request.sortDescriptors }

    // MARK: Fetching

    /// Fetches anew.
    /// - Parameter cache: the sections as they were found before, if they are known to be still right.
    func fetch(sections cached: SectionTable? = nil) throws {
        let fresh = try fetched(sections: cached)
        epoch += 1
        take(fresh)
        news = ResultsNews()
        isLost = false
    }

    private func take(_ fresh: Fetched) {
        var all: [ObjectID: Member] = Dictionary(minimumCapacity: fresh.rows.count)
        unsaved = [:]
        for (place, row) in fresh.rows.enumerated() {
            let object = fresh.objects[place]
            all[row.id] = Member(row: row, object: object)
            if row.id.isTemporary, let object = object ?? context.registered(with: row.id) {
                unsaved[ObjectIdentifier(object)] = row.id
            }
        }
        // Objects that end now look at the context.
        let former = members
        members = all
        withExtendedLifetime(former) {}
        snapshot = ResultsSnapshot(RowList(fresh.rows), fresh.sections)
        stores = context.coordinator.stores.map(\.number)
    }

    private func forget() {
        epoch += 1
        let former = members
        members = [:]
        withExtendedLifetime(former) {}
        (unsaved, snapshot, news) = ([:], nil, ResultsNews())
    }

    /// Whether stores came or went since the fetch.
    private var hasOtherStores: Bool { context.coordinator.stores.map(\.number) != stores }

    // MARK: Members

    func member(_ object: ManagedObject) -> Member? {
        if let member = members[object.objectID] { return member }
        // Its ID has become permanent.
        return unsaved.isEmpty ? nil : unsaved[ObjectIdentifier(object)].flatMap { members[$0] }
    }

    func member(_ id: ObjectID) -> Member? { members[id] }

    /// Of an object that has left the context unheard, a fault stands for the row, which is gone perhaps.
    func object(of row: ResultsRow) throws -> ManagedObject {
        if let object = members[row.id]?.object, !object.isGone { return object }
        return try context.objectOrStandIn(of: row.id)
    }

    /// The place of a row that is in a list.
    func place(of row: ResultsRow, in list: RowList) throws -> Int {
        let place = try list.partition { try sorts.precedes($0, row) }
        if place < list.count, list[place] === row { return place }
        // A comparator of the host's that contradicts itself.
        guard let place = list.all.firstIndex(where: { $0 === row }) else {
            throw CoreError(
                .internal,
                "the results of \(request.entity.name) no longer contain \(row.id.uri). Make the comparators of the sort "
                    + "descriptors consistent, or report it as a defect of the library if there are none",
                entity: request.entity.name, objectURI: row.id.uri)
        }
        return place
    }

    // MARK: Following

    /// Follows the context's changes from now on.
    /// - Parameter ended: called when the context ends before that.
    func begin(ended: (@Sendable () -> Void)? = nil) {
        if !observations.isEmpty { return }
        observations = [
            context.observation.trackers.observe(.event, { [weak self] in self?.hear($0) }, ended: ended),
            context.observation.trackers.observe(.save, { [weak self] in self?.hearSave($0) }),
        ]
        if !dependencies.isEmpty { observations.append(context.observation.trackers.observe(.slots, { _ in })) }
    }

    func end() {
        cancel()
        observations = []
        epoch += 1
    }

    /// The same for good, and from any thread.
    func cancel() { for observation in observations { observation.cancel() } }

    var isFollowing: Bool { !observations.isEmpty }

    private func hear(_ changes: ContextChanges) {
        guard snapshot != nil else { return }
        if changes.invalidatedAll {
            forget()
            isLost = true
        } else {
            news.add(changes)
        }
        catchUp()
    }

    private func hearSave(_ changes: ContextChanges) {
        guard snapshot != nil else { return }
        news.addSaved(changes, all: !dependencies.isEmpty || !request.includesPendingChanges)
        catchUp()
    }

    /// The next change is told with all that happened meanwhile.
    func mistrust() { news.isEverything = true }

    /// Looks at what happened, and tells the client. What the client causes is looked at afterwards, 8 times at most: then the
    /// rest waits for the next event.
    private func catchUp() {
        if isBusy { return }
        isBusy = true
        defer { isBusy = false }
        for _ in 0..<8 {
            guard isFollowing else { return }
            if !unsaved.isEmpty { takeRenamed() }
            if isLost {
                isLost = false
                client?.resultsWereLost(nil)
            } else if !news.isEmpty {
                let taken = news
                news = ResultsNews()
                let began = epoch
                do { try context.exemptFromFaultPolicy { try apply(taken) } } catch {
                    guard began == epoch else { continue }
                    forget()
                    client?.resultsWereLost(error as? CoreError ?? CoreError(.callback, "\(error)"))
                }
            } else {
                return
            }
        }
    }

    /// Runs `body`, which tells the client something; what that causes is looked at afterwards.
    func telling(_ body: () throws -> Void) rethrows {
        let wasBusy = isBusy
        isBusy = true
        defer {
            isBusy = wasBusy
            catchUp()
        }
        try body()
    }

    private func apply(_ news: ResultsNews) throws {
        guard let former = snapshot, let client else { return }
        // Predicates, comparators and names of sections may be the host's. One that fetched anew, or reset the context, has put
        // other results in the place of these, and told what there was to tell.
        let began = epoch
        let change = try context.withAncestors { () -> ResultsUpdate? in
            if hasOtherStores { leaveOutRemovedStores() }
            if news.isEverything || hasOtherStores || isBeyondFollowing(news.merged) {
                return try updateByFetching(former, news)
            }
            return try update(former, news)
        }
        guard let change, began == epoch else { return }
        let (sections, changes) = change.rearrangement.changes()
        if sections.isEmpty && changes.isEmpty && !(client.hearsRenames && !change.renamed.isEmpty) {
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

    /// A request that names a store asks for the rest once that is gone.
    private func leaveOutRemovedStores() {
        let open = context.coordinator.stores
        request.affectedStores?.removeAll { store in !open.contains { $0 === store } }
    }

    /// Whether what others saved may concern results to which nothing leads any more: members of theirs that were deleted, or that
    /// are elsewhere by changes that were not saved.
    private func isBeyondFollowing(_ merged: [ChangedIDs]) -> Bool {
        if dependencies.isEmpty || merged.isEmpty { return false }
        return context.hasChanges || dependencies.mayHaveLost(merged)
    }

    private func object(of id: ObjectID) throws -> ManagedObject {
        try members[id]?.object ?? context.objectOrStandIn(of: id)
    }

    private func commit(_ change: ResultsUpdate) {
        if let fresh = change.fresh { return take(fresh) }
        var ended: [Member?] = []
        for (row, object) in change.gone {
            ended.append(members.removeValue(forKey: row.id))
            if row.id.isTemporary { unsaved[ObjectIdentifier(object)] = nil }
        }
        for (row, object) in change.come {
            members[row.id] = Member(row: row, object: holdsObjects ? object : nil)
            if row.id.isTemporary { unsaved[ObjectIdentifier(object)] = row.id }
        }
        snapshot = change.snapshot
        withExtendedLifetime(ended) {}
    }

    /// Members get the IDs that became permanent while nobody told: a parent's save renames objects that this context may have
    /// let go of.
    func takeRenamed() {
        if context.parent == nil { return }
        for (place, id) in unsaved where context.permanentKey(of: id.reference, root: id.entity.root) != nil {
            guard let member = members[id], let object = context.registered(with: id) else { continue }
            unsaved[place] = nil
            unsaved[ObjectIdentifier(object)] = id
            news.noteRenamed(member.object ?? object)
        }
    }
}
