import CPlatform
import CorestoneValues
import Synchronization

/// A temporary reference and the permanent key that replaced it.
struct Renaming: Sendable {
    /// The index of the root entity of the object's entity.
    let root: UInt32
    let reference: Int64
    let store: Store
    let key: Int64
}

/// Messages for a context: temporary IDs that became permanent, changes to merge, and removed stores.
///
/// Any thread may post. A context that the posting thread owns processes its inbox immediately. Otherwise a context
/// with a queue processes its inbox on the queue, and a context that is confined to another thread when it next fetches
/// or processes pending changes.
final class ContextInbox: @unchecked Sendable {
    /// The memory of `Context.owner`. The inbox owns it because the context may be deallocated before the inbox.
    let owner = UnsafeMutablePointer<UInt64>.allocate(capacity: 3)
    private let queueType: Context.QueueType
    private let queue: SerialQueue?

    /// The waiting messages and the state of their delivery.
    private struct Messages {
        /// The context, which removes this pointer before it is deallocated.
        ///
        /// The pointer is not a weak reference, because that would make each retain of a context slower.
        var context: UnsafeMutableRawPointer?
        /// Whether a block that processes the inbox is queued and has not begun.
        ///
        /// The inbox can contain messages without a queued block, if changes that could not be merged were put back.
        var isDeliveryQueued = false
        /// Whether the context was closed and ignores new posts.
        var isRefused = false
        var renamed: [Renaming] = []
        var merges = Merges.these([])
        /// Writes of other processes and batch requests, by store.
        var external: [(store: Store, changes: ExternalChanges)] = []
        /// Stores that were removed from the coordinator.
        var removed: [Store] = []

        mutating func add(_ changes: ExternalChanges, of store: Store) {
            let known = external.firstIndex { $0.store === store && $0.changes.isBatch == changes.isBatch }
            if let known { external[known].changes.add(changes) } else { external.append((store, changes)) }
        }

        var isEmpty: Bool {
            guard case .these(let changes) = merges else { return false }
            return renamed.isEmpty && changes.isEmpty && external.isEmpty && removed.isEmpty
        }
    }

    /// The changes that wait to be merged.
    enum Merges {
        case these([ChangedIDs])
        /// Too many changes: refresh all objects.
        case everything
    }

    /// The maximum number of IDs in waiting saves. If there are more, all objects are refreshed instead.
    private static let limit = 1 << 16

    private let messages = Locked(Messages())
    private let hasMessages = Atomic(false)
    /// Whether the context merges the saves of its parent or of other contexts of its coordinator.
    let merges = Atomic(false)
    /// Whether the context merges saves of other processes.
    let mergesRemote = Atomic(false)
    /// Whether the context merges the changes of batch requests.
    let mergesBatches = Atomic(true)

    init(queueType: Context.QueueType, queue: SerialQueue?) {
        self.queueType = queueType
        self.queue = queue
    }

    deinit { owner.deallocate() }

    /// Delivers messages to a context from now on.
    func open(for context: Context) {
        messages.withLock { $0.context = Unmanaged.passUnretained(context).toOpaque() }
    }

    /// Stops delivery. Called by a context that is deallocated.
    func close() { messages.withLock { $0.context = nil } }

    /// Discards all messages and ignores new posts. Called by a context that is closed but may still be retained.
    func refuse() {
        messages.withLock { messages in
            (messages.isRefused, messages.renamed, messages.merges, messages.external, messages.removed) = (
                true, [], .these([]), [], []
            )
            hasMessages.store(false, ordering: .relaxed)
        }
    }

    /// Whether there are no messages. The test is one atomic load.
    var isEmpty: Bool { !hasMessages.load(ordering: .acquiring) }

    func post(_ renamed: [Renaming]) { post { $0.renamed += renamed } }

    func post(_ changes: ChangedIDs) {
        post { messages in
            guard case .these(let pending) = messages.merges else { return }
            let all = pending + [changes]
            messages.merges = all.reduce(0) { $0 + $1.count } <= ContextInbox.limit ? .these(all) : .everything
        }
    }

    /// Requests a refresh of all objects of the context, because there are too many changes to list.
    func postEverything() { post { $0.merges = .everything } }

    /// Puts back changes that could not be merged, for the next processing of the inbox.
    func putBack(_ changes: ChangedIDs) {
        putBack { if case .these(let others) = $0.merges { $0.merges = .these([changes] + others) } }
    }

