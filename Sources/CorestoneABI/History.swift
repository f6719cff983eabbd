import CCorestone
import CPlatform
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Synchronization

@_cdecl("cst_coordinator_fetch_history") @implementation
public func cst_coordinator_fetch_history(
    _ pointer: OpaquePointer?, _ given: UnsafePointer<cst_history_options>?,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_cursor")
        let box = try coordinator(pointer)
        let request = try historyRequest(given)
        out.pointee = try HandleTable.make(try HistoryCursorBox(request, box), .historyCursor)
    }
}

@_cdecl("cst_history_cursor_next") @implementation
public func cst_history_cursor_next(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<UnsafePointer<cst_history_transaction>?>?,
    _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try required(out, "out_transaction")
        out.pointee = nil
        let cursor = try historyCursor(pointer)
        guard let transaction = try cursor.next() else { return .end }
        out.pointee = transaction
        return .ok
    }
}

@_cdecl("cst_history_cursor_copy_object_id") @implementation
public func cst_history_cursor_copy_object_id(
    _ pointer: OpaquePointer?, _ index: Int, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_id")
        let transaction = try historyCursor(pointer).current
        let changes = transaction?.changes ?? []
        guard changes.indices.contains(index) else {
            throw HistoryCursorBox.missingChange(index, transaction)
        }
        out.pointee = try HandleTable.make(ObjectIDBox(changes[index].objectID), .objectID)
    }
}

@_cdecl("cst_history_cursor_copy_token") @implementation
public func cst_history_cursor_copy_token(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_token")
        return try putHandle(try historyCursor(pointer).token(), out)
    }
}

@_cdecl("cst_coordinator_count_history") @implementation
public func cst_coordinator_count_history(
    _ pointer: OpaquePointer?, _ given: UnsafePointer<cst_history_options>?, _ out: UnsafeMutablePointer<UInt64>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_count")
        out.pointee = 0
        var request = try historyRequest(given)
        request.resultType = .count
        if case .count(let count) = try coordinator(pointer).coordinator.fetchHistory(request) {
            out.pointee = UInt64(count)
        }
    }
}

@_cdecl("cst_coordinator_fetch_history_ids") @implementation
public func cst_coordinator_fetch_history_ids(
    _ pointer: OpaquePointer?, _ given: UnsafePointer<cst_history_options>?,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_ids")
        var request = try historyRequest(given)
        request.resultType = .objectIDs
        let coordinator = try coordinator(pointer).coordinator
        guard case .objectIDs(let ids) = try coordinator.fetchHistory(request) else { return }
        out.pointee = try ResultList([], ids: ids, entity: ids.first?.entity, box: nil).makeHandle()
    }
}

@_cdecl("cst_context_merge_history") @implementation
public func cst_context_merge_history(
    _ pointer: OpaquePointer?, _ cursor: OpaquePointer?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let context = try onQueue(pointer).context
        guard let transaction = try historyCursor(cursor).current else { return }
        guard transaction.changes != nil else {
            throw CoreError(
                .invalidArgument,
                "transaction \(transaction.number) was read without its changes and cannot be merged; "
                    + HistoryCursorBox.readingChanges,
                key: "omits_changes", value: .int(transaction.number), file: transaction.store.path)
        }
        try context.merge(transaction)
    }
}

// MARK: Deletion

@_cdecl("cst_coordinator_delete_history") @implementation
public func cst_coordinator_delete_history(
    _ pointer: OpaquePointer?, _ before: OpaquePointer?, _ progress: cst_history_progress_fn?,
    _ userdata: UnsafeMutableRawPointer?, _ outTransactions: UnsafeMutablePointer<UInt64>?,
    _ outChanges: UnsafeMutablePointer<UInt64>?, _ error: ErrorOut
) -> cst_status {
    let outputs = HistoryCounts(outTransactions, outChanges)
    return boundary(error) {
        let coordinator = try coordinator(pointer).coordinator
        let token = try historyToken(before)
        try coordinator.deleteHistory(before: .token(token), progress: outputs.reporting(progress, userdata))
    }
}

