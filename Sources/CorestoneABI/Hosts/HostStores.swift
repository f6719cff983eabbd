import CCorestone
import CPlatform
import CorestoneCustomStores
import CorestoneFormats
import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// Returns the path of a store, or a phrase if it is empty, for messages.
private func subject(_ path: String) -> String { path.isEmpty ? "a store without a path" : path }

/// Returns the file of a store, for errors, or nil for a store without a path.
private func errorFile(_ path: String) -> String? { path.isEmpty ? nil : path }

/// The object behind a `cst_row_sink`, valid on one thread during one callback.
final class SinkBox {
    private var sink: RowSink?
    /// The path of the store, for errors: another thread must not access the sink.
    private let path: String
    private let thread = platform_thread_id()

    init(_ sink: RowSink, _ path: String) { (self.sink, self.path) = (sink, path) }

    func end() { sink = nil }

    func current() throws -> RowSink {
        guard thread == platform_thread_id() else {
            throw CoreError(
                .wrongThread,
                "the row sink of \(subject(path)) belongs to the thread of its callback; push rows on that thread "
                    + "during the callback",
                file: errorFile(path))
        }
        guard let sink else {
            throw CoreError(
                .invalidHandle,
                "the row sink of \(subject(path)) is no longer valid: its callback has returned; push rows during the "
                    + "callback",
                file: errorFile(path))
        }
        return sink
    }
}

/// The object behind a `cst_save_request`, valid on one thread during one save.
final class SaveBox {
    private var changes: HostChanges?
    private let thread = platform_thread_id()
    /// The memory of the rows that `cst_save_request_next` returned last.
    var arena = RowArena()
    /// The number of rows that `cst_save_request_next` has returned.
    var returnedCount = 0

    /// The path of the store, for errors.
    private let path: String
    var file: String? { errorFile(path) }

    init(_ changes: HostChanges, _ path: String) { (self.changes, self.path) = (changes, path) }

    private var allKeys: [(entity: Entity, key: Int64)]?

    func end() { changes = nil }

    /// Returns the primary keys of all rows of an atomic store.
    func all() throws -> [(entity: Entity, key: Int64)] {
        if let allKeys { return allKeys }
        guard let found = try changes?.allKeys() else {
            throw CoreError(
                .unsupported,
                "cst_save_request_next (cache_nodes) works only in the save of an atomic store, but \(subject(path)) "
                    + "is incremental; read inserted, updated and deleted of cst_save_changes (inserted_objects, "
                    + "updated_objects, deleted_objects) instead",
                file: errorFile(path))
        }
        allKeys = found
        return found
    }

    func current() throws -> HostChanges {
        guard thread == platform_thread_id() else {
            throw CoreError(
                .wrongThread,
                "the save request of \(subject(path)) belongs to the thread of its callback; use it on that thread",
                file: errorFile(path))
        }
        guard let changes else {
            throw CoreError(
                .invalidHandle,
                "the save request of \(subject(path)) is no longer valid: its callback has returned; use it during the "
                    + "callback",
                file: errorFile(path))
        }
        return changes
    }
}

/// A store type that a table of callbacks implements.
final class HostStoreType: HostedType, @unchecked Sendable {
    let table: cst_store_callbacks
    let userdata: Userdata
    fileprivate let name: String
    var isAtomic: Bool { table.kind == UInt32(CST_STORE_ATOMIC) }

    init(_ table: cst_store_callbacks, _ userdata: Userdata, name: String) {
        (self.table, self.userdata, self.name) = (table, userdata, name)
    }

