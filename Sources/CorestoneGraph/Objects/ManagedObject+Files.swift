import CorestoneModel
import CorestoneValues

/// A value that was read from a backing file, retained while views of the value may be in use.
struct FileValue {
    let slot: Int
    let name: String
    let bytes: Bytes
}

// Values in backing files. The row contains only the name of the file. The file is read when the value is accessed.
extension ManagedObject {
    /// Returns the committed value of an attribute of role `external`, without a copy.
    ///
    /// Bytes of a backing file stay in memory until the object is saved with another value, becomes a fault or is
    /// deallocated.
    func externalView(_ slot: Int, _ layout: SlotLayout) throws -> ValueView {
        guard let name = try fileName(slot, layout) else {
            return record.map { Record($0).view(slot, layout) } ?? .null
        }
        return ValueView(PropertyValue.bytes(try keptBytes(slot, name)))
    }

    /// Returns the committed value of an attribute of role `external`, without caching it in the object.
    func externalValue(_ slot: Int, _ layout: SlotLayout) throws -> PropertyValue {
        guard let name = try fileName(slot, layout) else {
            return record.map { Record($0).view(slot, layout).propertyValue } ?? .null
        }
        return .bytes(try bytes(slot, name))
    }

    /// Passes the value of an attribute to `body`, without a copy.
    ///
    /// Suitable for loops over many objects, because bytes of a backing file are not cached.
    package func withView<Result>(key: UInt32, _ body: (ValueView) throws -> Result) throws -> Result {
        let slot = try self.slot(of: key)
        let layout = entity.layout.slots[slot]
        try fireIfNeeded(for: slot)
        guard layout.role == .external, overlay?.isChanged(slot) != true, let name = try fileName(slot, layout) else {
            return try body(try view(key: key))
        }
        let bytes = try bytes(slot, name)
        return try withExtendedLifetime(bytes) { try body(ValueView(PropertyValue.bytes(bytes))) }
    }

    /// Whether the value of an attribute of role `external` is null. Does not read the backing file.
    func isExternalNull(_ slot: Int) throws -> Bool {
        try fireIfNeeded()
        if let overlay, overlay.isChanged(slot) { return overlay[slot].isNull }
        guard let record else { return true }
        return try !Record(record).hasValue(slot) && fileName(slot, entity.layout.slots[slot]) == nil
    }

    /// Returns the name of the backing file in the row; nil if the row itself contains the value or null.
    private func fileName(_ slot: Int, _ layout: SlotLayout) throws -> String? {
        return record.flatMap { Record($0).fileName(slot, layout) }.map { String(decoding: $0, as: UTF8.self) }
    }

    private func known(_ slot: Int, _ name: String) -> Bytes? {
        guard state.contains(.keepsFiles) else { return nil }
        return context?.faultState.fileValues[ObjectIdentifier(self)]?.first { $0.slot == slot && $0.name == name }?
            .bytes
    }

    private func bytes(_ slot: Int, _ name: String) throws -> Bytes { try known(slot, name) ?? read(slot, name) }

    private func keptBytes(_ slot: Int, _ name: String) throws -> Bytes {
        if let known = known(slot, name) { return known }
        let bytes = try read(slot, name)
        context?.faultState.fileValues[ObjectIdentifier(self), default: []].append(
            FileValue(slot: slot, name: name, bytes: bytes))
        state.insert(.keepsFiles)
        return bytes
    }

    /// Discards all cached bytes of backing files.
    func forgetFiles() {
        if state.remove(.keepsFiles) != nil { context?.faultState.fileValues[ObjectIdentifier(self)] = nil }
    }

    /// Discards the cached bytes of backing files that the row does not name any more.
    func forgetReplacedFiles() {
        guard let context, let record else { return }
        let slots = entity.layout.slots
        context.faultState.fileValues[ObjectIdentifier(self)]?.removeAll { value in
            let name = Record(record).fileName(value.slot, slots[value.slot])
            return name.map { !value.name.utf8.elementsEqual($0) } ?? true
        }
    }
}

// MARK: - Reading

extension ManagedObject {
    private func read(_ slot: Int, _ name: String) throws -> Bytes {
        guard let context, let store else { throw detachedError() }
        try store.requireOpen()
        let value = store.backing.externalValue(named: name)
        if case .missing(let file) = value {
            if try isReplaced(slot, name, context, store) { throw replaced(slot, file) }
            if try isOnlyPinned(slot, name, context, store) { throw expiredFileError(slot, file) }
        }
        return try value.bytes(whenMissing: ExternalValue.folderRemedy) { unreadable(slot, $0, $1) }
    }

