import CPlatform
import CorestoneModel
import CorestoneValues

/// A registered reader of a store's history. While its lease is valid, purges keep transactions that it has not read.
public struct HistoryConsumer: Sendable, Equatable {
    public let name: String
    /// The number of the last transaction that it has read.
    public let transactionNumber: Int64
    /// The time when the consumer was last registered or moved, in seconds since 2001-01-01 00:00:00 UTC.
    public let lastSeen: Double
    /// The number of seconds after `lastSeen` during which purges keep its unread transactions.
    public let lease: Double

    package init(name: String, transactionNumber: Int64, lastSeen: Double, lease: Double) {
        (self.name, self.transactionNumber, self.lastSeen, self.lease) = (name, transactionNumber, lastSeen, lease)
    }

    /// The default lease: 30 days.
    public static let usualLease = 30.0 * 86_400
    static let longestLease = 100 * 365.25 * 86_400

    /// Whether the lease is valid at a time.
    public func isLiving(at time: Double) -> Bool { time <= lastSeen + lease }
}

/// The limits for the transactions that a purge keeps; see `Coordinator.purgeHistory`.
public struct HistoryRetention: Sendable, Equatable {
    /// The maximum age of kept transactions in seconds; nil for no limit.
    public var age: Double?
    /// The number of newest transactions to keep; nil for no limit.
    public var count: Int?
    /// The size in bytes of the newest transactions to keep, estimated from the average size of a change.
    ///
    /// Nil for no limit.
    public var bytes: Int?

    public init(age: Double? = nil, count: Int? = nil, bytes: Int? = nil) {
        (self.age, self.count, self.bytes) = (age, count, bytes)
    }

    var hasLimits: Bool { age != nil || count != nil || bytes != nil }
}

/// The result of a purge: the number of removed transactions and changes, and the reasons for kept ones.
public struct HistoryPurge: Sendable, Equatable {
    public internal(set) var transactions = 0
    public internal(set) var changes = 0
    /// The slowest consumer, if transactions beyond the limits were kept for it.
    public internal(set) var heldBy: HistoryConsumer?
    /// Consumers that were ignored, because their lease has expired.
    public internal(set) var expired: [HistoryConsumer] = []
    /// Another reason for keeping transactions, such as a CloudKit mirror; nil if there is no such reason.
    public internal(set) var reason: String?
}

/// The size of a store's history.
public struct HistorySize: Sendable, Equatable {
    public package(set) var transactions = 0
    public package(set) var changes = 0
    /// The size of the tables and their indexes in bytes.
    public package(set) var bytes = 0
    /// Whether `bytes` is an estimate, because the SQLite library does not have `dbstat`.
    public package(set) var isEstimated = false
    /// The times of the first and the last transaction; nil for an empty history.
    public package(set) var oldest, newest: Double?

    package init() {}
}

extension Coordinator {
    // MARK: - Consumers

    /// Registers a consumer of a store's history, or renews the lease of a registered one, which keeps its position.
    ///
    /// - Parameters:
    ///   - token: The start position of a new consumer; nil for the current token.
    ///   - lease: The number of seconds after the last registration or move during which purges keep unread
    ///     transactions.
    /// - Throws: `.invalidArgument` for a store without a history, an empty name, and a lease that is not above 0 and
    ///   at most 100 years.
    ///   Code 134501 for a token of other stores.
    ///   Code 134301 if transactions after the start position were deleted.
    ///   `.storeReadOnly` if the store cannot be written.
    @discardableResult
    public func registerHistoryConsumer(
        _ name: String, of store: Store, at token: HistoryToken? = nil, lease: Double = HistoryConsumer.usualLease
    ) throws -> HistoryConsumer {
        try requireName(name, of: store)
        guard lease > 0, lease <= HistoryConsumer.longestLease else {
            throw CoreError(
                .invalidArgument,
                "the lease of the history consumer \"\(name)\" is \(lease) seconds, but must be above 0 and at most 100 "
                    + "years", key: "lease", value: .double(lease), file: store.path)
        }
        let start = try token.map { try $0.number(for: store) }
        return try writeHistory(of: store, "register the history consumer \"\(name)\"") { transaction in
            let history = try store.requireHistory()
            let bounds = try history.bounds()
            let known = try history.consumers().first { $0.name == name }
            let number = known?.transactionNumber ?? start ?? bounds.highest
            try bounds.requireKept(after: number, store, isOfConsumer: known != nil)
            let consumer = HistoryConsumer(
                name: name, transactionNumber: number, lastSeen: ReferenceDate.currentSeconds, lease: lease)
            try transaction.setHistoryConsumer(consumer)
            return consumer
        }
    }