    /// Checks the kind, the abilities and the callbacks of the table.
    ///
    /// - Throws: `.invalidArgument` for an unknown kind, and if a callback is missing that the kind requires.
    ///   `.unsupported` for unknown abilities.
    func check() throws {
        let known = UInt32(CST_STORE_PARALLEL_READS | CST_STORE_UNIQUE_CONSTRAINTS | CST_STORE_DERIVED_ATTRIBUTES)
        guard [UInt32(CST_STORE_INCREMENTAL), UInt32(CST_STORE_ATOMIC)].contains(table.kind) else {
            throw CoreError(
                .invalidArgument,
                "callbacks.kind of the store type \"\(name)\" is \(table.kind); use CST_STORE_INCREMENTAL or "
                    + "CST_STORE_ATOMIC", key: name, value: .int(Int64(table.kind)))
        }
        guard table.abilities & ~known == 0 else {
            throw CoreError(
                .unsupported,
                "callbacks.abilities of the store type \"\(name)\" is 0x\(String(table.abilities, radix: 16)); use "
                    + "only CST_STORE_PARALLEL_READS, CST_STORE_UNIQUE_CONSTRAINTS and CST_STORE_DERIVED_ATTRIBUTES",
                key: name, value: .int(Int64(table.abilities)))
        }
        var missing: [String] = table.open == nil ? ["open"] : []
        if isAtomic {
            if table.load == nil { missing.append("load") }
        } else {
            if table.fetch == nil { missing.append("fetch") }
            if table.values == nil { missing.append("values") }
        }
        guard missing.isEmpty else {
            missing = missing.map { "callbacks.\($0)" }
            let last = missing.removeLast()
            let names = missing.isEmpty ? last : missing.joined(separator: ", ") + " and " + last
            throw CoreError(
                .invalidArgument,
                "\(names) of the store type \"\(name)\" \(missing.isEmpty ? "is" : "are") NULL, but required for "
                    + "\(isAtomic ? "an atomic" : "an incremental") store; set \(missing.isEmpty ? "it" : "them")",
                key: name)
        }
    }

    var abilities: StoreAbilities {
        var abilities: StoreAbilities = []
        if table.abilities & UInt32(CST_STORE_PARALLEL_READS) != 0, !isAtomic { abilities.insert(.parallelReads) }
        if table.abilities & UInt32(CST_STORE_UNIQUE_CONSTRAINTS) != 0 { abilities.insert(.uniqueConstraints) }
        if table.abilities & UInt32(CST_STORE_DERIVED_ATTRIBUTES) != 0 { abilities.insert(.derivedAttributes) }
        return abilities
    }

    func open(_ opening: StoreOpening) throws -> (store: any HostedStore, metadata: [String: PropertyListValue]?)? {
        guard let open = table.open else {
            throw CoreError(
                .internal,
                "the store type \"\(name)\" does not have the callback open; report it as a defect of the library",
                key: name)
        }
        let arena = RowArena()
        var given = cst_store_opening()
        given.struct_size = MemoryLayout<cst_store_opening>.size
        given.type = arena.string(opening.type.rawValue)
        given.path = arena.string(opening.path)
        let model = try HandleTable.makeInner(opening.model, .model)
        defer { HandleTable.release(model) }
        given.model = handle(model)
        given.configuration = arena.string(opening.configuration)
        given.read_only = opening.isReadOnly
        given.must_exist = opening.mustExist
        given.is_new = opening.isNew
        given.metadata = arena.bytes(encodePropertyList(.dictionary(opening.metadata.dictionary)))
        let options = opening.options.sorted { $0.key < $1.key }
        given.option_count = options.count
        given.option_names = arena.list(options.map { arena.string($0.key) })
        given.option_values = arena.list(options.map { arena.value($0.value) })
        var store: UnsafeMutableRawPointer?
        var buffer = cst_buffer()
        defer { cst_buffer_dispose(&buffer) }
        let status = try callHost(callbackName("open")) { open(userdata.pointer, &given, &store, &buffer, $0) }
        withExtendedLifetime(arena) {}
        if status == CST_NOT_FOUND { return nil }
        let opened = HostedCallbacks(self, store)
        do {
            return (opened, try values(in: buffer, of: opening.path, from: "out_metadata in the callback open"))
        } catch {
            opened.close()
            throw error
        }
    }

    /// Returns the metadata in a buffer, or nil for an empty buffer.
    ///
    /// - Parameter source: The name of the buffer and its callback, for errors.
    private func values(
        in buffer: cst_buffer, of path: String, from source: String
    ) throws -> [String: PropertyListValue]? {
        guard let data = buffer.data, buffer.size > 0 else { return nil }
        let bytes = [UInt8](UnsafeRawBufferPointer(start: data, count: buffer.size))
        do {
            guard let values = try decodeAnyPropertyList(bytes).dictionary else {
                throw CoreError(
                    .storeCorrupt, code: .persistentStoreOpen, "the root of the metadata is not a dictionary",
                    file: errorFile(path))
            }
            return values
        } catch let error as CoreError {
            let isTooLarge = error.message.split(separator: " ").contains("limit")
            let form = isTooLarge ? "smaller, less nested dictionary" : "dictionary as a property list"
            // Another dictionary does not help if memory is low.
            let cause =
                error.status == .noMemory
                ? error.message : "\(error.message.withoutRemedy); fill \(source) with a \(form)"
            throw CoreError(
                .storeCorrupt, code: .persistentStoreOpen,
                "cannot read the metadata of the \(name) store \(path.isEmpty ? "without a path" : path): \(cause)",
                children: [error], file: errorFile(path))
        }
    }

