import CorestoneModel
import CorestoneValues

/// What a fetch of some properties brought of a row, for a fault whose row was not read.
struct RowPart {
    let record: Record
    let chunk: RecordChunk
    /// Of the properties that came.
    let keys: Set<UInt32>
}

// Few objects ever have a part, so the context keeps it. It stays after the whole row came, for the sake of views into it.
extension ManagedObject {
    /// The value of a property that came with the fault. nil for others, for which the fault has fired.
    @usableFromInline
    func lendOrFire(_ slot: Int) throws -> ValueView? {
        if state.contains(.partial), let view = try partView(slot) { return view }
        try fire(for: slot)
        return nil
    }

    private func partView(_ slot: Int) throws -> ValueView? {
        guard record == nil, !state.contains(.gone), let part = context?.faultLoader.parts[ObjectIdentifier(self)],
            part.keys.contains(entity.slotKeys[slot])
        else { return nil }
        let layout = entity.layout.slots[slot]
        switch layout.role {
        case .attribute: return part.record.view(slot, layout)
        case .toOne: return try standing(on: part.record) { try relationshipView(slot, layout) }
        default: return nil
        }
    }

    /// Gives a fault a part of its row. Targets that were read beside an older one are read again.
    func take(_ part: RowPart) {
        guard part.record.header.pointee.entity == entity.index, let context else { return }
        let known = context.faultLoader.parts.updateValue(part, forKey: ObjectIdentifier(self))
        if state.insert(.partial).inserted || known?.record.version != part.record.version { forgetPartners() }
    }

    /// The whole row came.
    func completePart() {
        if let part = context?.faultLoader.parts[ObjectIdentifier(self)], part.record.version != version {
            forgetPartners()
        }
    }

    func forgetPart() {
        if state.remove(.partial) != nil { context?.faultLoader.parts.removeValue(forKey: ObjectIdentifier(self)) }
    }
}
