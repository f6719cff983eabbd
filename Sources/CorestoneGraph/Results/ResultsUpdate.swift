import CorestonePredicate
import CorestoneValues

// How tracked results follow the changes of a context. All steps run on the context's queue. The thread waits for other
// contexts only in `Context.withAncestors`, which holds the parents while the update is computed.
//
// 1. `ResultsTracker.begin` observes the ends of events and the saves of the context (`ContextObservation.trackers`).
// 2. `eventDidEnd` and `contextDidSave` add the changes to `pendingChanges`. A reset of the context discards the
//    results, and the client receives `resultsWereLost`.
// 3. `processPendingChanges` removes the collected changes and applies them (`apply`). Calls within it return
//    immediately (`isBusy`), so changes that the client causes are applied in a further round, at most 8 in all.
// 4. `apply` selects `updateByFetching` if the changes are unknown, if stores were added or removed, or if the results
//    that merged saves affect cannot be found from the changed objects (`mayAffectUnreachableResults`). Otherwise it
//    selects `update`.
// 5. `update` collects the candidates: changed objects of the request's entity, merged and saved ones, and owners of
//    dependencies (`candidates`). With an offset, any candidate may shift all results, so `update` fetches instead.
// 6. `outcome` reads missing rows, evaluates the request for each candidate (`isResult`), and compares the new row with
//    the member: the object is removed, inserted, moved (`replaced`), updated, or not affected. If positions change and
//    the request has a limit, `update` fetches instead.
// 7. `place` finds positions by binary search in the total order of sort keys and tie-breaker. `rearrange` changes a
//    copy of the list, and `sections` derives the new sections from the former ones.
// 8. `updateByFetching` fetches again and compares the lists by the former row of each object. As many rows as possible
//    stay in their former order (`longestIncreasingSubsequence`); other common rows have moved.
// 9. `apply` compares `ResultsTracker.epoch`. If code of the application fetched again or reset the context in the
//    meantime, the update is discarded. An update without a visible change is committed without a notification.
// 10. The client receives `resultsWillChange` while the results are still the former ones. If it fetched again or reset
//     the context there, the update is discarded; after a reset, it receives `resultsDidNotChange`.
// 11. `commit` replaces members and snapshot, and the client receives `resultsDidChange` with the difference.
// 12. If an error is thrown before that, by a read, a predicate or a comparator, the results are discarded and the
//     client receives `resultsWereLost` with the error. After another fetch or a reset, the error is ignored.

/// The changed results, before the client is notified.
struct ResultsUpdate {
    let snapshot: ResultsSnapshot
    let rearrangement: Rearrangement
    /// The known objects of the changes, by ID.
    var objects: [ObjectID: ManagedObject] = [:]
    var renamed: [(former: ObjectID, id: ObjectID)] = []
    /// The rows whose members are removed.
    var removed: [(row: ResultsRow, object: ManagedObject)] = []
    /// The rows whose members are added.
    var inserted: [(row: ResultsRow, object: ManagedObject)] = []
    /// The new results, if they were fetched again.
    var fresh: ResultsTracker.Fetched?
}

/// The distinct objects that an event may have inserted, changed or deleted.
private struct Candidates {
    private(set) var all: [(object: ManagedObject, isUpdated: Bool)] = []
    private var places: [ObjectIdentifier: Int] = [:]

    mutating func add(_ object: ManagedObject, isUpdated: Bool) {
        let place = places[ObjectIdentifier(object)]
        if let place {
            if isUpdated { all[place].isUpdated = true }
        } else {
            places[ObjectIdentifier(object)] = all.count
            all.append((object, isUpdated))
        }
    }
}

/// The effects of an event on the results.
private struct Outcome {
    var removed: [(row: ResultsRow, object: ManagedObject)] = []
    var inserted: [(row: ResultsRow, object: ManagedObject)] = []
    var replaced: [(former: ResultsRow, row: ResultsRow, object: ManagedObject, isUpdated: Bool)] = []
    var updated: [(row: ResultsRow, object: ManagedObject)] = []

    var isEmpty: Bool { removed.isEmpty && inserted.isEmpty && replaced.isEmpty && updated.isEmpty }
    var keepsPositions: Bool { removed.isEmpty && inserted.isEmpty && replaced.isEmpty }

