import CorestoneModel
import CorestoneValues

// Where the objects of a context on top of another one get their values: from the nearest context beneath that has the object
// in memory, else from the store, whose row is then read once and for this context alone.
extension Context {
    /// Gives a fault its values, siblings with it.
    /// - Throws: `.objectGone` when neither a context beneath nor the store has them; but see `loadRow`.
    func loadNestedRow(of object: ManagedObject, askedFor slot: Int?) throws {
        coordinator.count { $0.faults += 1 }
        try withAncestors {
            var lent = LentRecords()
            if isDecidedBeneath(object, &lent) { return }
            if let store = object.store { try watchFault(of: object, in: store) }
            let siblings = siblings(of: object).compactMap {
                registered(store: object.store, root: object.entity, primaryKey: $0)
            }
            try loadNestedRows(of: siblings.contains { $0 === object } ? siblings : [object])
        }
        if object.record != nil { return }
        guard let slot else { throw object.unknownBeneath() }
        try meetInaccessible(object, askedFor: slot)
    }

    /// Gives faults their values. Those stay empty that are deleted beneath, or unknown.
    func loadNestedRows(of faults: [ManagedObject]) throws {
        if faults.isEmpty { return }
        try withAncestors {
            var lent = LentRecords()
            let rest = faults.filter { $0.record == nil && !isDecidedBeneath($0, &lent) }
            try loadStoredRows(of: rest)
        }
    }

    /// Has objects that were just fetched from the store follow those of the contexts beneath, where these have other values.
    func followAncestors(_ objects: [ManagedObject]) {
        var lent = LentRecords()
        for object in objects where object.state.contains(.fault) { _ = isDecidedBeneath(object, &lent) }
    }

    /// Gives a fault what the nearest context beneath holds of its object; true where one holds it, or has it deleted.
    private func isDecidedBeneath(_ fault: ManagedObject, _ lent: inout LentRecords) -> Bool {
        var ancestor = parent
        while let context = ancestor {
            if let own = context.registeredCounterpart(of: fault) {
                if own.isDeleted {
                    fault.dropRecord()
                    return true
                }
                // What nobody has looked at yet takes the newest row, as it does in a fetch.
                if own.state.contains(.fault), !own.hasChanges, own.record != nil, let newest = fault.record {
                    own.renew(Record(newest))
                }
                if own.record != nil || own.state.contains(.inserted) {
                    own.lendValues(to: fault, &lent)
                    return true
                }
            }
            ancestor = context.parent
        }
        return false
    }

    /// Reads what the contexts beneath hold now; see `refresh`.
    func refreshNested(_ object: ManagedObject, mergeChanges: Bool) throws {
        if object.state.contains(.inserted) { return }
        if mergeChanges, !object.state.isDisjoint(with: [.updated, .deleted, .observed]),
            object.hasChanges || object.record != nil
        {
            return try object.refreshingValues { try standOnNewestNestedRow(object) }
        }
        if object.state.contains(.observed) {
            try object.refreshingValues {
                try object.becomeFault()
                try loadNestedRows(of: [object])
            }
        } else {
            try object.becomeFault()
        }
        tellRefreshed(object)
    }

    private func standOnNewestNestedRow(_ object: ManagedObject) throws {
        let wasFault = object.isFault
        object.dropRecord()
        // Where the values cannot be had now, the object asks for them again.
        object.state.insert(.fault)
        try loadNestedRows(of: [object])
        if object.record != nil { return try stand(object) }
        if object.hasChanges { throw object.unknownBeneath() }
        // Observed, and gone beneath: a fault like any other.
        if !wasFault { object.state.remove(.fault) }
        object.turnIntoFault()
        tellRefreshed(object)
    }

    // MARK: Members