@_cdecl("cst_coordinator_delete_history_before") @implementation
public func cst_coordinator_delete_history_before(
    _ pointer: OpaquePointer?, _ date: Double, _ count: Int, _ stores: UnsafePointer<OpaquePointer?>?,
    _ progress: cst_history_progress_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ outTransactions: UnsafeMutablePointer<UInt64>?, _ outChanges: UnsafeMutablePointer<UInt64>?, _ error: ErrorOut
) -> cst_status {
    let outputs = HistoryCounts(outTransactions, outChanges)
    return boundary(error) {
        let coordinator = try coordinator(pointer).coordinator
        try coordinator.deleteHistory(
            before: .date(try historyDate(date, "date")), of: try historyStores(stores, count),
            progress: outputs.reporting(progress, userdata))
    }
}

/// The out parameters of a deletion: the numbers of deleted transactions and changes.
///
/// They are updated after each step, so after a failure they contain the numbers that the completed steps deleted.
private struct HistoryCounts {
    let transactions, changes: UnsafeMutablePointer<UInt64>?

    init(_ transactions: UnsafeMutablePointer<UInt64>?, _ changes: UnsafeMutablePointer<UInt64>?) {
        (self.transactions, self.changes) = (transactions, changes)
        transactions?.pointee = 0
        changes?.pointee = 0
    }

    func reporting(
        _ progress: cst_history_progress_fn?, _ userdata: UnsafeMutableRawPointer?
    ) -> (Int, Int) -> Bool {
        { transactions, changes in
            self.transactions?.pointee = UInt64(transactions)
            self.changes?.pointee = UInt64(changes)
            return progress?(userdata, UInt64(transactions), UInt64(changes)) ?? true
        }
    }
}

// MARK: Requests

func historyRequest(_ given: UnsafePointer<cst_history_options>?) throws -> HistoryRequest {
    let given = try options(given, cst_history_options(), "options")
    var request = HistoryRequest()
    if let after = given.after {
        request.start = .token(try historyToken(after))
    } else if given.has_after_date {
        request.start = .date(try historyDate(given.after_date, "after_date"))
    }
    guard let subject = HistoryRequest.Subject(rawValue: given.subject) else {
        throw CoreError(
            .invalidArgument, "subject is \(given.subject); use CST_HISTORY_TRANSACTIONS or CST_HISTORY_CHANGES",
            key: "subject", value: .int(Int64(given.subject)))
    }
    request.subject = subject
    request.predicate = try given.predicate.map { try predicate($0) }
    request.excludedAuthor = try given.excluded_author.optionalString("excluded_author")
    request.affectedStores = try historyStores(given.stores, given.store_count)
    request.sortDescriptors = try sortDescriptors(given.sort, given.sort_count, nil, nil, for: .history)
    // A size above Int.max arrives as a negative number.
    request.limit = given.limit < 0 ? .max : given.limit
    request.batchSize = given.batch_size < 0 ? .max : given.batch_size
    request.resultType = given.omits_changes ? .transactions : .transactionsAndChanges
    return request
}

/// Returns a date that the host passed, which may be infinite. Throws for NaN.
func historyDate(_ seconds: Double, _ name: StaticString) throws -> Double {
    guard seconds.isNaN else { return seconds }
    throw CoreError(
        .invalidArgument, "\(name) is not a number; pass seconds since 2001-01-01 00:00:00 UTC", key: "\(name)",
        value: .double(seconds))
}

// MARK: Cursors

func historyCursor(_ pointer: OpaquePointer?) throws -> HistoryCursorBox {
    try resolve(pointer, .historyCursor, as: HistoryCursorBox.self)
}

/// A cursor, and its last transaction as a struct for the host.
final class HistoryCursorBox {
    private enum Source {
        case cursor(HistoryCursor)
        case list(ArraySlice<HistoryTransaction>)
    }

    private var source: Source
    /// The coordinator, which keeps the model of the borrowed entities alive.
    private let coordinator: CoordinatorBox
    private(set) var current: HistoryTransaction? {
        didSet { values = nil }
    }
    private var values: [[String: PropertyValue]?]?
    private let buffer = TransactionBuffer()

    init(_ request: HistoryRequest, _ box: CoordinatorBox) throws {
        coordinator = box
        if request.sortDescriptors.isEmpty {
            source = .cursor(try box.coordinator.history(request))
        } else {
            source = .list(try HistoryCursorBox.sorted(request, box.coordinator)[...])
        }
    }

    /// Creates the cursor for a callback that receives a transaction.
    init(_ cursor: HistoryCursor, _ transaction: HistoryTransaction, _ box: CoordinatorBox) {
        (coordinator, source, current) = (box, .cursor(cursor), transaction)
    }

    func view() throws -> UnsafePointer<cst_history_transaction>? { try current.map { try buffer.fill($0) } }

