import CPlatform
import CorestoneModel
import CorestoneValues

// With a change stamp, a host can cache the values of an object.
//
// The stamp `changes` is incremented by every assignment to a field on which the value of a plain attribute depends:
// the record, the overlay and its values, the state and the owner. The `didSet` observers of these fields increment it,
// and the mutating functions in `Overlay.swift` increment it for values of an overlay. Records are immutable. Some
// increments are superfluous, for example those of flags that do not concern values; they only make a cache less
// effective.
//
// The exception is firing a fault, which is frequent: values of a fault are not cached, so the first row and `endFault`
// keep the stamp. An object that becomes a fault has another stamp, because its row is dropped or its state changes.
extension ManagedObject {
    /// The address of the stamp, valid as long as the object exists.
    package var changesAddress: UnsafePointer<UInt32> {
        UnsafePointer(withUnsafeMutablePointer(to: &changes) { $0 })
    }

    /// Returns the value of an attribute of role `attribute` that is in memory; nil in other cases.
    ///
    /// A fault whose row is in memory is fired, unless the entity has a hook for it. The function never waits, and does
    /// not run code of the application.
    @inlinable @inline(__always)
    package func residentView(key: UInt32) -> ValueView? {
        if let view = plainView(key: key) { return view }
        return fireResident(for: key) ? plainView(key: key) : nil
    }

    /// Fires a fault whose row is in memory, for a property of the entity.
    @usableFromInline
    func fireResident(for key: UInt32) -> Bool {
        let slot = Int(key & 0xFFF)
        return slot < Int(entity.slotCount) && entity.slotKeys[slot] == key && fireResident()
    }

    /// Fires a fault whose row is in memory.
    ///
    /// Returns false if the object is not a fault, or if firing it needs a read, a hook or a check of the thread.
    @usableFromInline
    func fireResident() -> Bool {
        guard state.intersection([.fault, .detached, .inaccessible, .partial]) == .fault, record != nil, owner[1] == 0,
            !entity.has(.awakeFromFetch)
        else { return false }
        endFault()
        return true
    }

    /// Marks a fault as fired. Returns false, without an effect, if the object is not a fault.
    @discardableResult
    @inline(__always)
    func endFault() -> Bool {
        let stamp = changes
        let wasFault = state.remove(.fault) != nil
        changes = stamp
        return wasFault
    }

    /// Returns the view of a to-one target in the object's row, under the conditions of `residentView`.
    ///
    /// Returns nil in other cases, for example for a changed target, and for a target that a nested context looks up in
    /// its parent.
    package func residentTarget(key: UInt32) -> ValueView? {
        let slot = Int(key & 0xFFF)
        guard slot < Int(entity.slotCount), entity.slotKeys[slot] == key else { return nil }
        let layout = entity.layout.slots[slot]
        guard layout.role == .toOne, overlay?.isChanged(slot) != true, let context, let store,
            !store.observesRegistrations, context.faultState.watch == nil,
            state.isDisjoint(with: [.fault, .detached]) || fireResident()
        else { return nil }
        if toOneTargets?[Int(layout.ordinal)].object == nil {
            guard let record, let (reference, _) = Record(record).target(slot, layout) else { return .null }
            if reference < 0 { return nil }
        }
        guard let target = try? toOneTarget(slot, layout) else { return nil }
        return ValueView(.object, UInt64(UInt(bitPattern: target.toOpaque())))
    }

    /// Sets an attribute, if this does not wait or run code of the application.
    ///
    /// - Returns: False if nothing was set; the caller must then call `set`.
    package func setResident(_ value: PropertyValue, key: UInt32) -> Bool {
        let slot = Int(key & 0xFFF)
        guard slot < Int(entity.slotCount), entity.slotKeys[slot] == key,
            let stored = entity.layout.slots[slot].fitting(value), !(value.isNull && entity.has(.setNilValue)),
            state.isDisjoint(with: [.observed, .detached, .inaccessible]), !state.contains(.fault) || fireResident()
        else { return false }
        write(stored, slot)
        return true
    }
}

extension SlotLayout {
    /// Returns the value as the slot stores it; nil if it must be checked or converted in another way.
    fileprivate func fitting(_ value: PropertyValue) -> PropertyValue? {
        if holds(value) { return value }
        if role != .attribute || conditions.contains(.derived) { return nil }
        return switch (kind, value) {
        case (_, .null): value
        case (.int16, .int(let number)) where number == Int64(Int16(truncatingIfNeeded: number)): value
        case (.double, .int(let number)) where number.magnitude <= 1 << 53 && !conditions.contains(.single):
            .double(Double(number))
        default: nil
        }
    }
}
