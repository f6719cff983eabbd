import CPlatform
import CorestoneModel
import CorestoneValues

extension ManagedObject {
    /// Returns the value of an attribute or the target of a to-one relationship, without a copy.
    ///
    /// The view is valid until the object is changed, refreshed or released. Fires a fault. A to-one target is returned
    /// as `.object` whose `low` is the unretained target; the object retains the target.
    @inlinable
    package func view(key: UInt32) throws -> ValueView {
        let slot = Int(key & 0xFFF)
        guard slot < Int(entity.slotCount), entity.slotKeys[slot] == key else { throw unknownKey(key) }
        if !state.isDisjoint(with: [.fault, .detached]), let view = try partViewOrFire(slot) { return view }
        let layout = entity.layout.slots[slot]
        if let overlay, let view = overlayView(overlay, slot) { return view }
        if layout.role == .attribute {
            guard let record else { return .null }
            return Record(record).view(slot, layout)
        }
        return try relationshipView(slot, layout)
    }

    /// Returns the value of an attribute of role `attribute` if the object is not a fault; nil in other cases.
    ///
    /// If the result is nil, the caller calls `view`. Inlined for values in the row's record, because this is the most
    /// frequent call.
    @inlinable @inline(__always)
    package func plainView(key: UInt32) -> ValueView? {
        let slot = Int(key & 0xFFF)
        guard slot < Int(entity.slotCount), entity.slotKeys[slot] == key, state.isDisjoint(with: [.fault, .detached])
        else { return nil }
        let layout = entity.layout.slots[slot]
        guard layout.role == .attribute else { return nil }
        if let overlay, overlay.isChanged(slot) { return overlay.attributeView(slot) }
        guard let record else { return .null }
        return Record(record).view(slot, layout)
    }

    /// Returns the changed value of a slot; nil if the slot is unchanged.
    @usableFromInline
    func overlayView(_ overlay: Overlay, _ slot: Int) -> ValueView? {
        guard overlay.isChanged(slot) else { return nil }
        if case .object(let value) = overlay[slot] {
            if entity.layout.slots[slot].role == .toOne, changedTarget(overlay, slot) == nil { return .null }
            return ValueView(.object, UInt64(UInt(bitPattern: Unmanaged.passUnretained(value as AnyObject).toOpaque())))
        }
        return ValueView(overlay[slot])
    }

    @usableFromInline
    func relationshipView(_ slot: Int, _ layout: SlotLayout) throws -> ValueView {
        switch layout.role {
        case .attribute: return .null
        // The value was lost when the object became a fault, so the default applies.
        case .transient: return entity.defaults.first { $0.slot == slot }.map { ValueView($0.value) } ?? .null
        case .external: return try externalView(slot, layout)
        case .composite: throw compositeError(slot)
        case .toMany: throw toManyError(slot)
        case .toOne:
            guard let target = try toOneTarget(slot, layout) else { return .null }
            return ValueView(.object, UInt64(UInt(bitPattern: target.toOpaque())))
        }
    }

    /// Sets an attribute or a to-one relationship and updates the inverse.
    package func set(_ value: PropertyValue, key: UInt32) throws {
        let slot = try self.slot(of: key)
        try set(value, slot: slot)
    }

    /// Sets an attribute of a changed object, if that is possible without other work.
    ///
    /// The value must not need a conversion, and the change must not need tracking or a notification.
    ///
    /// - Returns: False if nothing was set, because `set` must be called.
    package func setPlainly(_ value: PropertyValue, key: UInt32) -> Bool {
        let slot = Int(key & 0xFFF)
        guard state.intersection([.touched, .observed, .fault, .detached, .inaccessible]) == .touched,
            slot < Int(entity.slotCount), entity.slotKeys[slot] == key, entity.layout.slots[slot].holds(value)
        else { return false }
        setChange(value, slot)
        return true
    }

    @inline(__always)
    func set(_ value: PropertyValue, slot: Int) throws {
        if !state.isDisjoint(with: [.fault, .detached, .inaccessible]) { try fire() }
        // A relationship's slot does not accept a plain value, so most calls need not check the role.
        if entity.layout.slots[slot].holds(value) { return write(value, slot) }
        try convert(value, slot)
    }