    /// Returns the current values of the object of a change, or nil if the object was deleted.
    ///
    /// The values for all changes of the transaction are read together.
    func values(ofChange index: Int) throws -> [String: PropertyValue]? {
        guard let current, 0..<(current.changes?.count ?? 0) ~= index else {
            throw HistoryCursorBox.missingChange(index, self.current)
        }
        let values = try self.values ?? current.currentValues()
        self.values = values
        return values[index]
    }

    /// The remedy in errors about missing changes.
    static let readingChanges = "read the history with omits_changes false (changes=True)"

    static func missingChange(_ index: Int, _ transaction: HistoryTransaction?) -> CoreError {
        let reason: String
        switch (transaction?.number, transaction?.changes?.count) {
        case (nil, _):
            reason =
                "the cursor is not at a transaction; call cst_history_cursor_next, and read changes only if it returns "
                + "CST_OK"
        case (let number?, nil):
            reason = "transaction \(number) was read without its changes; \(readingChanges)"
        case (let number?, 0?): reason = "transaction \(number) does not have changes; check change_count first"
        case (let number?, let count?):
            reason =
                "transaction \(number) has \(count) \(count == 1 ? "change" : "changes"); pass an index below "
                + "change_count"
        }
        return CoreError(
            .invalidArgument, "change is \(UInt(bitPattern: index)), but \(reason)", key: "change",
            value: sizeValue(index), file: transaction?.store.path)
    }

    private var cursor: HistoryCursor? {
        if case .cursor(let cursor) = source { return cursor }
        return nil
    }

    /// Returns the cursor for waiting.
    ///
    /// Throws if the request had sort descriptors, because all transactions were then read when the cursor was created.
    func following() throws -> HistoryCursor {
        if let cursor { return cursor }
        throw CoreError(
            .invalidArgument,
            "a history cursor with sort descriptors cannot wait for new transactions; leave the sort descriptors out "
                + "to follow the history", key: "sort")
    }

    private static func sorted(_ request: HistoryRequest, _ coordinator: Coordinator) throws -> [HistoryTransaction] {
        var request = request
        if request.subject == .changes { request.resultType = .changes }
        switch try coordinator.fetchHistory(request) {
        case .transactions(let transactions): return transactions
        case .changes(let changes): return changes.map(\.asTransaction)
        default: return []
        }
    }

    /// Whether a call is reading the next transaction. The flag detects calls by other threads and by callbacks of the
    /// call: they would free the memory that it borrowed.
    private let isBusy = Atomic(false)

    func next() throws -> UnsafePointer<cst_history_transaction>? {
        guard !isBusy.exchange(true, ordering: .acquiring) else {
            throw CoreError(
                .wrongThread,
                "\(nameOfThread(platform_thread_id())) called cst_history_cursor_next during another call with the "
                    + "same cursor; create a cursor with cst_coordinator_fetch_history for each thread and callback")
        }
        defer { isBusy.store(false, ordering: .releasing) }
        current = nil
        switch source {
        case .cursor(let cursor): current = try cursor.next()
        case .list(var rest):
            current = rest.popFirst()
            source = .list(rest)
        }
        return try view()
    }

    func token() throws -> HistoryToken {
        guard case .cursor(let cursor) = source else {
            throw CoreError(
                .invalidArgument,
                "a history cursor with sort descriptors does not have a token, because its order can differ from the "
                    + "commit order; leave the sort descriptors out", key: "sort")
        }
        return cursor.token
    }
}

/// The memory of a transaction, which the host borrows until it reads the next transaction.
private final class TransactionBuffer {
    private let transaction = UnsafeMutablePointer<cst_history_transaction>.allocate(capacity: 1)
    private var changes: [cst_history_change] = []
    private var texts = TextBuffer()
    /// The names of updated properties, cached as long as the cursor exists. Many updates share one list of properties.
    private var names: [UnsafeRawPointer: NameList] = [:]
    private var tombstones: [Tombstone] = []
    private var entities: [UInt32: OpaquePointer?] = [:]
    private var lastEntity: (index: UInt32, handle: OpaquePointer?)?
    private var lastNames: (address: UnsafeRawPointer, names: UnsafeMutableBufferPointer<cst_string>)?

    private struct NameList {
        /// The list, which is retained because its address is the key in `names`.
        let properties: [Property]
        let texts: [Text]
        let names: UnsafeMutableBufferPointer<cst_string>
    }