    var objects: [ObjectID: ManagedObject] {
        var all: [ObjectID: ManagedObject] = [:]
        for (row, object) in removed + inserted + updated { all[row.id] = object }
        for one in replaced { all[one.row.id] = one.object }
        return all
    }
}

// MARK: - By changes

extension ResultsTracker {
    /// Returns the results after an event; nil if they did not change.
    func update(_ former: ResultsSnapshot, _ pendingChanges: PendingResultsChanges) throws -> ResultsUpdate? {
        let candidates = try candidates(pendingChanges)
        // A change before the offset may shift all results.
        if request.offset > 0, !candidates.all.isEmpty { return try updateByFetching(former, pendingChanges) }
        let outcome = try outcome(of: candidates)
        if outcome.isEmpty { return nil }
        if !outcome.keepsPositions, request.limit > 0 { return try updateByFetching(former, pendingChanges) }
        var list = former.rows
        var change = Rearrangement(former: former.sections, new: former.sections)
        for (row, _) in outcome.updated {
            let place = try place(of: row, in: list)
            change.updated.append((place, place, row))
        }
        if outcome.keepsPositions {
            return ResultsUpdate(snapshot: former, rearrangement: change, objects: outcome.objects)
        }
        let leaving = try outcome.removed.map { ($0.row, try place(of: $0.row, in: list)) }
        let replaced = try outcome.replaced.map { ($0, try place(of: $0.former, in: list)) }
        let newRows = outcome.inserted.map(\.row) + outcome.replaced.map(\.row)
        let places = leaving.map(\.1) + replaced.map(\.1)
        // A row has two objects if an object has left its context and another object replaced it.
        let concerned = places + change.updated.map(\.former)
        if Set(concerned).count < concerned.count { return try updateByFetching(former, pendingChanges) }
        try rearrange(&list, removing: places, inserting: newRows)
        for (row, place) in leaving { change.removed.append((place, row)) }
        for (row, _) in outcome.inserted { change.inserted.append((try place(of: row, in: list), row)) }
        for (one, former) in replaced {
            change.replaced.append((former, try place(of: one.row, in: list), one.row, one.isUpdated))
        }
        for index in change.updated.indices {
            change.updated[index].place = try place(of: change.updated[index].row, in: list)
        }
        let sections = try sections(of: list, former.sections, change)
        change = change.ending(in: sections)
        var update = ResultsUpdate(
            snapshot: ResultsSnapshot(list, sections), rearrangement: change, objects: outcome.objects)
        update.removed = outcome.removed + outcome.replaced.map { ($0.former, $0.object) }
        update.inserted = outcome.inserted + outcome.replaced.map { ($0.row, $0.object) }
        update.renamed = outcome.replaced.filter { $0.former.id != $0.row.id }.map { ($0.former.id, $0.row.id) }
        return update
    }

    /// Removes rows by position, and inserts new rows at their sorted positions.
    private func rearrange(_ list: inout RowList, removing places: [Int], inserting newRows: [ResultsRow]) throws {
        let removed = places.sorted()
        if removed.count + newRows.count <= 32 {
            for place in removed.reversed() { list.remove(at: place) }
            for row in newRows { list.insert(row, at: try list.partition { try sorts.precedes($0, row) }) }
            return
        }
        // For many rows, a single pass over the whole list is faster.
        var rest = removed[...]
        let staying = list.all.enumerated().filter { place, _ in
            if rest.first == place {
                rest.removeFirst()
                return false
            }
            return true
        }.map(\.element)
        let added = try newRows.sorted { try sorts.precedes($0, $1) }
        var merged: [ResultsRow] = []
        merged.reserveCapacity(staying.count + added.count)
        var next = 0
        for row in staying {
            while next < added.count, try sorts.precedes(added[next], row) {
                merged.append(added[next])
                next += 1
            }
            merged.append(row)
        }
        list = RowList(merged + added[next...])
    }