    /// Sets a value that must be converted, checked or connected.
    @inline(never)
    private func convert(_ value: PropertyValue, _ slot: Int) throws {
        switch entity.layout.slots[slot].role {
        case .attribute, .external, .transient: try put(try accept(value, slot), slot)
        case .composite: writeComposite(try accept(value, slot), slot)
        case .toOne:
            let relationship = entity.relationship(slot)
            try setTarget(try acceptTarget(value, relationship), of: relationship)
        case .toMany: throw toManyError(slot, value)
        }
    }

    /// Whether the entity has a hook for null, and the value is a null that this hook can replace.
    func callsSetNil(_ prepared: Prepared) -> Bool {
        guard prepared.value.isNull, entity.has(.setNilValue), !state.contains(.settingNil) else { return false }
        switch entity.layout.slots[prepared.slot].role {
        case .attribute, .external, .transient: return entity.attribute(prepared.slot).isScalar
        case .composite, .toOne, .toMany: return false
        }
    }

    /// Writes an accepted value. For null, the application's hook may set another value instead.
    func put(_ value: PropertyValue, _ slot: Int) throws {
        if callsSetNil(Prepared(slot: slot, value: value)),
            try HookRestoration.restoring([self], afterFailureOf: { try sendSetNil(slot) })
        {
            return
        }
        if entity.layout.slots[slot].role == .transient { return writeTransient(value, slot) }
        write(value, slot)
    }

    /// Returns the value converted to the type of the slot's attribute. Throws for a derived attribute.
    func accept(_ value: PropertyValue, _ slot: Int) throws -> PropertyValue {
        let attribute = entity.attribute(slot)
        if entity.layout.slots[slot].conditions.contains(.derived) { throw derivedError(attribute, value) }
        return try attribute.accept(value, for: entity)
    }

    /// Returns the committed value of an attribute without a copy.
    ///
    /// Returns nil for a to-one relationship and for a composite attribute.
    package func committedView(key: UInt32) throws -> ValueView? {
        let slot = try self.slot(of: key)
        try fireIfNeeded(for: slot)
        let layout = entity.layout.slots[slot]
        switch layout.role {
        case .attribute: return record.map { Record($0).view(slot, layout) } ?? .null
        case .external: return try externalView(slot, layout)
        case .transient: return .null
        case .toOne, .composite: return nil
        case .toMany: throw toManyError(slot, readsCommitted: true)
        }
    }

    /// Returns the object and property key at a key path of plain names.
    ///
    /// Returns nil for another path, for example with an operator, or through a nil target or a to-many relationship.
    ///
    /// - Throws: An error if a name is not a property.
    package func resolve(keyPath path: String) throws -> (object: ManagedObject, key: UInt32)? {
        var (current, rest) = (self, path[...])
        while let dot = rest.firstIndex(of: ".") {
            let property = try current.plainProperty(rest[..<dot])
            if let attribute = property as? Attribute, attribute.type == .composite {
                return try current.element(rest).map { (current, $0.key) }
            }
            guard let relationship = property as? Relationship, !relationship.isToMany else { return nil }
            // The application accesses the property, so the settings of its context apply to a missing row.
            try current.fireIfNeeded(for: Int(relationship.slot))
            if current.state.contains(.inaccessible) { return nil }
            guard let target = try current.target(of: relationship) else { return nil }
            current = target
            rest = rest[rest.index(after: dot)...]
        }
        return try current.plainProperty(rest).map { (current, $0.key) }
    }

    /// Returns the property of a name; nil for operators, fetched properties, `entity`, `objectID` and `SELF`.
    private func plainProperty(_ name: Substring) throws -> Property? {
        let name = String(name)
        if let property = entity.property(named: name) { return property }
        if name.first == "@" || ["entity", "objectID", "SELF", "self"].contains(name) { return nil }
        if entity.fetchedProperty(named: name) != nil { return nil }
        return try entity.requireProperty(named: name)
    }

