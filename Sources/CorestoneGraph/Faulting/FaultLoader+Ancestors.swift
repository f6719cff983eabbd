import CorestoneModel
import CorestoneValues

// Faulting in nested contexts. The values are those of the nearest ancestor context that has the object's values in
// memory. Otherwise the row is read from the store, and its values are not copied to the ancestors.
extension FaultLoader {
    /// Fires a fault, and with it the next faults of its group.
    ///
    /// - Parameter slot: The property that the application reads. If set, an object without values is handled as an
    ///   inaccessible fault; if nil, it is an error.
    /// - Throws: `.objectGone` if `slot` is nil, and an ancestor context has deleted the object or neither an ancestor
    ///   nor the store has its values.
    ///   The errors of `handleInaccessible`.
    func loadNestedRow(of object: ManagedObject, reading slot: Int?) throws {
        context.coordinator.count { $0.faults += 1 }
        try context.withAncestors {
            var borrowed = BorrowedRecords()
            if copyValuesFromAncestor(object, &borrowed) { return }
            if let store = object.store { try watchFault(of: object, in: store) }
            let siblings = siblings(of: object).compactMap {
                context.identityMap.registered(store: object.store, root: object.entity, primaryKey: $0)
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
        try context.withAncestors {
            var borrowed = BorrowedRecords()
            let rest = faults.filter { $0.record == nil && !copyValuesFromAncestor($0, &borrowed) }
            try loadStoredRows(of: rest)
        }
    }

    /// Replaces the rows of newly fetched faults with the values of the nearest ancestor contexts that have them.
    func followAncestors(_ objects: [ManagedObject]) {
        var borrowed = BorrowedRecords()
        for object in objects where object.state.contains(.fault) { _ = copyValuesFromAncestor(object, &borrowed) }
    }

    /// Copies to a fault the values of the nearest ancestor context that has them.
    ///
    /// Returns true if an ancestor has the values or has deleted the object.
    private func copyValuesFromAncestor(_ fault: ManagedObject, _ borrowed: inout BorrowedRecords) -> Bool {
        var ancestor = context.parent
        while let next = ancestor {
            if let own = next.registeredCounterpart(of: fault) {
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
            ancestor = next.parent
        }
        return false
    }

    // MARK: Members

    /// Reads the members of a relationship for owners that have not loaded these members.
    func loadNestedMembers(of relationship: Relationship, owners: [ManagedObject], rows: MemberRows) throws {
        if owners.isEmpty { return }
        try context.withAncestors {
            try loadRows(of: owners)
            var rest: [ManagedObject] = []
            for owner in owners {
                guard let collection = try ancestorCollection(of: relationship, owner) else {
                    rest.append(owner)
                    continue
                }
                let members = try collection.all().filter { !$0.isDeleted }.map { context.counterpart(of: $0) }
                try setMembers(members, of: relationship, owner: owner)
            }
            try loadStoredMembers(of: relationship, owners: rest)
            if rows != .later {
                for owner in owners { try loadRows(of: try owner.toMany(relationship).all()) }
            }
        }
    }

    /// Returns the relationship in the nearest ancestor context that has loaded or changed the members.
    private func ancestorCollection(of relationship: Relationship, _ owner: ManagedObject) throws -> ToManyRelationship?
    {
        var ancestor = context.parent
        while let next = ancestor {
            if let own = next.registeredCounterpart(of: owner), own.entity === owner.entity {
                let collection = own.toMany(ordinal: Int(own.entity.layout.slots[Int(relationship.slot)].ordinal))
                if own.state.contains(.inserted) || collection?.hasChanges == true || collection?.isLoaded == true {
                    return try own.toMany(relationship)
                }
            }
            ancestor = next.parent
        }
        return nil
    }
}

// MARK: - Sharing values

/// A writer of records with the values of changed objects, for the objects of descendant contexts.
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
    /// The descendant's object receives the same row, or a row that is written from the current values. Rows do not
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
                + "the parent was rolled back or reset; call cst_context_rollback (rollback) on this context, and "
                + "fetch the objects again with cst_context_fetch (fetch)",
            entity: entity.name,
            objectURI: objectID.uri, file: store?.path)
    }
}