    /// Returns the sections of the new list, from the former sections and the changes.
    private func sections(of list: RowList, _ former: SectionTable, _ change: Rearrangement) throws -> SectionTable {
        if naming == nil { return SectionTable(undivided: list.count) }
        // The number of rows that each former section keeps, and the number of new rows by name, with their first
        // position.
        var staying = former.names.indices.map { former.count(of: $0) }
        for (place, _) in change.removed { staying[former.section(of: place)] -= 1 }
        for one in change.replaced { staying[former.section(of: one.former)] -= 1 }
        let newRows = (change.inserted + change.replaced.map { ($0.place, $0.row) }).sorted { $0.place < $1.place }
        var newSections: [SectionName: (first: Int, count: Int)] = [:]
        for (place, row) in newRows { newSections[row.section, default: (place, 0)].count += 1 }
        var old = former.names.indices.filter { staying[$0] > 0 }.map { (name: former.names[$0], count: staying[$0]) }
        for index in old.indices {
            if let more = newSections.removeValue(forKey: old[index].name) { old[index].count += more.count }
        }
        let fresh = newSections.sorted { $0.value.first < $1.value.first }
        var (sections, nextOld, nextFresh) = (SectionTable(), 0, 0)
        while nextOld < old.count || nextFresh < fresh.count {
            let place = sections.starts[sections.count]
            if nextFresh < fresh.count, fresh[nextFresh].value.first <= place || nextOld == old.count {
                sections.append(fresh[nextFresh].key, fresh[nextFresh].value.count)
                nextFresh += 1
            } else {
                sections.append(old[nextOld].name, old[nextOld].count)
                nextOld += 1
            }
        }
        // The table is valid if every new row is in its section. Otherwise, the table is created from all rows, and its
        // error names the first row that is out of order.
        let isRight = newRows.allSatisfy { place, row in sections.names[sections.section(of: place)] == row.section }
        return isRight ? sections : try SectionTable(of: list.all)
    }

    // MARK: Candidates

    private func candidates(_ pendingChanges: PendingResultsChanges) throws -> Candidates {
        var found = Candidates()
        for object in pendingChanges.touched where request.concerns(object) { found.add(object, isUpdated: true) }
        let deletedIDs = Set(pendingChanges.touched.lazy.filter { $0.isDeleted || $0.isGone }.map(\.objectID))
        for ids in pendingChanges.merged {
            for id in ids.updated + ids.refreshed + ids.inserted + ids.deleted where request.concerns(id.entity) {
                // An object that left the context is already a candidate, and so is its replacement.
                if deletedIDs.contains(id) { continue }
                if let object = known(id) { found.add(object, isUpdated: true) }
            }
        }
        for object in pendingChanges.saved where request.concerns(object) { found.add(object, isUpdated: false) }
        if dependencies.isEmpty { return found }
        for object in pendingChanges.touched {
            try addOwners(of: object, pendingChanges.slots[ObjectIdentifier(object)], to: &found)
        }
        for ids in pendingChanges.merged {
            for id in ids.updated + ids.refreshed where dependencies.mayDependOn(id.entity) {
                if let object = try? context.object(with: id) { try addOwners(of: object, nil, to: &found) }
            }
        }
        for object in pendingChanges.saved {
            try dependencies.forEachOwner(of: object) { owner, _ in found.add(owner, isUpdated: false) }
        }
        return found
    }

    private func addOwners(of object: ManagedObject, _ slots: Set<Int>?, to found: inout Candidates) throws {
        try dependencies.forEachOwner(of: object, slots) { found.add($0, isUpdated: $1) }
    }

    /// Returns the object of an ID whose row another writer changed.
    private func known(_ id: ObjectID) -> ManagedObject? { member(id)?.object ?? (try? context.object(with: id)) }

    private func outcome(of candidates: Candidates) throws -> Outcome {
        _ = try context.faultLoader.loadRows(
            of: candidates.all.map(\.object).filter { $0.context === context && !$0.isDeleted })
        var outcome = Outcome()
        for (object, isUpdated) in candidates.all {
            let former = member(object)?.row
            let row = try isResult(object) ? self.row(of: object) : nil
            switch (former, row) {
            case (nil, nil): break
            case (let former?, nil): outcome.removed.append((former, object))
            case (nil, let row?): outcome.inserted.append((row, object))
            case (let former?, let row?):
                if try row.hasPlace(of: former, sorts) {
                    if isUpdated { outcome.updated.append((former, object)) }
                } else {
                    outcome.replaced.append((former, row, object, isUpdated))
                }
            }
        }
        return outcome
    }
}