    /// Sets a value of the slot's type, with change tracking and notifications.
    @inline(__always)
    func write(_ value: PropertyValue, _ slot: Int) {
        if state.intersection([.touched, .observed]) == .touched { return setChange(value, slot) }
        change(slot) { setChange(value, slot) }
    }

    /// Runs `body`, which changes the value of a slot, with change tracking and notifications.
    @inline(never)
    func change(_ slot: Int, _ body: () -> Void) {
        let isObserved = state.contains(.observed)
        if isObserved { willChangeObserved(slot) }
        if state.contains(.detached) { return }
        willChange(ofRelationship: entity.layout.slots[slot].role == .toOne)
        if let context, context.hookState.recordsChangedObject { context.hookState.recordChangedObject(self, [slot]) }
        body()
        if isObserved { didChangeObserved(slot) }
    }

    /// Writes a transient value. Changes of an ignored attribute do not mark the object as changed.
    private func writeTransient(_ value: PropertyValue, _ slot: Int) {
        guard entity.layout.slots[slot].conditions.contains(.ignored) else { return write(value, slot) }
        changeIgnored(slot) { setChange(value, slot) }
    }

    private func changeIgnored(_ slot: Int, _ body: () -> Void) {
        if state.contains(.observed) { willChangeObserved(slot) }
        body()
        if state.contains(.observed) { didChangeObserved(slot) }
    }

    /// Restores the changed value of an attribute; nil makes the attribute unchanged.
    func restoreChange(_ former: PropertyValue?, _ slot: Int) {
        func restore() {
            if let former { setChange(former, slot) } else { clearChange(slot) }
        }
        if entity.layout.slots[slot].conditions.contains(.ignored) {
            changeIgnored(slot, restore)
        } else {
            change(slot, restore)
        }
    }

    /// Marks the object as changed.
    @inline(__always)
    func willChange(ofRelationship isRelationship: Bool = false) {
        if !state.contains(.touched) { touch(ofRelationship: isRelationship) }
    }

    func overlayForWriting() -> Overlay {
        if let overlay { return overlay }
        let slotCount = Int(entity.slotCount)
        let fresh = Overlay(allocate(Overlay.size(slotCount: slotCount)), slotCount: slotCount)
        overlay = fresh
        return fresh
    }

    func applyDefaults() {
        for (slot, value) in entity.defaults { setChange(value, slot) }
    }

    /// Returns the value of a slot in the object's record, with a to-one target as an ID; null for an unsaved object.
    func committedValue(slot: Int) throws -> PropertyValue {
        try fireIfNeeded(for: slot)
        guard let record else { return .null }
        let layout = entity.layout.slots[slot]
        if layout.role == .external { return try externalValue(slot, layout) }
        if layout.role == .composite { return try committedCompositeValue(slot) }
        guard layout.role == .toOne else { return Record(record).view(slot, layout).propertyValue }
        guard let (key, index) = Record(record).target(slot, layout), let context else { return .null }
        guard let store, key >= 0 else {
            let target = try context.unsavedTarget(of: self, slot, key: key, entity: index)
            return target.map { .object(ObjectIDReference($0.objectID)) } ?? .null
        }
        return .object(
            ObjectIDReference(ObjectID(store: store, entity: context.entity(at: index), reference: key)))
    }

    /// Returns the last fetched or saved value, with a to-one target as an ID.
    package func committedValue(key: UInt32) throws -> PropertyValue {
        let slot = try self.slot(of: key)
        if entity.layout.slots[slot].role == .toMany { throw toManyError(slot, readsCommitted: true) }
        return try committedValue(slot: slot)
    }

    /// Whether the property was set since the last fetch or save, even to an equal value.
    ///
    /// For a to-many relationship, whether its members differ from those of the last fetch or save.
    package func isChanged(key: UInt32) throws -> Bool {
        let slot = try self.slot(of: key)
        if state.contains(.detached) { throw detachedError() }
        let layout = entity.layout.slots[slot]
        if layout.role == .toMany { return toMany(ordinal: Int(layout.ordinal))?.hasChanges ?? false }
        if layout.role == .composite { return isCompositeChanged(slot) }
        return overlay?.isChanged(slot) ?? false
    }