    /// Returns a phrase for a callback, for messages.
    fileprivate func callbackName(_ callback: String) -> String {
        "the callback \(callback) of the store type \"\(name)\""
    }

    /// The names of Python's methods for callbacks, unless they are the same.
    private static let pythonMethods = [
        "copy_metadata": "metadata_for_store", "set_metadata": "set_metadata_for_store", "fetch": "execute_fetch",
        "values": "new_values", "relationship": "new_values_for_relationship",
    ]

    /// Returns the reason for the failure of an operation that needs a missing callback.
    fileprivate static func isNotSet(_ callback: String) -> String {
        "the callback \(callback) is not set; set it before cst_store_type_register (in Python, override "
            + "\(pythonMethods[callback] ?? callback))"
    }

    private func missing(_ operation: String, _ callback: String, _ path: String) -> CoreError {
        .unsupportedOperation(
            operation, type: name, path: path, reason: HostStoreType.isNotSet(callback))
    }

    private func withText<Result>(_ text: String, _ body: (cst_string) throws -> Result) rethrows -> Result {
        let arena = RowArena()
        defer { withExtendedLifetime(arena) {} }
        return try body(arena.string(text))
    }

    func metadata(ofStoreAt path: String) throws -> [String: PropertyListValue]? {
        guard let copy = table.copy_metadata else {
            throw missing("report metadata while closed", "copy_metadata", path)
        }
        var buffer = cst_buffer()
        defer { cst_buffer_dispose(&buffer) }
        let status = try withText(path) { path in
            try callHost(callbackName("copy_metadata")) { copy(userdata.pointer, path, &buffer, $0) }
        }
        if status == CST_NOT_FOUND { return nil }
        return try values(in: buffer, of: path, from: "out_plist in the callback copy_metadata") ?? [:]
    }

    func setMetadata(_ values: [String: PropertyListValue], ofStoreAt path: String) throws {
        guard let set = table.set_metadata else {
            throw missing("change metadata while closed", "set_metadata", path)
        }
        let arena = RowArena()
        let bytes = arena.bytes(encodePropertyList(.dictionary(values)))
        try callHost(callbackName("set_metadata")) { set(userdata.pointer, arena.string(path), bytes, $0) }
        withExtendedLifetime(arena) {}
    }

    func destroy(_ path: String) throws -> Bool {
        guard let destroy = table.destroy_store else { throw missing("be destroyed", "destroy_store", path) }
        return try withText(path) { path in
            try callHost(callbackName("destroy_store")) { destroy(userdata.pointer, path, $0) } != CST_NOT_FOUND
        }
    }

    func replace(_ path: String, byStoreAt source: String) throws {
        guard let replace = table.replace_store else { throw missing("be replaced", "replace_store", path) }
        let arena = RowArena()
        let (there, here) = (arena.string(path), arena.string(source))
        try callHost(callbackName("replace_store")) { replace(userdata.pointer, there, here, $0) }
        withExtendedLifetime(arena) {}
    }
}

/// An open store of a `HostStoreType`.
private final class HostedCallbacks: HostedStore {
    private let type: HostStoreType
    private let store: UnsafeMutableRawPointer?
    private var table: cst_store_callbacks { type.table }

    init(_ type: HostStoreType, _ store: UnsafeMutableRawPointer?) { (self.type, self.store) = (type, store) }

    var canSave: Bool { table.save != nil }
    var observesRegistrations: Bool { !type.isAtomic && (table.did_register != nil || table.did_unregister != nil) }
    var readsRelationships: Bool { table.relationship != nil }

    func close() { table.close?(store) }
    func didAdd(to coordinator: Coordinator) { table.did_add?(store) }
    func willRemove(from coordinator: Coordinator) { table.will_remove?(store) }

