import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension ResultsTracker {
    /// The result of a fetch.
    struct Fetched {
        var rows: [ResultsRow] = []
        /// The objects; nil elements if only IDs are retained.
        var objects: [ManagedObject?] = []
        var sections = SectionTable()
    }

    func fetched(sections cached: SectionTable? = nil) throws -> Fetched {
        var found = Fetched()
        var known = cached
        if request.batchSize > 0 {
            let cursor = try context.cursor(request, batchSize: max(request.batchSize, 256))
            while case let batch = try cursor.next(), !batch.isEmpty { try add(batch, to: &found, &known) }
        } else {
            try add(try context.fetch(request), to: &found, &known)
        }
        try sort(&found)
        if naming == nil {
            found.sections = SectionTable(undivided: found.rows.count)
        } else {
            found.sections = try SectionTable(of: found.rows)
        }
        return found
    }

    /// Returns the results of a context without open stores: inserted objects that match the request.
    func foundUnsaved() throws -> Fetched {
        var found = Fetched()
        var known: SectionTable?
        let objects = context.insertedObjects.filter { request.concerns($0.entity) }
        try add(try objects.filter(isResult), to: &found, &known)
        try sort(&found)
        let count = request.limit > 0 ? request.limit : found.rows.count
        found.rows = Array(found.rows.dropFirst(request.offset).prefix(count))
        found.objects = Array(found.objects.dropFirst(request.offset).prefix(count))
        found.sections = try naming == nil ? SectionTable(undivided: found.rows.count) : SectionTable(of: found.rows)
        return found
    }

    private func add(_ objects: [ManagedObject], to found: inout Fetched, _ known: inout SectionTable?) throws {
        found.rows.reserveCapacity(found.rows.count + objects.count)
        for object in objects {
            let place = found.rows.count
            let section = known.map { place < $0.starts[$0.count] ? $0.names[$0.section(of: place)] : .none }
            let row = try row(of: object, section: section)
            found.rows.append(row)
            found.objects.append(holdsObjects ? object : nil)
        }
    }

    /// Sorts the rows. Without sort descriptors, they are sorted by the tie-breaker, not in the store's order.
    private func sort(_ found: inout Fetched) throws {
        let rows = found.rows
        let isSorted = try zip(rows, rows.dropFirst()).allSatisfy { try sorts.precedes($0, $1) }
        if isSorted { return }
        let order = try rows.indices.sorted { try sorts.precedes(rows[$0], rows[$1]) }
        found.rows = order.map { rows[$0] }
        found.objects = order.map { found.objects[$0] }
    }

    // MARK: One object

    func row(of object: ManagedObject, section: SectionName? = nil) throws -> ResultsRow {
        let keys = try context.fetchExecutor.sortKeys(of: object, sorts, usesSaved: !request.includesPendingChanges)
        return ResultsRow(
            id: object.objectID, tiebreaker: SortTiebreaker(object), keys: keys,
            section: try section ?? self.section(of: object, keys))
    }

    private func section(of object: ManagedObject, _ keys: [PropertyValue]) throws -> SectionName {
        guard let naming else { return .none }
        // Most sections are named by the first sort key, whose value was already read.
        if let path = naming.keyPath, path == sorts.first?.keyPath { return SectionNaming.name(keys[0]) }
        return try naming.name(of: object, in: context, usesSaved: !request.includesPendingChanges)
    }

    /// Whether a fetch would return the object, regardless of offset and limit.
    func isResult(_ object: ManagedObject) throws -> Bool {
        let state = object.state
        if object.context !== context || state.contains(.detached) { return false }
        if request.includesPendingChanges {
            if state.contains(.deleted) || object.record == nil && !state.contains(.inserted) { return false }
        } else if state.contains(.inserted) || object.record == nil || context.changeMerger.isDeletedElsewhere(object)
            || context.changeMerger.isRowGone(object)
        {
            return false
        }
        if let stores = request.affectedStores, let store = object.store, !stores.contains(where: { $0 === store }) {
            return false
        }
        return try context.fetchExecutor.matches(object, predicate, request, refersToOtherObjects: refersToOtherObjects)
    }
}

extension FetchRequest {
    func concerns(_ entity: Entity) -> Bool {
        includesSubentities ? entity.isKind(of: self.entity) : entity === self.entity
    }
}
