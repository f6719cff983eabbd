import CorestoneModel
import CorestoneValues

/// A value that an object read from its file, kept as long as views of it may be in use.
struct FileValue {
    let slot: Int
    let name: String
    let bytes: Bytes
}

// Values that lie in files of their own beside the store. A row has but the file's name, and the file is read when the value
// is first asked for.
extension ManagedObject {
    /// The value of an attribute of role `external` as fetched, without a copy. What was read from a file stays until the
    /// object is refreshed, saved with another value, or ends.
    func externalView(_ slot: Int, _ layout: SlotLayout) throws -> ValueView {
        guard let name = try fileName(slot, layout) else {
            return record.map { Record($0).view(slot, layout) } ?? .null
        }
        return ValueView(PropertyValue.bytes(try keptBytes(slot, name)))
    }

    /// The same as a value of its own, which the object does not keep: whoever asked has it.
    func externalValue(_ slot: Int, _ layout: SlotLayout) throws -> PropertyValue {
        guard let name = try fileName(slot, layout) else {
            return record.map { Record($0).view(slot, layout).propertyValue } ?? .null
        }
        return .bytes(try bytes(slot, name))
    }

    /// Hands the value of an attribute to `body`, in place. For what looks at many objects: what is read from a file for it is
    /// not kept.
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

    /// Whether there is no value, which the row tells without the file.
    func isExternalNull(_ slot: Int) throws -> Bool {
        try fireIfNeeded()
        if let overlay, overlay.isChanged(slot) { return overlay[slot].isNull }
        guard let record else { return true }
        return try !Record(record).hasValue(slot) && fileName(slot, entity.layout.slots[slot]) == nil
    }

    /// The file that the row names for the value; nil when the row itself has it.
    private func fileName(_ slot: Int, _ layout: SlotLayout) throws -> String? {
        return record.flatMap { Record($0).fileName(slot, layout) }.map { String(decoding: $0, as: UTF8.self) }
    }

    private func known(_ slot: Int, _ name: String) -> Bytes? {
        guard state.contains(.keepsFiles) else { return nil }
        return context?.faultLoader.fileValues[ObjectIdentifier(self)]?.first { $0.slot == slot && $0.name == name }?
            .bytes
    }

    private func bytes(_ slot: Int, _ name: String) throws -> Bytes { try known(slot, name) ?? read(slot, name) }

    private func keptBytes(_ slot: Int, _ name: String) throws -> Bytes {
        if let known = known(slot, name) { return known }
        let bytes = try read(slot, name)
        context?.faultLoader.fileValues[ObjectIdentifier(self), default: []].append(
            FileValue(slot: slot, name: name, bytes: bytes))
        state.insert(.keepsFiles)
        return bytes
    }

    /// Lets go of everything that was read from files.
    func forgetFiles() {
        if state.remove(.keepsFiles) != nil { context?.faultLoader.fileValues[ObjectIdentifier(self)] = nil }
    }

    /// Lets go of what was read from files that the row no longer names.
    func forgetReplacedFiles() {
        guard let context, let record else { return }
        let slots = entity.layout.slots
        context.faultLoader.fileValues[ObjectIdentifier(self)]?.removeAll { value in
            let name = Record(record).fileName(value.slot, slots[value.slot])
            return name.map { !value.name.utf8.elementsEqual($0) } ?? true
        }
    }
}

// MARK: - Reading

extension ManagedObject {
    private func read(_ slot: Int, _ name: String) throws -> Bytes {
        guard let context, let store else { throw gone() }
        try store.requireOpen()
        let value = store.backing.externalValue(named: name)
        if case .missing(let file) = value {
            if try isReplaced(slot, name, context, store) { throw replaced(slot, file) }
            if try hasOutlived(slot, name, context, store) { throw outlived(slot, file) }
        }
        return try value.bytes(whenMissing: ExternalValue.folderRemedy) { unreadable(slot, $0, $1) }
    }

    /// Whether the store has another value by now, or none.
    private func isReplaced(_ slot: Int, _ name: String, _ context: Context, _ store: Store) throws -> Bool {
        try context.withNewestRow(of: self, in: store) { row in
            guard let row else { throw deleted(from: store) }
            guard row.header.pointee.entity == entity.index else { return true }
            return row.fileName(slot, entity.layout.slots[slot]).map { !name.utf8.elementsEqual($0) } ?? true
        }
    }

    /// Whether only the generation that the context reads leads to the file. This process keeps such files.
    private func hasOutlived(_ slot: Int, _ name: String, _ context: Context, _ store: Store) throws -> Bool {
        if context.pin(of: store) == nil { return false }
        store.backing.endRead()
        return try store.use {
            let batch = try store.backing.rows(of: entity.root, primaryKeys: [primaryKey])
            defer { withExtendedLifetime(batch) {} }
            guard let row = batch.records.first, row.header.pointee.entity == entity.index else { return true }
            return row.fileName(slot, entity.layout.slots[slot]).map { !name.utf8.elementsEqual($0) } ?? true
        }
    }

    /// For an object that was a fault until now: takes the newest row when the file that the present one names was replaced.
    func renewIfReplaced(_ slot: Int) throws {
        // Whoever saves all the time is followed for some steps; then the getter says what happened.
        for _ in 0..<8 {
            guard let name = try fileName(slot, entity.layout.slots[slot]), let context, let store, store.isOpen,
                !store.backing.hasExternalValue(named: name)
            else { return }
            let isReplaced = try context.withNewestRow(of: self, in: store) { row in
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
                + "refresh the object", entity: entity.name, key: name,
            objectURI: objectID.uri, file: file)
    }

    private func outlived(_ slot: Int, _ file: String) -> CoreError {
        let name = entity.properties[slot].path
        return CoreError(
            .conflict, code: .managedObjectMerge,
            "cannot read \(entity.name).\(name) of \(objectID.uri): a later save removed the backing file \(file) of the "
                + "context's query generation. Pin the context again with cst_context_set_query_generation (pin, "
                + "setQueryGeneration), and refresh the object",
            entity: entity.name, key: name, objectURI: objectID.uri, file: file)
    }

    /// The row is not there any more.
    func deleted(from store: Store) -> CoreError {
        CoreError(
            .objectGone, code: .managedObjectReferentialIntegrity,
            "\(entity.name) \(objectID.uri) is no longer in the store: its row was deleted; fetch the objects again",
            entity: entity.name, objectURI: objectID.uri, file: store.path)
    }
}