    private func missing(_ name: String) -> CoreError {
        .unsupportedOperation(
            "run \(name)", type: type.name, reason: HostStoreType.isNotSet(name))
    }

    /// Runs a callback with a handle of a sink. The handle is invalid afterwards.
    private func withSink<Result>(_ sink: RowSink, _ body: (OpaquePointer?) throws -> Result) throws -> Result {
        let box = SinkBox(sink, sink.path)
        let token = try HandleTable.makeInner(box, .rowSink)
        defer {
            box.end()
            HandleTable.release(token)
        }
        return try body(handle(token))
    }

    func fetch(_ fetch: StoreFetch, into sink: RowSink) throws -> (done: FetchWork, count: Int) {
        guard let callback = table.fetch else { throw missing("fetch") }
        let arena = RowArena()
        var given = cst_store_fetch()
        given.struct_size = MemoryLayout<cst_store_fetch>.size
        given.entity = try borrowedHandle(fetch.entity)
        given.includes_subentities = fetch.includesSubentities
        given.result_type = UInt32(resultType(fetch))
        given.sort_count = fetch.sortDescriptors.count
        given.sort = arena.list(fetch.sortDescriptors.map { $0.form(arena) })
        given.limit = UInt64(fetch.limit)
        given.offset = UInt64(fetch.offset)
        let keys = fetch.keys?.sorted() ?? []
        given.key_count = keys.count
        given.keys = arena.list(keys)
        let request = FetchRequest(fetch)
        let box = FetchRequestBox(request)
        box.predicate = fetch.predicate.map { PredicateBox($0, models: []) }
        let requestToken = try HandleTable.makeInner(box, .fetchRequest)
        defer { HandleTable.release(requestToken) }
        given.request = handle(requestToken)
        let predicate = try box.predicate.map { try HandleTable.makeInner($0, .predicate) }
        defer { if let predicate { HandleTable.release(predicate) } }
        given.predicate = predicate.map { handle($0) } ?? nil
        var (done, count): (UInt32, UInt64) = (0, 0)
        try withSink(sink) { handle in
            _ = try callHost(type.callbackName("fetch")) { callback(store, &given, handle, &done, &count, $0) }
        }
        withExtendedLifetime(arena) {}
        guard done < 16 else {
            throw CoreError(
                .callback,
                "\(type.callbackName("fetch")) set out_done to 0x\(String(done, radix: 16)), but it must be 0 to 0xf; "
                    + "use CST_FETCHED_ constants",
                entity: fetch.entity.name, key: "out_done", value: .int(Int64(done)))
        }
        // A count above Int.max becomes a negative number.
        return (FetchWork(rawValue: done), Int(truncatingIfNeeded: count))
    }

    private func resultType(_ fetch: StoreFetch) -> Int {
        switch fetch.result {
        case .rows: fetch.isForDictionaries ? CST_RESULT_DICTIONARIES : CST_RESULT_OBJECTS
        case .identifiers: CST_RESULT_OBJECT_IDS
        case .count: CST_RESULT_COUNT
        }
    }

    func values(of rows: [RowReference], into sink: RowSink) throws {
        guard let callback = table.values else { throw missing("values") }
        let arena = RowArena()
        let given = try arena.rows(rows)
        try withSink(sink) { handle in
            _ = try callHost(type.callbackName("values")) { callback(store, rows.count, given, handle, $0) }
        }
        withExtendedLifetime(arena) {}
    }

    func members(of relationship: Relationship, owners: [RowReference], into sink: RowSink) throws {
        guard let callback = table.relationship else { throw missing("relationship") }
        let arena = RowArena()
        let given = try arena.rows(owners)
        let entity = try borrowedHandle(relationship.entity)
        try withSink(sink) { handle in
            _ = try callHost(type.callbackName("relationship")) {
                callback(store, entity, relationship.key, owners.count, given, handle, $0)
            }
        }
        withExtendedLifetime(arena) {}
    }