    /// Whether the newest row does not name the backing file. Throws if the row was deleted.
    private func isReplaced(_ slot: Int, _ name: String, _ context: Context, _ store: Store) throws -> Bool {
        try context.objectRefresh.withNewestRow(of: self, in: store) { row in
            guard let row else { throw deleted(from: store) }
            guard row.header.pointee.entity == entity.index else { return true }
            return row.fileName(slot, entity.layout.slots[slot]).map { !name.utf8.elementsEqual($0) } ?? true
        }
    }

    /// Whether only the context's pinned generation, and no longer the store, refers to the backing file.
    ///
    /// A process keeps such files for its own snapshots only, so another process may have removed the file.
    private func isOnlyPinned(_ slot: Int, _ name: String, _ context: Context, _ store: Store) throws -> Bool {
        if context.pin(of: store) == nil { return false }
        store.backing.endRead()
        return try store.use {
            let batch = try store.backing.rows(of: entity.root, primaryKeys: [primaryKey])
            defer { withExtendedLifetime(batch) {} }
            guard let row = batch.records.first, row.header.pointee.entity == entity.index else { return true }
            return row.fileName(slot, entity.layout.slots[slot]).map { !name.utf8.elementsEqual($0) } ?? true
        }
    }

    /// Replaces the row with the newest one if another save removed the backing file that the row names.
    ///
    /// Called for an object that was a fault until now.
    func renewIfReplaced(_ slot: Int) throws {
        // The number of retries is limited, because another writer may save continuously. After the last retry, the
        // caller's read of the file throws the error.
        for _ in 0..<8 {
            guard let name = try fileName(slot, entity.layout.slots[slot]), let context, let store, store.isOpen,
                !store.backing.hasExternalValue(named: name)
            else { return }
            let isReplaced = try context.objectRefresh.withNewestRow(of: self, in: store) { row in
                guard let row else { throw deleted(from: store) }
                if let record, Record(record).isEqual(to: row, slot, entity.layout.slots[slot]) { return false }
                renew(row)
                return true
            }
            if !isReplaced { return }
        }
    }
}

// MARK: - Errors

extension ManagedObject {
    private func unreadable(_ slot: Int, _ file: String, _ fault: String) -> CoreError {
        let name = entity.properties[slot].path
        return CoreError(
            .storeIO, code: .persistentStoreOperation,
            "cannot read \(entity.name).\(name) of \(objectID.uri): \(fault)", entity: entity.name, key: name,
            objectURI: objectID.uri, file: file)
    }

    private func replaced(_ slot: Int, _ file: String) -> CoreError {
        let name = entity.properties[slot].path
        return CoreError(
            .conflict, code: .managedObjectMerge,
            "\(entity.name).\(name) of \(objectID.uri) was changed in the store, and its backing file \(file) was removed; "
                + "call cst_object_refresh (refresh) on the object", entity: entity.name, key: name,
            objectURI: objectID.uri, file: file)
    }

    private func expiredFileError(_ slot: Int, _ file: String) -> CoreError {
        let name = entity.properties[slot].path
        let pinned = context?.parent == nil ? "the context" : "the outermost parent context"
        return CoreError(
            .conflict, code: .managedObjectMerge,
            "cannot read \(entity.name).\(name) of \(objectID.uri): a later save removed the backing file \(file) of the "
                + "context's query generation; pin \(pinned) again with cst_context_set_query_generation (pin, "
                + "setQueryGeneration), and call cst_object_refresh (refresh) on the object",
            entity: entity.name, key: name, objectURI: objectID.uri, file: file)
    }

    /// Creates the error for an object whose row is missing, usually because it was deleted.
    func deleted(from store: Store) -> CoreError {
        let isPinned = context.map { $0.pin(of: store) != nil } ?? false
        let cause =
            isPinned
            ? "its row was deleted, or is not in the context's query generation" : "its row was deleted or never saved"
        let remedy =
            isPinned && context?.parent == nil
            ? "pin the context again with cst_context_set_query_generation (pin, setQueryGeneration)"
            : "fetch the objects again with cst_context_fetch (fetch)"
        return CoreError(
            .objectGone, code: .managedObjectReferentialIntegrity,
            "\(entity.name) \(objectID.uri) does not exist: \(cause); \(remedy)",
            entity: entity.name, objectURI: objectID.uri, file: store.path)
    }
}