    @inline(__always)
    package func slot(of key: UInt32) throws -> Int {
        let slot = Int(key & 0xFFF)
        guard slot < Int(entity.slotCount), entity.slotKeys[slot] == key else { throw unknownKey(key) }
        return slot
    }
}

// MARK: - Errors

extension ManagedObject {
    @usableFromInline
    func unknownKey(_ key: UInt32) -> CoreError {
        CoreError(
            .invalidArgument,
            "\(key) is not the key of a property of \(entity.name); get the key from the entity of the object, or from "
                + "a superentity, with cst_entity_key",
            entity: entity.name, key: "key", value: .int(Int64(key)), objectURI: objectID.uri)
    }

    private func derivedError(_ attribute: Attribute, _ value: PropertyValue) -> CoreError {
        let expression = attribute.derivation?.expression
        let source = expression.map { " from \"\($0.text)\"" } ?? ""
        let remedy =
            expression?.expression?.keyPaths.isEmpty == true
            ? "do not set it" : "change the values that it is derived from"
        return CoreError(
            .invalidArgument,
            "\(entity.name).\(attribute.path) is derived\(source) and computed at each save; \(remedy)",
            entity: entity.name, key: attribute.path, value: value, objectURI: objectID.uri)
    }

    /// Creates the error for a to-many relationship where a single value is read or set.
    ///
    /// - Parameters:
    ///   - value: The value that the caller sets.
    ///   - readsCommitted: Whether the caller reads the committed value.
    func toManyError(_ slot: Int, _ value: PropertyValue? = nil, readsCommitted: Bool = false) -> CoreError {
        let property = entity.properties[slot]
        let remedy =
            readsCommitted
            ? "read the current members with cst_object_copy_members (members)" : property.accessRemedy
        return CoreError(
            .typeMismatch,
            "\(entity.name).\(property.name) is a to-many relationship and does not have a single "
                + "\(readsCommitted ? "committed " : "")value; \(remedy)",
            entity: entity.name, key: property.name, value: value, objectURI: objectID.uri)
    }

    /// Creates the error for an object that is not in the context that was called.
    ///
    /// - Parameter remedy: The remedy for an object of another context.
    func foreignObjectError(_ remedy: String) -> CoreError {
        CoreError(
            .invalidArgument,
            context == nil
                ? "\(entity.name) \(objectID.uri) is not in a context; insert it with "
                    + "cst_context_insert_object (insert_object, insert) first"
                : "\(entity.name) \(objectID.uri) belongs to another context; \(remedy)", entity: entity.name,
            objectURI: objectID.uri)
    }

    package func detachedError() -> CoreError {
        let closed = store.flatMap { $0.isOpen ? nil : $0.path }
        let reason =
            if let closed {
                "its store \(closed.isEmpty ? "" : "\(closed) ")was removed from the coordinator or closed; add the "
                    + "store with cst_coordinator_add_store (add_store, addStore) to an open coordinator, and fetch "
                    + "the object again with cst_context_fetch (fetch)"
            } else {
                "the object was deleted, its insertion reverted, its store removed, or the context reset or closed; "
                    + "fetch the object again with cst_context_fetch (fetch) if it still exists"
            }
        return CoreError(
            .objectGone, code: .managedObjectReferentialIntegrity,
            "\(entity.name) \(objectID.uri) is no longer in its context: \(reason)",
            entity: entity.name, objectURI: objectID.uri, file: closed)
    }
}

extension SlotLayout {
    /// Whether the slot can store the value without conversion or checks.
    @inline(__always)
    func holds(_ value: PropertyValue) -> Bool {
        if conditions.contains(.derived) { return false }
        return switch (kind, value) {
        case (.text, .text), (.int64, .int), (.bool, .bool), (.date, .date), (.bytes, .bytes), (.uuid, .uuid): true
        case (.double, .double): !conditions.contains(.single)
        case (.int32, .int(let number)): number == Int64(Int32(truncatingIfNeeded: number))
        default: false
        }
    }
}

extension ManagedObject {
    package func propertyName(key: UInt32) -> String? { try? entity.properties[slot(of: key)].path }
}