    private struct Tombstone {
        let keys: [Text]
        let values: [PropertyValue]
        let keyViews: UnsafeMutableBufferPointer<cst_string>
        let valueViews: UnsafeMutableBufferPointer<cst_value>
    }

    deinit {
        transaction.deallocate()
        for list in names.values { list.names.deallocate() }
        endTombstones()
    }

    private func endTombstones() {
        for tombstone in tombstones {
            tombstone.keyViews.deallocate()
            tombstone.valueViews.deallocate()
        }
        tombstones = []
    }

    func fill(_ given: HistoryTransaction) throws -> UnsafePointer<cst_history_transaction> {
        endTombstones()
        texts = TextBuffer()
        changes.removeAll(keepingCapacity: true)
        changes.reserveCapacity(given.changes?.count ?? 0)
        for change in given.changes ?? [] { changes.append(try view(of: change)) }
        var view = cst_history_transaction()
        view.number = given.number
        view.timestamp = given.timestamp
        view.store_identifier = texts.view(of: given.storeIdentifier)
        view.author = texts.view(of: given.author)
        view.context_name = texts.view(of: given.contextName)
        view.bundle_identifier = texts.view(of: given.bundleIdentifier)
        view.process_identifier = texts.view(of: given.processIdentifier)
        view.change_count = changes.count
        // The array does not change before the next transaction, so its memory does not move.
        view.changes = changes.withUnsafeBufferPointer { $0.baseAddress }
        transaction.initialize(to: view)
        return UnsafePointer(transaction)
    }

    private func view(of change: HistoryChange) throws -> cst_history_change {
        var view = cst_history_change()
        view.number = change.id
        view.kind = change.kind.rawValue
        view.entity = try entity(change.objectID.entity)
        view.primary_key = change.objectID.reference
        if !change.updatedProperties.isEmpty {
            let names = names(of: change.updatedProperties)
            view.property_count = names.count
            view.properties = UnsafePointer(names.baseAddress)
        }
        if let values = change.tombstone, !values.isEmpty {
            let tombstone = tombstone(values)
            tombstones.append(tombstone)
            view.tombstone_count = values.count
            view.tombstone_keys = UnsafePointer(tombstone.keyViews.baseAddress)
            view.tombstone_values = UnsafePointer(tombstone.valueViews.baseAddress)
        }
        return view
    }

    private func entity(_ entity: Entity) throws -> OpaquePointer? {
        if let lastEntity, lastEntity.index == entity.index { return lastEntity.handle }
        let handle = try entities[entity.index] ?? borrowedHandle(entity)
        entities[entity.index] = handle
        lastEntity = (entity.index, handle)
        return handle
    }

    private func names(of properties: [Property]) -> UnsafeMutableBufferPointer<cst_string> {
        let address = properties.withUnsafeBytes { $0.baseAddress }
        if let lastNames, lastNames.address == address { return lastNames.names }
        if let address, let known = names[address] {
            lastNames = (address, known.names)
            return known.names
        }
        let texts = properties.map { Text($0.path) }
        let views = UnsafeMutableBufferPointer<cst_string>.allocate(capacity: texts.count)
        _ = views.initialize(from: texts.map { cst_string($0) })
        if let address { names[address] = NameList(properties: properties, texts: texts, names: views) }
        return views
    }

    private func tombstone(_ values: [String: PropertyValue]) -> Tombstone {
        let sorted = values.sorted { $0.key < $1.key }
        let keys = sorted.map { Text($0.key) }
        let keyViews = UnsafeMutableBufferPointer<cst_string>.allocate(capacity: keys.count)
        _ = keyViews.initialize(from: keys.map { cst_string($0) })
        let valueViews = UnsafeMutableBufferPointer<cst_value>.allocate(capacity: keys.count)
        for (place, entry) in sorted.enumerated() {
            guard let base = valueViews.baseAddress else { break }
            put(ValueView(entry.value), base + place)
        }
        return Tombstone(keys: keys, values: sorted.map(\.value), keyViews: keyViews, valueViews: valueViews)
    }
}

/// Texts that the host borrows as long as this value exists.
struct TextBuffer {
    private var copies: [Text] = []

    /// Returns a view of a text, or a null string for nil.
    mutating func view(of text: String?) -> cst_string {
        guard let text else { return .null }
        let copy = Text(text)
        copies.append(copy)
        return cst_string(copy)
    }
}