    func putBack(_ changes: ExternalChanges, of store: Store) { putBack { $0.add(changes, of: store) } }

    /// Puts back a removed store, because the context has since registered one of the store's objects.
    func putBack(removed store: Store) { putBack { $0.removed.append(store) } }

    private func putBack(_ add: (inout Messages) -> Void) {
        messages.withLock { messages in
            add(&messages)
            hasMessages.store(true, ordering: .releasing)
        }
    }

    func post(_ changes: ExternalChanges, of store: Store) { post { $0.add(changes, of: store) } }

    func post(removed store: Store) { post { $0.removed.append(store) } }

    private func post(_ add: (inout Messages) -> Void) {
        let isOwn = platform_load64(owner) == platform_thread_id()
        let mustDeliver = messages.withLock { messages in
            if messages.isRefused { return false }
            add(&messages)
            hasMessages.store(true, ordering: .releasing)
            if isOwn || messages.isDeliveryQueued || queueType == .caller { return false }
            messages.isDeliveryQueued = true
            return true
        }
        if isOwn {
            if let context = recipient { try? context.keepingHost { context.processInbox() } }
        } else if mustDeliver {
            deliver()
        }
    }

    private func deliver() {
        let taking = {
            self.messages.withLock { $0.isDeliveryQueued = false }
            if let context = self.recipient { try? context.performHere { $0.processInbox() } }
        }
        if queueType == .main { return MainQueue.enqueue(taking) }
        // If no thread can be created for the queue, the context processes the inbox in its next operation.
        do { try queue?.enqueue(taking) } catch { messages.withLock { $0.isDeliveryQueued = false } }
    }

    /// The context; nil if it was deallocated.
    var recipient: Context? {
        messages.withLock { messages in
            guard let retained = messages.context.flatMap({ swift_tryRetain($0) }) else { return nil }
            return Unmanaged<Context>.fromOpaque(retained).takeRetainedValue()
        }
    }

    /// Removes and returns the temporary references that became permanent.
    func takeRenamed() -> [Renaming] { take(\.renamed, leaving: []) }

    /// Removes and returns the writes of other processes and batch requests.
    func takeExternal() -> [(store: Store, changes: ExternalChanges)] { take(\.external, leaving: []) }

    /// Removes and returns the stores that were removed from the coordinator.
    func takeRemoved() -> [Store] { take(\.removed, leaving: []) }

    /// Removes and returns the changes to merge.
    func takeMerges() -> Merges { take(\.merges, leaving: .these([])) }

    private func take<Part>(_ part: WritableKeyPath<Messages, Part>, leaving empty: Part) -> Part {
        messages.withLock { messages in
            defer {
                messages[keyPath: part] = empty
                if messages.isEmpty { hasMessages.store(false, ordering: .relaxed) }
            }
            return messages[keyPath: part]
        }
    }
}

/// The inboxes of a parent's or coordinator's contexts that receive saves and other changes. Thread-safe.
final class ContextFollowers: Sendable {
    private let inboxes = Locked<[ContextInbox]>([])
    private let count = Atomic(0)

    /// Whether there are no inboxes. The test is one atomic load.
    var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

    /// Adds an inbox.
    ///
    /// - Parameter isNew: Whether the inbox was never added before, so that no duplicate must be removed.
    func add(_ inbox: ContextInbox, isNew: Bool = false) {
        inboxes.withLock { all in
            if !isNew { all.removeAll { $0 === inbox } }
            all.append(inbox)
            count.store(all.count, ordering: .relaxed)
        }
    }

    func remove(_ inbox: ContextInbox) {
        inboxes.withLock { all in
            all.removeAll { $0 === inbox }
            count.store(all.count, ordering: .relaxed)
        }
    }

    var all: [ContextInbox] { isEmpty ? [] : inboxes.withLock { $0 } }
    /// The inboxes of contexts that merge saves.
    var merging: [ContextInbox] { all.filter { $0.merges.load(ordering: .relaxed) } }
    /// The inboxes of contexts that merge the changes of batch requests.
    var mergingBatches: [ContextInbox] { all.filter { $0.mergesBatches.load(ordering: .relaxed) } }
}

extension ChangedIDs {
    fileprivate var count: Int { inserted.count + updated.count + deleted.count + refreshed.count + invalidated.count }
}