    /// Reads who the members of a relationship are, of owners that do not know yet.
    func loadNestedMembers(of relationship: Relationship, owners: [ManagedObject], rows: MemberRows) throws {
        if owners.isEmpty { return }
        try withAncestors {
            try loadRows(of: owners)
            var rest: [ManagedObject] = []
            for owner in owners {
                guard let keeper = try keeperBeneath(of: relationship, owner) else {
                    rest.append(owner)
                    continue
                }
                let members = try keeper.all().filter { !$0.isDeleted }.map { counterpart(of: $0) }
                try take(members, of: relationship, owner: owner)
            }
            try loadStoredMembers(of: relationship, owners: rest)
            if rows != .later {
                for owner in owners { try loadRows(of: try owner.toMany(relationship).all()) }
            }
        }
    }

    /// The members as the nearest context beneath has them, where they may differ from the store's.
    private func keeperBeneath(of relationship: Relationship, _ owner: ManagedObject) throws -> ToManyRelationship? {
        var ancestor = parent
        while let context = ancestor {
            if let own = context.registeredCounterpart(of: owner), own.entity === owner.entity {
                let keeper = own.toMany(ordinal: Int(own.entity.layout.slots[Int(relationship.slot)].ordinal))
                if own.state.contains(.inserted) || keeper?.hasChanges == true || keeper?.isLoaded == true {
                    return try own.toMany(relationship)
                }
            }
            ancestor = context.parent
        }
        return nil
    }
}

// MARK: - Lending

/// The records of changed objects. Most objects are not changed, and then there is nothing to write with.
private struct LentRecords {
    private var writer: RecordWriter?

    mutating func write(_ object: ManagedObject) -> Record {
        var own = writer ?? RecordWriter(expectedBytes: 1024)
        writer = nil
        defer { writer = own }
        return object.writeValues(&own)
    }
}

extension ManagedObject {
    /// Gives the object of a context above the same values: the same row, or one written of the changed values. Transient values
    /// are in no row, so an object above has its defaults.
    fileprivate func lendValues(to fault: ManagedObject, _ lent: inout LentRecords) {
        if let record, changedStoredSlots.isEmpty {
            fault.borrow(Record(record), isWritten: state.contains(.nested))
        } else {
            fault.borrow(lent.write(self), isWritten: true)
        }
    }

    private func borrow(_ lent: Record, isWritten: Bool) {
        if record == lent.start { return }
        if record != nil { forgetPartners() }
        setRecord(lent)
        if isWritten { state.insert(.nested) } else { state.remove(.nested) }
    }

    /// The values as they are now as a row, for contexts alone: it may lead to objects that were never saved.
    func writeValues(_ writer: inout RecordWriter) -> Record {
        writer.begin(primaryKey: primaryKey, version: version, entity: entity)
        let base = record.map { Record($0) }
        for slot in 0..<Int(entity.slotCount) {
            let layout = entity.layout.slots[slot]
            if layout.kind == .none { continue }
            if let overlay, overlay.isChanged(slot) {
                if case .object(let target as ManagedObject) = overlay[slot] {
                    if target.state.isDisjoint(with: [.gone, .deleted]) {
                        writer.setTarget(target.primaryKey, entity: target.entity.index, slot, layout)
                    }
                } else {
                    writer.set(ValueView(overlay[slot]), slot, layout)
                }
            } else if let base {
                if let name = base.fileName(slot, layout) {
                    writer.setFileName(name, slot, layout)
                } else {
                    writer.set(base.view(slot, layout), slot, layout)
                }
            }
        }
        return writer.finish()
    }
}

extension ManagedObject {
    /// Neither the contexts beneath nor the store have the object any more.
    func unknownBeneath() -> CoreError {
        CoreError(
            .objectGone, code: .managedObjectReferentialIntegrity,
            "\(entity.name) \(objectID.uri) is no longer in the parent context: it was deleted there or in the store, or "
                + "the parent was rolled back or reset. Roll back this context, and fetch the objects again",
            entity: entity.name,
            objectURI: objectID.uri, file: store?.path)
    }
}
