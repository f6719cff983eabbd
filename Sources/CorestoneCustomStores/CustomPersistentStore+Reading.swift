import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension CustomPersistentStore {
    private func sink(_ purpose: RowSink.Purpose) -> RowSink {
        let sink = RowSink(purpose, names, place)
        sink.versionOf = { [unowned self] in version($0, $1) }
        recordStates(sink)
        return sink
    }

    // MARK: Fetching

    func fetch(_ fetch: StoreFetch) throws -> StoreFetchOutcome {
        try calls.refuseReentry()
        // A count does not depend on the order.
        let fetch = fetch.result == .count ? fetch.unordered : fetch
        let sink = sink(.fetch(fetch))
        let answer = try calls.run("fetch \(fetch.entity.name)", fetch.entity) { try host.fetch(fetch, into: sink) }
        let remaining = try RemainingFetch(fetch, answer.done, place)
        if answer.done.contains(.count) {
            var outcome = StoreFetchOutcome()
            outcome.count = try remaining.count(answer.count, fetch, place)
            return outcome
        }
        var seen: Set<Int64> = []
        let places = sink.rows.indices.filter { index in
            let row = sink.rows[index]
            return (fetch.includesSubentities || row.entity === fetch.entity) && seen.insert(row.key).inserted
        }
        try complete(sink)
        retainMembers(sink)
        return try outcome(fetch, remaining, sink, places)
    }

    private func outcome(
        _ fetch: StoreFetch, _ remaining: RemainingFetch, _ sink: RowSink, _ found: [Int]
    ) throws -> StoreFetchOutcome {
        var outcome = StoreFetchOutcome()
        var places = found
        if remaining.predicate == nil, !remaining.order, remaining.window {
            places = Array(places.dropFirst(fetch.offset))
            if fetch.limit > 0 { places = Array(places.prefix(fetch.limit)) }
        }
        if remaining.predicate != nil || remaining.order {
            outcome.remainder = FetchRemainder(
                predicate: remaining.predicate, isUnordered: remaining.order, reasons: remaining.reasons(place))
            outcome.batch = try rows(sink, places, fetch.entity.root)
            return outcome
        }
        switch fetch.result {
        case .count: outcome.count = places.count
        case .identifiers: outcome.identifiers = identifiers(sink, places)
        case .rows:
            guard fetch.allowsFaults, places.contains(where: { sink.rows[$0].record == nil }) else {
                outcome.batch = try rows(sink, places, fetch.entity.root)
                break
            }
            outcome.identifiers = identifiers(sink, places)
            outcome.batch = batch(sink, places)
        }
        return outcome
    }

    private func identifiers(_ sink: RowSink, _ places: [Int]) -> [(primaryKey: Int64, entity: UInt32)] {
        places.map { (sink.rows[$0].key, sink.rows[$0].entity.index) }
    }

    /// Returns the rows that have values.
    private func batch(_ sink: RowSink, _ places: [Int]) -> RowBatch {
        var batch = RowBatch()
        for place in places { if let record = sink.rows[place].record { batch.records.append(record) } }
        batch.chunks = sink.writer.chunks
        return batch
    }

    /// Returns all existing rows, in order. Rows that were pushed as references are read.
    private func rows(_ sink: RowSink, _ places: [Int], _ root: Entity) throws -> RowBatch {
        let missing = places.filter { sink.rows[$0].record == nil }.map { sink.rows[$0].key }
        if missing.isEmpty { return batch(sink, places) }
        let read = try rows(of: root, primaryKeys: missing)
        var byKey: [Int64: Record] = [:]
        for record in read.records { byKey[record.primaryKey] = record }
        var batch = RowBatch()
        for place in places {
            if let record = sink.rows[place].record ?? byKey[sink.rows[place].key] { batch.records.append(record) }
        }
        batch.chunks = sink.writer.chunks + read.chunks
        return batch
    }

    func explain(_ fetch: StoreFetch) throws -> FetchExplanation.Share? { nil }

    // MARK: Rows

    func rows(of root: Entity, primaryKeys: [Int64]) throws -> RowBatch {
        try calls.refuseReentry()
        var batch = RowBatch()
        let kept = takePushedRows(primaryKeys, root)
        for row in kept {
            batch.records.append(row.record)
            if batch.chunks.last !== row.chunk { batch.chunks.append(row.chunk) }
        }
        let known = Set(kept.map(\.record.primaryKey))
        var missing: [Int64] = []
        var seen = known
        for key in primaryKeys where seen.insert(key).inserted { missing.append(key) }
        if missing.isEmpty { return batch }
        let sink = try read(missing, root)
        try complete(sink)
        retainMembers(sink)
        // A row that was pushed twice is added once.
        var taken = known
        for row in sink.rows {
            if let record = row.record, taken.insert(row.key).inserted { batch.records.append(record) }
        }
        batch.chunks += sink.writer.chunks
        return batch
    }

    /// Reads rows from the application.
    private func read(_ keys: [Int64], _ root: Entity) throws -> RowSink {
        let sink = sink(.values(root: root, wanted: Set(keys)))
        let rows = keys.map { names.row($0, root) }
        try calls.run(
            "read \(rows.count == 1 ? "\(rows[0].entity.name) \(rows[0].reference)" : "\(rows.count) rows of \(root.name)")",
            rows[0].entity, value: rows.count == 1 ? rows[0].reference.value : nil
        ) {
            try host.values(of: rows, into: sink)
        }
        return sink
    }

    func versions(of root: Entity, primaryKeys: [Int64]) throws -> [Int64: Int32] {
        let batch = try rows(of: root, primaryKeys: primaryKeys)
        return withExtendedLifetime(batch) {
            Dictionary(batch.records.map { ($0.primaryKey, $0.version) }) { $1 }
        }
    }

    /// Reads omitted to-one relationships, with one call for each relationship, and the unknown entities of targets.
    private func complete(_ sink: RowSink) throws {
        if host.readsRelationships {
            for (relationship, places) in sink.omitted {
                let owners = places.map { sink.rows[$0] }
                let found = try members(
                    of: relationship,
                    owners.map { RowReference($0.entity, names.table.reference(of: $0.key, $0.entity.root)) },
                    keys: owners.map(\.key))
                var targets: [(row: Int, key: Int64, entity: Entity)] = []
                for (place, keys) in zip(places, found.keys) {
                    guard let key = keys.first else { continue }
                    targets.append(
                        (place, key, names.entity(of: key, relationship.destination) ?? relationship.destination))
                }
                sink.setTargets(relationship, targets)
            }
        }
        // Only the entities of these rows are needed, so their own omitted relationships are not read. Complete rows
        // are added to the row cache.
        let unknown = sink.unresolved.filter { !names.isCertain($0.key, $0.destination) }
        var asked: [Int: Set<Int64>] = [:]
        for guess in unknown { asked[Int(guess.destination.rootIndex), default: []].insert(guess.key) }
        for (root, keys) in asked {
            let found = try read(keys.sorted(), model.entities[root])
            found.resolveTargets()
            retainMembers(found)
            cachePushedRows(found, but: found.unfinished(readsRelationships: host.readsRelationships))
        }
        sink.resolveTargets()
    }

    // MARK: Relationships

    /// Reads the members of a relationship from the application.
    private func members(
        of relationship: Relationship, _ rows: [RowReference], keys owners: [Int64]
    ) throws -> (keys: [[Int64]], sink: RowSink) {
        let sink = sink(.members(relationship, owners: owners))
        try calls.run(
            "read \(relationship.entity.name).\(relationship.name)", relationship.entity, key: relationship.name
        ) {
            try host.members(of: relationship, owners: rows, into: sink)
        }
        return (sink.members, sink)
    }

    func members(of relationship: Relationship, owners: [Int64], includingRows: Bool) throws -> StoreMembers {
        try calls.refuseReentry()
        var found: [Int64: [Int64]] = [:]
        var missing: [Int64] = []
        var sinks: [RowSink] = []
        for owner in owners {
            if let known = takePushedMembers(relationship, owner) {
                found[owner] = known
            } else {
                missing.append(owner)
            }
        }
        if !missing.isEmpty, host.readsRelationships {
            let (keys, sink) = try members(
                of: relationship, missing.map { names.row($0, relationship.entity) }, keys: missing)
            for (owner, keys) in zip(missing, keys) { found[owner] = keys }
            try complete(sink)
            sinks.append(sink)
        }
        let destination = relationship.destination
        if let sink = try readUnknownEntities(found.values.flatMap { $0 }, destination) { sinks.append(sink) }
        for sink in sinks {
            retainMembers(sink)
            if !includingRows { cachePushedRows(sink) }
        }
        var result = StoreMembers()
        var all: [Int64] = []
        for owner in owners {
            var seen: Set<Int64> = []
            for key in found[owner] ?? [] where seen.insert(key).inserted {
                let entity = names.entity(of: key, destination) ?? destination
                // Either the entity does not fit the relationship, or it is unknown because the row does not exist.
                guard entity.isKind(of: destination), !entity.isAbstract else { continue }
                result.members.append(.init(owner: owner, primaryKey: key, entity: entity.index))
                if includingRows { all.append(key) }
            }
        }
        if includingRows { result.batch = try rows(of: destination.root, all, among: sinks) }
        return result
    }

    /// Returns rows, some of which may have been pushed already.
    private func rows(of root: Entity, _ keys: [Int64], among sinks: [RowSink]) throws -> RowBatch {
        var came: [Int64: (record: Record, sink: RowSink)] = [:]
        for sink in sinks {
            for row in sink.rows { if let record = row.record { came[row.key] = (record, sink) } }
        }
        let missing = keys.filter { came[$0] == nil }
        var batch = missing.isEmpty ? RowBatch() : try rows(of: root, primaryKeys: missing)
        var seen: Set<Int64> = []
        for key in keys where seen.insert(key).inserted {
            if let record = came[key]?.record { batch.records.append(record) }
        }
        for sink in sinks { batch.chunks += sink.writer.chunks }
        return batch
    }

    /// Reads rows whose entity is unknown, to determine the entity.
    private func readUnknownEntities(_ keys: [Int64], _ destination: Entity) throws -> RowSink? {
        if destination.withDescendants.dropFirst().isEmpty { return nil }
        let unknown = Set(keys.filter { names.entity(of: $0, destination) == nil })
        if unknown.isEmpty { return nil }
        let sink = try read(unknown.sorted(), destination.root)
        try complete(sink)
        return sink
    }
}