    /// Moves a consumer to the position up to which it has read, and renews its lease.
    ///
    /// The consumer does not move back to an earlier position.
    ///
    /// - Throws: `.invalidArgument` if the consumer is not registered.
    ///   Code 134501 for a token of other stores.
    ///   Code 134301 if transactions after the position were deleted.
    ///   `.storeReadOnly` if the store cannot be written.
    @discardableResult
    public func moveHistoryConsumer(
        _ name: String, of store: Store, to token: HistoryToken
    ) throws -> HistoryConsumer {
        let number = try token.number(for: store)
        return try writeHistory(of: store, "move the history consumer \"\(name)\"") { transaction in
            let history = try store.requireHistory()
            let consumers = try history.consumers()
            guard let known = consumers.first(where: { $0.name == name }) else {
                let near = nearestName(to: name, among: consumers.map(\.name)).map { "did you mean \"\($0)\"?" }
                let registration =
                    "call cst_coordinator_register_history_consumer (register_history_consumer, registerHistoryConsumer) first"
                throw CoreError(
                    .invalidArgument,
                    "\(store.path) has no history consumer \"\(name)\"; \(near ?? registration)",
                    key: "name", value: .string(name),
                    file: store.path)
            }
            try history.bounds().requireKept(after: max(known.transactionNumber, number), store)
            let consumer = HistoryConsumer(
                name: name, transactionNumber: max(known.transactionNumber, number),
                lastSeen: ReferenceDate.currentSeconds, lease: known.lease)
            try transaction.setHistoryConsumer(consumer)
            return consumer
        }
    }

    /// Removes a consumer. Returns false if it was not registered.
    @discardableResult
    public func unregisterHistoryConsumer(_ name: String, of store: Store) throws -> Bool {
        try writeHistory(of: store, "deregister the history consumer \"\(name)\"") { transaction in
            try transaction.removeHistoryConsumer(name)
        }
    }

    /// Returns the consumers of a store's history in the order of their names, including those with an expired lease.
    public func historyConsumers(of store: Store) throws -> [HistoryConsumer] {
        try requireOwn(store)
        return try store.readHistory { try $0.consumers() } ?? []
    }

    private func requireName(_ name: String, of store: Store) throws {
        guard name.isEmpty else { return }
        throw CoreError(
            .invalidArgument, "the name of a history consumer is empty; pass a name", key: "name", value: .string(name),
            file: store.path)
    }

    /// Waits for the turn to write and runs `body` in a write transaction of the store.
    private func writeHistory<Result>(
        of store: Store, _ purpose: String, _ body: (any SaveTransaction) throws -> Result
    ) throws -> Result {
        try requireOwn(store)
        return try store.writingHistory(purpose) {
            var result: Result?
            try store.backing.save { result = try body($0) }
            guard let result else {
                throw CoreError(
                    .internal,
                    "cannot \(purpose) of \(store.path): the transaction did not return a result; report it as a defect of the library",
                    file: store.path)
            }
            return result
        }
    }

    // MARK: - Purges

    /// Deletes the transactions of a store that exceed a limit and that every consumer with a valid lease has read.
    ///
    /// Without limits, all transactions that these consumers have read are deleted, and none if there is no such
    /// consumer. The purge runs in steps, between which other writers can save.
    ///
    /// A store that CloudKit mirrors (with `ANSCK` tables) keeps the transactions of at least the last seven days, and
    /// all transactions that the mirror has not exported.
    ///
    /// - Parameter progress: Called after each step with the numbers of deleted transactions and changes. If it returns
    ///   false, the purge ends with `.cancelled`, and deleted transactions stay deleted.
    /// - Throws: `.invalidArgument` for a store without a history or an invalid limit.
    ///   `.storeReadOnly` if the store cannot be written.
    ///   `.cancelled` if `progress` returns false.
    @discardableResult
    public func purgeHistory(
        of store: Store, keeping retention: HistoryRetention = HistoryRetention(),
        progress: ((_ transactions: Int, _ changes: Int) -> Bool)? = nil
    ) throws -> HistoryPurge {
        try requireOwn(store)
        try retention.requireSound(ofStoreAt: store.path)
        var purge = HistoryPurge()
        guard let end = try store.readHistory({ try $0.end(of: retention) }) else { throw store.noHistoryError() }
        var deletion = HistoryDeletion("purge the history", "purge", progress)
        // A consumer may register between two steps, or the mirror may export, so each step computes the limit again.
        try deletion.run(in: store) { transaction in
            let limit = try store.requireHistory().limit(of: end, hasLimits: retention.hasLimits, &purge)
            return try transaction.deleteHistory(before: limit)
        }
        (purge.transactions, purge.changes) = (deletion.transactions, deletion.changes)
        return purge
    }

    /// The interval of automatic purges, in transaction numbers. Each multiple of it starts a purge.
    static let purgeInterval: Int64 = 1_000

    /// Purges the history of a store to the given limits soon, and again after further transactions.
    ///
    /// A failure does not affect the store, so it is only logged.
    package func purgeAutomatically(_ store: Store, to retention: HistoryRetention) {
        guard store.backing.keepsHistory, !store.isReadOnly else { return }
        store.historyRetention.withLock { $0 = retention }
        purgeAutomatically(store)
    }

    /// Purges the history later on a thread of the coordinator, so that a save does not wait.
    func purgeAutomatically(_ store: Store) {
        guard let retention = store.historyRetention.withLock({ $0 }) else { return }
        let purge: @Sendable () -> Void = { [weak self] in
            guard let self, store.isOpen else { return }
            do { try purgeHistory(of: store, keeping: retention) } catch {
                DebugLog.write(
                    "CoreData: warning: the history of \(store.path) was not purged: \((error as? CoreError)?.message ?? "\(error)")"
                )
            }
        }
        try? queue.enqueue(purge)
    }

