import CorestoneModel
import CorestoneValues

/// The method of loading the rows of members.
enum MemberRows {
    /// On demand.
    case later
    /// Together with the members. Suitable for one owner.
    case joined
    /// After the members, each row once. Suitable for many owners.
    case apart
}

// Loading of the members of to-many relationships.
extension FaultLoader {
    /// The maximum number of owners per query.
    private static let ownersAtOnce = 1000

    /// Loads the members of a to-many relationship for many owners.
    ///
    /// The members are read with one query per store and thousand owners. Returns true if none of the owners had its
    /// members loaded before.
    @discardableResult
    func loadMembers(
        of relationship: Relationship, owners: [ManagedObject], rows: MemberRows = .later
    ) throws -> Bool {
        let areUnloaded = try owners.allUnretained { try $0.hasUnloadedMembers(of: relationship) }
        let unloaded = areUnloaded ? owners : try owners.filter { try $0.hasUnloadedMembers(of: relationship) }
        if context.parent == nil {
            try loadStoredMembers(of: relationship, owners: unloaded, rows: rows)
        } else {
            try loadNestedMembers(of: relationship, owners: unloaded, rows: rows)
        }
        return areUnloaded
    }

    func loadStoredMembers(
        of relationship: Relationship, owners: [ManagedObject], rows: MemberRows = .later
    ) throws {
        for (store, owners) in byStore(owners) {
            // The owners are read before their lists, so that a list is never older than its owner. A save of a stale
            // owner is then a conflict.
            try loadRows(of: owners)
            for start in stride(from: 0, to: owners.count, by: FaultLoader.ownersAtOnce) {
                let part = start..<min(start + FaultLoader.ownersAtOnce, owners.count)
                try loadMembers(of: relationship, owners, part, store: store, rows: rows)
            }
            context.coordinator.count { $0.relationshipFaults += 1 }
        }
    }

    private func loadMembers(
        of relationship: Relationship, _ owners: [ManagedObject], _ part: Range<Int>, store: Store, rows: MemberRows
    ) throws {
        let root = relationship.destination.root
        let found = try context.using(store) {
            let state = context.rowCache(of: store).state
            let found = try context.reader(of: store).members(
                of: relationship, owners: owners[part].map(\.primaryKey), includingRows: rows == .joined)
            if rows == .joined { context.rowCache(of: store).add(found.batch, root: root, asOf: state) }
            return found
        }
        let faults = try context.batchingNotices(store.observesRegistrations) {
            try setMembers(MemberRuns(found.members), of: relationship, owners, part, store: store)
        }
        switch rows {
        case .later:
            context.faultState.groups.group(faults, root: root, store: store)
            if let faultWatch = context.faultState.watch {
                for fault in faults { faultWatch.note(fault, reachedBy: relationship) }
            }
        case .joined:
            context.coordinator.count { $0.faultedRows += found.batch.records.count }
            fill(from: found.batch, root: root, store: store)
        case .apart: try loadRows(of: faults)
        }
    }

    /// Sets the members of each owner. Returns the members whose rows are not loaded.
    private func setMembers(
        _ runs: MemberRuns, of relationship: Relationship, _ owners: [ManagedObject], _ part: Range<Int>, store: Store
    ) throws -> [ManagedObject] {
        let table = context.identityMap.table(store: store, root: relationship.destination.root)
        let slot = Int(relationship.slot)
        var runs = runs
        var faults = DistinctObjects()
        defer { faults.end() }
        try owners.forEachUnretained(in: part) { reference in
            try reference._withUnsafeGuaranteedRef { owner in
                var states: ManagedObject.State = []
                let run = runs.run(of: owner.primaryKey)
                // `[]` avoids a write to the empty array storage, which all threads share.
                let members =
                    run.isEmpty
                    ? []
                    : [ManagedObject](unsafeUninitializedCapacity: run.count) { buffer, count in
                        for member in run {
                            let object = context.identityMap.retainedObject(
                                in: table, store: store, entityIndex: member.entity, primaryKey: member.primaryKey)
                            object._withUnsafeGuaranteedRef {
                                if $0.record == nil { faults.insert(object) }
                                states.formUnion($0.state)
                            }
                            (buffer.baseAddress! + count).initialize(to: object.takeRetainedValue())
                            count += 1
                        }
                    }
                let collection = owner.nearToMany(ordinal: Int(owner.entity.layout.slots[slot].ordinal))
                if let collection, states.isDisjoint(with: [.propagated, .updated]) {
                    collection._withUnsafeGuaranteedRef { $0.didLoad(members) }
                } else {
                    try setMembers(members, of: relationship, owner: owner)
                }
            }
        }
        return faults.list
    }

    /// Sets the members that a relationship has in the store or in the parent context.
    func setMembers(_ members: [ManagedObject], of relationship: Relationship, owner: ManagedObject) throws {
        let collection = try owner.toMany(relationship)
        collection.didLoad(members)
        // Members are removed if they were deleted in the context and their delete rules were applied.
        for member in members where member.state.contains(.propagated) && relationship.inverse != nil {
            context.inverses.updateMembership(
                of: member, in: collection, isMember: false, isStored: true, isLoading: true)
        }
        // Members that refer to another object by an unsaved change are removed too.
        guard let inverse = relationship.resolvedInverse, !inverse.isToMany else { return }
        for member in members where member.refersElsewhere(inverse, than: owner) {
            let isStored = member.storedTarget(of: inverse) === owner
            context.inverses.updateMembership(
                of: member, in: collection, isMember: false, isStored: isStored, isLoading: true)
        }
    }
}

/// Members by owner. A lookup takes constant time if owners are requested in the order of their primary keys.
private struct MemberRuns {
    private let members: [StoreMembers.Member]
    /// The end of the run that was requested last.
    private var place = 0

    init(_ found: [StoreMembers.Member]) {
        if zip(found, found.dropFirst()).allSatisfy({ $0.owner <= $1.owner }) {
            members = found
        } else {
            // Sorts runs by owner, and preserves the order of the members of each owner.
            let runs = MemberRuns.split(found).sorted {
                (found[$0.lowerBound].owner, $0.lowerBound) < (found[$1.lowerBound].owner, $1.lowerBound)
            }
            members = runs.flatMap { found[$0] }
        }
    }

    /// Returns the ranges of consecutive members with the same owner.
    private static func split(_ found: [StoreMembers.Member]) -> [Range<Int>] {
        var (runs, start): ([Range<Int>], Int) = ([], 0)
        for place in found.indices where place + 1 == found.count || found[place + 1].owner != found[place].owner {
            runs.append(start..<(place + 1))
            start = place + 1
        }
        return runs
    }

    mutating func run(of owner: Int64) -> ArraySlice<StoreMembers.Member> {
        let isAtHand =
            (place == 0 || members[place - 1].owner < owner)
            && (place == members.count || members[place].owner >= owner)
        let start = isAtHand ? place : first(of: owner)
        place = start
        while place < members.count, members[place].owner == owner { place += 1 }
        return members[start..<place]
    }

    /// Returns the start of an owner's run, or the index where it would start.
    private func first(of owner: Int64) -> Int {
        var (low, high) = (0, members.count)
        while low < high {
            let middle = (low + high) / 2
            if members[middle].owner < owner { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