extension Rearrangement {
    fileprivate func ending(in new: SectionTable) -> Rearrangement {
        var copy = Rearrangement(former: former, new: new)
        (copy.removed, copy.inserted, copy.replaced, copy.updated) = (removed, inserted, replaced, updated)
        return copy
    }
}

// MARK: - By another fetch

extension ResultsTracker {
    /// Fetches again, and returns the changed results.
    func updateByFetching(_ former: ResultsSnapshot, _ pendingChanges: PendingResultsChanges) throws -> ResultsUpdate {
        let candidates = try candidates(pendingChanges).all
        let touched = Set(candidates.lazy.filter(\.isUpdated).map { ObjectIdentifier($0.object) })
        let fresh = try context.coordinator.stores.isEmpty ? foundUnsaved() : fetched()
        // A member whose ID became permanent is still the same object.
        var before: [ResultsRow?] = []
        var renamed: [(former: ObjectID, id: ObjectID)] = []
        var isUpdated: [Bool] = []
        for (place, row) in fresh.rows.enumerated() {
            let object = fresh.objects[place] ?? context.identityMap.registered(with: row.id)
            let known = object.flatMap { member($0) } ?? member(row.id)
            before.append(known?.row)
            if let known, known.row.id != row.id { renamed.append((known.row.id, row.id)) }
            isUpdated.append(object.map { touched.contains(ObjectIdentifier($0)) } ?? false)
        }
        let change = Rearrangement(
            from: former, to: ResultsSnapshot(RowList(fresh.rows), fresh.sections), before: before, isUpdated: isUpdated
        )
        var update = ResultsUpdate(
            snapshot: ResultsSnapshot(RowList(fresh.rows), fresh.sections), rearrangement: change)
        update.renamed = renamed
        for (place, object) in fresh.objects.enumerated() { update.objects[fresh.rows[place].id] = object }
        // The fetch may have processed pending changes, which are then in `self.pendingChanges`.
        for object in candidates.map(\.object) + self.pendingChanges.touched {
            // If a row was inserted again, its new object is reported, not the deleted one.
            if let row = member(object)?.row, !object.isDeleted && !object.isGone || update.objects[row.id] == nil {
                update.objects[row.id] = object
            }
        }
        update.fresh = fresh
        return update
    }
}

extension Rearrangement {
    /// Creates the changes between two lists.
    ///
    /// - Parameters:
    ///   - before: For each new row, the former row of the same object.
    ///   - isUpdated: For each new row, whether its object was changed.
    init(from former: ResultsSnapshot, to new: ResultsSnapshot, before: [ResultsRow?], isUpdated: [Bool]) {
        self.init(former: former.sections, new: new.sections)
        let old = former.rows.all, rows = new.rows.all
        var places: [ObjectIdentifier: Int] = Dictionary(minimumCapacity: old.count)
        for (place, row) in old.enumerated() { places[ObjectIdentifier(row)] = place }
        var common: [(former: Int, place: Int)] = []
        for (place, row) in rows.enumerated() {
            let known = before[place].flatMap { places.removeValue(forKey: ObjectIdentifier($0)) }
            if let known { common.append((known, place)) } else { inserted.append((place, row)) }
        }
        removed = places.values.sorted().map { ($0, old[$0]) }
        var stays = [Bool](repeating: false, count: common.count)
        // A row whose section changes cannot stay in its former order.
        let candidates = common.indices.filter { old[common[$0].former].section == rows[common[$0].place].section }
        for index in longestIncreasingSubsequence(candidates.map { common[$0].former }) {
            stays[candidates[index]] = true
        }
        for (index, one) in common.enumerated() {
            let row = rows[one.place]
            if !stays[index] {
                replaced.append((one.former, one.place, row, isUpdated[one.place]))
            } else if isUpdated[one.place] {
                updated.append((one.former, one.place, row))
            }
        }
    }
}