/// The parts of a fetch that a custom store has not executed.
private struct RemainingFetch {
    let predicate: Predicate?
    let order: Bool
    let window: Bool

    init(_ fetch: StoreFetch, _ done: FetchWork, _ place: HostStoreIdentity) throws {
        predicate = done.contains(.predicate) ? nil : fetch.predicate
        order = !done.contains(.order) && !fetch.sortDescriptors.isEmpty
        window = !done.contains(.window) && (fetch.limit > 0 || fetch.offset > 0)
        if done.contains(.count), fetch.result != .count {
            throw RemainingFetch.resultError(
                "returned a count for a fetch of \(fetch.entity.name), which does not ask for one; return a count "
                    + "only for the result type CST_RESULT_COUNT (count)",
                fetch, place)
        }
        if done.contains(.count), predicate != nil {
            throw RemainingFetch.resultError(
                "counted \(fetch.entity.name) without the predicate; apply it and set CST_FETCHED_PREDICATE "
                    + "(.predicate) with CST_FETCHED_COUNT (.count), or return the rows", fetch, place)
        }
        if done.contains(.window), fetch.limit > 0 || fetch.offset > 0, predicate != nil || order {
            throw RemainingFetch.resultError(
                "applied the limit and offset of a fetch of \(fetch.entity.name) without its "
                    + "\(predicate != nil ? "predicate" : "order"); apply the predicate and the order first, or leave "
                    + "the limit and offset to the library", fetch, place)
        }
        if !fetch.allowsRemainder, predicate != nil || order {
            let rest = [predicate != nil ? "predicate" : nil, order ? "order" : nil].compactMap { $0 }
            throw CoreError(
                .unsupported, code: .persistentStoreOperation,
                "\(place.subject) did not apply the \(rest.joined(separator: " and ")) of a "
                    + "fetch of \(fetch.entity.name); change the request, or set CST_FETCH_ALLOWS_SPLIT "
                    + "(split, allowsSplit)",
                entity: fetch.entity.name, file: place.file)
        }
    }