    func save(_ changes: HostChanges, into sink: RowSink) throws {
        guard let callback = table.save else { throw missing("save") }
        let arena = RowArena()
        var given = cst_save_changes()
        given.struct_size = MemoryLayout<cst_save_changes>.size
        let inserted = try changes.inserted.map { try arena.row($0.record, $0.entity, changes, nulls: false) }
        given.inserted_count = inserted.count
        given.inserted = arena.list(inserted)
        let updated = try changes.updated.map { update in
            var row = cst_row_update()
            row.row = try arena.row(update.record, update.entity, changes, nulls: true)
            row.old_version = Int64(update.oldVersion)
            row.changed_count = update.slots.count
            row.changed = arena.list(update.slots.map { update.entity.slotKeys[$0] })
            return row
        }
        given.updated_count = updated.count
        given.updated = arena.list(updated)
        given.deleted_count = changes.deleted.count
        given.deleted = arena.list(try changes.deleted.map { try arena.row($0.row, version: $0.version) })
        given.locked_count = changes.locked.count
        given.locked = arena.list(try changes.locked.map { try arena.row($0.row, version: $0.version) })
        let members = try changes.memberChanges.map { try arena.change($0) }
        given.member_change_count = members.count
        given.member_changes = arena.list(members)
        if let metadata = changes.metadata {
            given.metadata = arena.bytes(encodePropertyList(.dictionary(metadata.dictionary)))
        }
        given.author = arena.string(changes.author.author)
        given.context_name = arena.string(changes.author.contextName)
        let box = SaveBox(changes, sink.path)
        let request = try HandleTable.makeInner(box, .saveRequest)
        defer {
            box.end()
            HandleTable.release(request)
        }
        given.request = handle(request)
        try withSink(sink) { handle in
            _ = try callHost(type.callbackName("save")) { callback(store, &given, handle, $0) }
        }
        withExtendedLifetime(arena) {}
    }

    func references(for rows: [NewRow]) throws -> [StoreReference?]? {
        guard let callback = table.obtain_ids else { return nil }
        let arena = RowArena()
        let given = arena.list(try rows.map { try arena.row($0) })
        let out = UnsafeMutablePointer<cst_value>.allocate(capacity: rows.count)
        out.initialize(repeating: cst_value(), count: rows.count)
        defer { out.deallocate() }
        try callHost(type.callbackName("obtain_ids")) { callback(store, rows.count, given, out, $0) }
        defer { withExtendedLifetime(arena) {} }
        return try rows.enumerated().map { place, row -> StoreReference? in
            try readingResult(type.callbackName("obtain_ids"), entity: row.entity.name) {
                StoreReference(try propertyValue(out[place]))
            }
        }
    }

    func didRegister(_ rows: [RowReference]) { notify(table.did_register, rows) }
    func didUnregister(_ rows: [RowReference]) { notify(table.did_unregister, rows) }

    private func notify(
        _ callback: (@convention(c) (UnsafeMutableRawPointer?, Int, UnsafePointer<cst_row>?) -> Void)?,
        _ rows: [RowReference]
    ) {
        guard let callback else { return }
        let arena = RowArena()
        guard let given = try? arena.rows(rows) else { return }
        callback(store, rows.count, given)
        withExtendedLifetime(arena) {}
    }

    func load(into sink: RowSink) throws {
        guard let callback = table.load else { throw missing("load") }
        try withSink(sink) { handle in _ = try callHost(type.callbackName("load")) { callback(store, handle, $0) } }
    }

    func move(to path: String) throws {
        guard let callback = table.move else { throw missing("move") }
        let arena = RowArena()
        let path = arena.string(path)
        try callHost(type.callbackName("move")) { callback(store, path, $0) }
        withExtendedLifetime(arena) {}
    }
}

extension SortDescriptor {
    fileprivate func form(_ arena: RowArena) -> cst_sort {
        var flags = ascending ? 0 : CST_SORT_DESCENDING
        switch selector {
        case .compare: break
        case .caseInsensitive: flags |= CST_SORT_CASE_INSENSITIVE
        case .localized: flags |= CST_SORT_LOCALIZED
        case .localizedCaseInsensitive: flags |= CST_SORT_LOCALIZED | CST_SORT_CASE_INSENSITIVE
        case .localizedStandard: flags |= CST_SORT_LOCALIZED_STANDARD
        }
        if comparator != nil { flags |= CST_SORT_COMPARATOR }
        var form = cst_sort()
        form.key_path = arena.string(keyPath)
        form.flags = UInt32(flags)
        return form
    }
}
