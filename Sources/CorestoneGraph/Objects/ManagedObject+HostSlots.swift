import CorestoneModel

// References that an application in another language borrows through an object. The graph keeps one opaque slot for
// each cached target, and only the host's bridge interprets the slot; see `HostBridge`. Without a bridge, all slots are
// 0.
extension ManagedObject {
    /// The slot of the context; nil without a context.
    package var contextSlot: UInt? { contextReference?._withUnsafeGuaranteedRef { $0.hostSlot.value } }

    /// Returns the slot of a relationship's target, if the reference may be used.
    ///
    /// A change of the relationship releases the slot. Returns 0 without a slot, if the property is not a to-one
    /// relationship, or if the object is a fault or has left its context.
    @inlinable @inline(__always)
    package func borrowedTargetSlot(key: UInt32) -> UInt {
        let slot = Int(key & 0xFFF)
        guard slot < Int(entity.slotCount), entity.slotKeys[slot] == key,
            state.isDisjoint(with: [.fault, .detached]), let targets = toOneTargets
        else { return 0 }
        let layout = entity.layout.slots[slot]
        return layout.role == .toOne ? targets[Int(layout.ordinal)].hostSlot : 0
    }

    /// Returns the slot that the object keeps for the target of a to-one relationship; 0 without a slot.
    package func targetSlot(key: UInt32) -> UInt {
        toOneTargets?[Int(entity.layout.slots[Int(key & 0xFFF)].ordinal)].hostSlot ?? 0
    }

    /// Keeps a slot for the target of a to-one relationship until the relationship changes.
    ///
    /// Returns false if the object already keeps this slot. The caller must then release its own reference.
    package func keepTargetSlot(_ slot: UInt, key: UInt32) -> Bool {
        let ordinal = Int(entity.layout.slots[Int(key & 0xFFF)].ordinal)
        let targets = toOneTargets ?? allocateTargets()
        if targets[ordinal].hostSlot == slot { return false }
        releaseTargetSlot(ordinal: ordinal)
        targets[ordinal].hostSlot = slot
        return true
    }

    /// Releases the slots of changed targets before the changes are discarded.
    func releaseTargetSlots(changedIn overlay: Overlay) {
        if toOneTargets == nil { return }
        for slot in 0..<Int(entity.slotCount) where overlay.isChanged(slot) {
            let layout = entity.layout.slots[slot]
            if layout.role == .toOne { releaseTargetSlot(ordinal: Int(layout.ordinal)) }
        }
    }

    func releaseTargetSlot(ordinal: Int) {
        guard let targets = toOneTargets, targets[ordinal].hostSlot != 0 else { return }
        Context.hostBridge.release(targets[ordinal].hostSlot)
        targets[ordinal].hostSlot = 0
    }
}
