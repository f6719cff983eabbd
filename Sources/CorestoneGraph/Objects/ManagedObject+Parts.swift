import CorestoneModel
import CorestoneValues

/// A part of a row: the values of a fetch with `propertiesToFetch`, for a fault whose row was not read.
struct RowPart {
    let record: Record
    let chunk: RecordChunk
    /// The keys of the fetched properties.
    let keys: Set<UInt32>
}

// The context stores the parts, because few objects have one. A part remains after the whole row is read, because
// views into it may be in use.
extension ManagedObject {
    /// Returns the value of a property that was fetched as part of the fault's row.
    ///
    /// For another property, fires the fault and returns nil.
    @usableFromInline
    func partViewOrFire(_ slot: Int) throws -> ValueView? {
        if state.contains(.partial), let view = try partView(slot) { return view }
        try fire(for: slot)
        return nil
    }

    private func partView(_ slot: Int) throws -> ValueView? {
        guard record == nil, !state.contains(.detached), let part = context?.faultState.parts[ObjectIdentifier(self)],
            part.keys.contains(entity.slotKeys[slot])
        else { return nil }
        let layout = entity.layout.slots[slot]
        switch layout.role {
        case .attribute: return part.record.view(slot, layout)
        case .toOne: return try withTemporaryRow(part.record) { try relationshipView(slot, layout) }
        default: return nil
        }
    }

    /// Assigns to a fault a part of its row. Targets that were read with an older row are read again.
    func setPart(_ part: RowPart) {
        guard part.record.header.pointee.entity == entity.index, let context else { return }
        let known = context.faultState.parts.updateValue(part, forKey: ObjectIdentifier(self))
        if state.insert(.partial).inserted || known?.record.version != part.record.version { forgetPartners() }
    }

    /// Discards cached to-one targets if the version of the whole row, which was just read, differs from the part's.
    func completePart() {
        if let part = context?.faultState.parts[ObjectIdentifier(self)], part.record.version != version {
            forgetPartners()
        }
    }

    func forgetPart() {
        if state.remove(.partial) != nil { context?.faultState.parts.removeValue(forKey: ObjectIdentifier(self)) }
    }
}
