import CorestoneModel
import CorestoneValues

// Faulting in nested contexts. The values are those of the nearest ancestor context that has the object's values in
// memory. Otherwise the row is read from the store, and its values are not copied to the ancestors.
extension Context {
    /// Fires a fault, and with it the next faults of its group.
    ///
    /// - Parameter slot: The property that the application reads. If set, an object without values is handled as an
    ///   inaccessible fault; if nil, it is an error.
    /// - Throws: `.objectGone` if an ancestor context has deleted the object, or if neither an ancestor nor the store
    ///   has its values. `loadRow` lists exceptions.
    func loadNestedRow(of object: ManagedObject, reading slot: Int?) throws {
        coordinator.count { $0.faults += 1 }
        try withAncestors {
            var borrowed = BorrowedRecords()
            if isDecidedByAncestor(object, &borrowed) { return }
            if let store = object.store { try faultLoader.watchFault(of: object, in: store) }
            let siblings = faultLoader.siblings(of: object).compactMap {
                identityMap.registered(store: object.store, root: object.entity, primaryKey: $0)
            }
            try loadNestedRows(of: siblings.contains { $0 === object } ? siblings : [object])
        }
        if object.record != nil { return }
        guard let slot else { throw object.unknownInAncestorsError() }
        try handleInaccessible(object, reading: slot)
    }

    /// Fires faults. Objects that are deleted in an ancestor, or that no ancestor and no store has, remain faults.
    func loadNestedRows(of faults: [ManagedObject]) throws {
        if faults.isEmpty { return }
        try withAncestors {
            var borrowed = BorrowedRecords()
            let rest = faults.filter { $0.record == nil && !isDecidedByAncestor($0, &borrowed) }
            try faultLoader.loadStoredRows(of: rest)
        }
    }

    /// Replaces the rows of newly fetched faults with the values of the nearest ancestor contexts that have them.
    func followAncestors(_ objects: [ManagedObject]) {
        var borrowed = BorrowedRecords()
        for object in objects where object.state.contains(.fault) { _ = isDecidedByAncestor(object, &borrowed) }
    }

    /// Copies to a fault the values of the nearest ancestor context that has them.
    ///
    /// Returns true if an ancestor has the values or has deleted the object.
    private func isDecidedByAncestor(_ fault: ManagedObject, _ borrowed: inout BorrowedRecords) -> Bool {
        var ancestor = parent
        while let context = ancestor {
            if let own = context.registeredCounterpart(of: fault) {
                if own.isDeleted {
                    fault.dropRecord()
                    return true
                }
                // If the ancestor's object is a fault with a row, it receives the newest row, as in a fetch.
                if own.state.contains(.fault), !own.hasChanges, own.record != nil, let newest = fault.record {
                    own.renew(Record(newest))
                }
                if own.record != nil || own.state.contains(.inserted) {
                    own.shareValues(with: fault, &borrowed)
                    return true
                }
            }
            ancestor = context.parent
        }
        return false
    }

    /// Refreshes an object from the ancestor contexts; see `refresh`.
    func refreshNested(_ object: ManagedObject, mergeChanges: Bool) throws {
        if object.state.contains(.inserted) { return }
        if mergeChanges, !object.state.isDisjoint(with: [.updated, .deleted, .observed]),
            object.hasChanges || object.record != nil
        {
            return try object.refreshingValues { try rebaseOnNewestNestedRow(object) }
        }
        if object.state.contains(.observed) {
            try object.refreshingValues {
                try object.becomeFault()
                try loadNestedRows(of: [object])
            }
        } else {
            try object.becomeFault()
        }
        noteRefreshedIfObserved(object)
    }

    private func rebaseOnNewestNestedRow(_ object: ManagedObject) throws {
        let wasFault = object.isFault
        object.dropRecord()
        // If the values cannot be read now, the object remains a fault.
        object.state.insert(.fault)
        try loadNestedRows(of: [object])
        if object.record != nil { return try discardDependentValues(object) }
        if object.hasChanges { throw object.unknownInAncestorsError() }
        // The object is observed and was deleted in an ancestor or the store, so it becomes a fault.
        if !wasFault { object.state.remove(.fault) }
        object.turnIntoFault()
        noteRefreshedIfObserved(object)
    }

    // MARK: Members

    /// Reads the members of a relationship for owners that have not loaded these members.
    func loadNestedMembers(of relationship: Relationship, owners: [ManagedObject], rows: MemberRows) throws {
        if owners.isEmpty { return }
        try withAncestors {
            try faultLoader.loadRows(of: owners)
            var rest: [ManagedObject] = []
            for owner in owners {
                guard let keeper = try keeperInAncestors(of: relationship, owner) else {
                    rest.append(owner)
                    continue
                }
                let members = try keeper.all().filter { !$0.isDeleted }.map { counterpart(of: $0) }
                try faultLoader.setMembers(members, of: relationship, owner: owner)
            }
            try faultLoader.loadStoredMembers(of: relationship, owners: rest)
            if rows != .later {
                for owner in owners { try faultLoader.loadRows(of: try owner.toMany(relationship).all()) }
            }
        }
    }

    /// Returns the relationship in the nearest ancestor context that has loaded or changed the members.
    private func keeperInAncestors(of relationship: Relationship, _ owner: ManagedObject) throws -> ToManyRelationship?
    {
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

// MARK: - Sharing values

/// The records of changed objects.
///
/// The writer is created for the first changed object, because most objects are unchanged.
private struct BorrowedRecords {
    private var writer: RecordWriter?

    mutating func write(_ object: ManagedObject) -> Record {
        var own = writer ?? RecordWriter(expectedBytes: 1024)
        writer = nil
        defer { writer = own }
        return object.writeValues(&own)
    }
}

extension ManagedObject {
    /// Shares the values with the object of a descendant context.
    ///
    /// The descendant's object receives the same row, or a row that is written from the changed values. Rows do not
    /// contain transient values, so the descendant's object has the defaults of transient properties.
    fileprivate func shareValues(with fault: ManagedObject, _ borrowed: inout BorrowedRecords) {
        if let record, changedStoredSlots.isEmpty {
            fault.borrow(Record(record), isWritten: state.contains(.nested))
        } else {
            fault.borrow(borrowed.write(self), isWritten: true)
        }
    }

    private func borrow(_ borrowed: Record, isWritten: Bool) {
        if record == borrowed.start { return }
        if record != nil { forgetPartners() }
        setRecord(borrowed)
        if isWritten { state.insert(.nested) } else { state.remove(.nested) }
    }

    /// Writes the current values as a row.
    ///
    /// The row must not be written to a store, because it may refer to unsaved objects.
    func writeValues(_ writer: inout RecordWriter) -> Record {
        writer.begin(primaryKey: primaryKey, version: version, entity: entity)
        let base = record.map { Record($0) }
        for slot in 0..<Int(entity.slotCount) {
            let layout = entity.layout.slots[slot]
            if layout.kind == .none { continue }
            if let overlay, overlay.isChanged(slot) {
                if case .object(let target as ManagedObject) = overlay[slot] {
                    if target.state.isDisjoint(with: [.detached, .deleted]) {
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
    /// Creates the error for an object that an ancestor deleted, or that no ancestor and no store contains any more.
    func unknownInAncestorsError() -> CoreError {
        CoreError(
            .objectGone, code: .managedObjectReferentialIntegrity,
            "\(entity.name) \(objectID.uri) is no longer in the parent context: it was deleted there or in the store, or "
                + "the parent was rolled back or reset. Roll back this context, and fetch the objects again",
            entity: entity.name,
            objectURI: objectID.uri, file: store?.path)
    }
}