    private static func resultError(
        _ problem: String, _ fetch: StoreFetch, _ place: HostStoreIdentity, value: PropertyValue? = nil
    ) -> CoreError {
        CoreError(
            .callback, code: .persistentStoreOperation, "\(place.subject) \(problem)",
            entity: fetch.entity.name, value: value, file: place.file)
    }

    /// Returns the application's count, after applying offset and limit if the application did not.
    func count(_ counted: Int, _ fetch: StoreFetch, _ place: HostStoreIdentity) throws -> Int {
        guard counted >= 0 else {
            throw RemainingFetch.resultError(
                "returned the count \(counted) for \(fetch.entity.name); return 0 or more, or the rows", fetch, place,
                value: .int(Int64(counted)))
        }
        if !window { return counted }
        let behind = max(0, counted - fetch.offset)
        return fetch.limit > 0 ? min(fetch.limit, behind) : behind
    }

    func reasons(_ place: HostStoreIdentity) -> [String] {
        (predicate == nil ? [] : ["a store of type \(place.type.rawValue) did not apply the predicate"])
            + (order ? ["a store of type \(place.type.rawValue) did not sort the rows"] : [])
    }
}

extension FetchRequest {
    /// Creates a fetch request from the fetch of a store.
    package convenience init(_ fetch: StoreFetch) {
        self.init(
            entity: fetch.entity, predicate: fetch.predicate, sortDescriptors: fetch.sortDescriptors,
            limit: fetch.limit,
            offset: fetch.offset)
        includesSubentities = fetch.includesSubentities
        switch fetch.result {
        case .rows: resultType = fetch.isForDictionaries ? .dictionaries : .objects
        case .identifiers: resultType = .objectIDs
        case .count: resultType = .count
        }
        if let keys = fetch.keys {
            propertiesToFetch = fetch.entity.properties.filter { keys.contains($0.key) }.map { .property($0.path) }
        }
    }
}