    /// Returns the size of a store's history; zero for a store without a history.
    ///
    /// The time depends on the size, because the tables of the history are read.
    public func historySize(of store: Store) throws -> HistorySize {
        try requireOwn(store)
        return try store.readHistory { try $0.size() } ?? HistorySize()
    }
}

extension Store {
    /// Runs `body` with the newest state of the history; returns nil for a store without a history.
    func readHistory<Result>(_ body: (any StoredHistory) throws -> Result?) throws -> Result? {
        let reader = backing.makeReader()
        return try use {
            reader.endRead()
            return try reader.history.flatMap { try body($0) }
        }
    }

    /// Returns the history in the current write transaction of the store.
    func requireHistory() throws -> any StoredHistory {
        if let history = try backing.history { return history }
        throw noHistoryError()
    }

    func noHistoryError() -> CoreError {
        CoreError(
            .invalidArgument,
            type == .sqlite
                ? "\(path) does not have a history; open the store \(isReadOnly ? "for writing, with" : "with") "
                    + "CST_STORE_HISTORY (history)"
                : "\(Coordinator.shown(path)) does not have a history; use an SQLite store that is opened with "
                    + "CST_STORE_HISTORY (history)",
            key: "store", file: path)
    }

    /// Waits for the turn to write and runs `body`, which writes to the history.
    func writingHistory<Result>(_ purpose: String, _ body: () throws -> Result) throws -> Result {
        if platform_holds_store(), !writing.isHeldByThisThread {
            throw Coordinator.storeInUse("\(purpose) of \(path)", file: path)
        }
        return try writing.with {
            guard !isReadOnly else { throw readOnlyError() }
            guard !isInBatch else { throw inBatchError() }
            return try use(body)
        }
    }
}

extension HistoryToken {
    fileprivate func number(for store: Store) throws -> Int64 {
        if let number = transactionNumbers[store.identifier] { return number }
        let hasHistory = try store.readHistory { _ in true } == true
        throw HistoryToken.unknown(store, self, hasHistory: hasHistory)
    }
}

extension HistoryRetention {
    /// Throws `.invalidArgument` if a limit is negative or not finite.
    package func requireSound(ofStoreAt path: String) throws {
        func refuse(_ key: String, _ value: PropertyValue, _ fault: String) -> CoreError {
            CoreError(
                .invalidArgument, "\(key) of the history to keep is \(value.excerpt)\(fault)", key: key, value: value,
                file: path)
        }
        if let age, !age.isFinite || age < 0 {
            throw refuse("age", .double(age), " seconds, but must be a finite number of at least 0")
        }
        if let count, count < 0 { throw refuse("count", .int(Int64(count)), ", but must be at least 0") }
        if let bytes, bytes < 0 { throw refuse("bytes", .int(Int64(bytes)), ", but must be at least 0") }
    }
}

extension StoredHistory {
    /// Returns the number before which the limits allow transactions to be deleted.
    fileprivate func end(of retention: HistoryRetention) throws -> Int64 {
        let bounds = try bounds()
        // Without limits, only the positions of the consumers count, in each step.
        guard retention.hasLimits else { return bounds.highest.addingClamped(1) }
        var end = bounds.lowest
        if let age = retention.age {
            end = max(
                end, try firstNumber(notBefore: ReferenceDate.currentSeconds - age) ?? bounds.highest.addingClamped(1))
        }
        if let count = retention.count { end = max(end, try firstNumber(ofNewest: count) ?? bounds.lowest) }
        if let bytes = retention.bytes { end = max(end, try firstNumber(ofNewestBytes: bytes) ?? bounds.lowest) }
        return end
    }

    /// Returns the number before which transactions may be deleted now, at most `end`.
    ///
    /// - Parameters:
    ///   - hasLimits: Whether the retention has limits. If false and no consumer has a valid lease, all transactions
    ///     are kept.
    ///   - purge: Receives the present reasons for keeping transactions.
    fileprivate func limit(of end: Int64, hasLimits: Bool, _ purge: inout HistoryPurge) throws -> Int64 {
        let time = ReferenceDate.currentSeconds
        let consumers = try consumers()
        let living = consumers.filter { $0.isLiving(at: time) }
        purge.expired = consumers.filter { !$0.isLiving(at: time) }
        (purge.heldBy, purge.reason) = (nil, nil)
        if !hasLimits, living.isEmpty { return 0 }
        var limit = end
        if let slowest = living.min(by: { $0.transactionNumber < $1.transactionNumber }),
            slowest.transactionNumber < limit.addingClamped(-1)
        {
            limit = slowest.transactionNumber.addingClamped(1)
            purge.heldBy = slowest
        }
        if let mirror = try mirrorLimit(), mirror.number < limit {
            limit = mirror.number
            purge.reason = mirror.reason
        }
        return limit
    }
}
