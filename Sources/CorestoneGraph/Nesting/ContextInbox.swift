import CPlatform
import CorestoneValues
import Synchronization

/// A temporary reference that became a permanent key.
struct Renaming: Sendable {
    /// The index of the root of the object's entity.
    let root: UInt32
    let reference: Int64
    let store: Store
    let key: Int64
}

/// What others have to tell a context: which temporary IDs became permanent, which changes it is to merge, and which stores went.
///
/// Any thread may post. A context that belongs to the posting thread takes its mail at once; one with a queue takes it there;
/// one that is confined to another thread takes it when it next fetches or processes pending changes.
final class ContextInbox: @unchecked Sendable {
    /// See `Context.owner`. Here, since the context may end before its inbox.
    let owner = UnsafeMutablePointer<UInt64>.allocate(capacity: 3)
    private let queueType: Context.QueueType
    private let queue: SerialQueue?

    private struct Mail {
        /// Whose inbox it is, until that ends. Not a weak reference, which would make each retain of a context dearer.
        var context: UnsafeMutableRawPointer?
        /// Whether the context's queue was given the task of taking the mail, and has not begun. What could not be merged may have
        /// been put back meanwhile, so that there is mail without anybody on the way.
        var isUnderway = false
        /// Whether the context was closed, and takes no mail any more.
        var isRefused = false
        var renamed: [Renaming] = []
        var merges = Merges.these([])
        /// By store: what other processes wrote, and batch requests.
        var foreign: [(store: Store, changes: ForeignChanges)] = []
        /// Stores that the coordinator has no more.
        var removed: [Store] = []

        mutating func add(_ changes: ForeignChanges, of store: Store) {
            let known = foreign.firstIndex { $0.store === store && $0.changes.isBatch == changes.isBatch }
            if let known { foreign[known].changes.add(changes) } else { foreign.append((store, changes)) }
        }

        var isEmpty: Bool {
            guard case .these(let changes) = merges else { return false }
            return renamed.isEmpty && changes.isEmpty && foreign.isEmpty && removed.isEmpty
        }
    }

    enum Merges {
        case these([ChangedIDs])
        /// More than is worth remembering.
        case everything
    }

    /// How many IDs may wait for a context that does not come for them.
    private static let limit = 1 << 16

    private let mail = Locked(Mail())
    private let hasMail = Atomic(false)
    /// Whether the context merges what is saved beneath it.
    let merges = Atomic(false)
    /// Whether it merges what other processes save.
    let mergesRemote = Atomic(false)
    /// Whether it merges what batch requests change.
    let mergesBatches = Atomic(true)

    init(queueType: Context.QueueType, queue: SerialQueue?) {
        self.queueType = queueType
        self.queue = queue
    }

    deinit { owner.deallocate() }

    /// Has mail delivered to a context from now on.
    func open(for context: Context) {
        mail.withLock { $0.context = Unmanaged.passUnretained(context).toOpaque() }
    }

    /// By a context that ends.
    func close() { mail.withLock { $0.context = nil } }

    /// By a context that was closed, and may live on.
    func refuse() {
        mail.withLock { mail in
            (mail.isRefused, mail.renamed, mail.merges, mail.foreign, mail.removed) = (true, [], .these([]), [], [])
            hasMail.store(false, ordering: .relaxed)
        }
    }

    /// Costs one look where there is none.
    var isEmpty: Bool { !hasMail.load(ordering: .acquiring) }

    func post(_ renamed: [Renaming]) { post { $0.renamed += renamed } }

    func post(_ changes: ChangedIDs) {
        post { mail in
            guard case .these(let waiting) = mail.merges else { return }
            let all = waiting + [changes]
            mail.merges = all.reduce(0) { $0 + $1.count } <= ContextInbox.limit ? .these(all) : .everything
        }
    }

    /// More than is worth remembering.
    func postEverything() { post { $0.merges = .everything } }

    /// Changes that could not be merged now: with the next call.
    func putBack(_ changes: ChangedIDs) {
        putBack { if case .these(let others) = $0.merges { $0.merges = .these([changes] + others) } }
    }

    func putBack(_ changes: ForeignChanges, of store: Store) { putBack { $0.add(changes, of: store) } }

    /// A store that was removed, and of which the context has got to know an object since: with the next call.
    func putBack(removed store: Store) { putBack { $0.removed.append(store) } }

    private func putBack(_ add: (inout Mail) -> Void) {
        mail.withLock { mail in
            add(&mail)
            hasMail.store(true, ordering: .releasing)
        }
    }

    func post(_ changes: ForeignChanges, of store: Store) { post { $0.add(changes, of: store) } }

    func post(removed store: Store) { post { $0.removed.append(store) } }

    private func post(_ add: (inout Mail) -> Void) {
        let isOwn = platform_load64(owner) == platform_thread_id()
        let mustDeliver = mail.withLock { mail in
            if mail.isRefused { return false }
            add(&mail)
            hasMail.store(true, ordering: .releasing)
            if isOwn || mail.isUnderway || queueType == .caller { return false }
            mail.isUnderway = true
            return true
        }
        if isOwn {
            if let context = recipient { try? context.keepingHost { context.takeMail() } }
        } else if mustDeliver {
            deliver()
        }
    }

    private func deliver() {
        let taking = {
            self.mail.withLock { $0.isUnderway = false }
            if let context = self.recipient { try? context.performHere { $0.takeMail() } }
        }
        if queueType == .main { return MainQueue.enqueue(taking) }
        // Without a thread for its queue, the context takes its mail with the next call.
        do { try queue?.enqueue(taking) } catch { mail.withLock { $0.isUnderway = false } }
    }

    /// The context, unless it ended.
    var recipient: Context? {
        mail.withLock { mail in
            guard let retained = mail.context.flatMap({ swift_tryRetain($0) }) else { return nil }
            return Unmanaged<Context>.fromOpaque(retained).takeRetainedValue()
        }
    }

    /// The temporary references that became permanent.
    func takeRenamed() -> [Renaming] { take(\.renamed, leaving: []) }

    /// What other processes wrote, and batch requests.
    func takeForeign() -> [(store: Store, changes: ForeignChanges)] { take(\.foreign, leaving: []) }

    /// The stores that were removed.
    func takeRemoved() -> [Store] { take(\.removed, leaving: []) }

    /// The changes to merge.
    func takeMerges() -> Merges { take(\.merges, leaving: .these([])) }

    private func take<Part>(_ part: WritableKeyPath<Mail, Part>, leaving empty: Part) -> Part {
        mail.withLock { mail in
            defer {
                mail[keyPath: part] = empty
                if mail.isEmpty { hasMail.store(false, ordering: .relaxed) }
            }
            return mail[keyPath: part]
        }
    }
}

/// Contexts that want to know what happens beneath them. Any thread.
final class ContextFollowers: Sendable {
    private let inboxes = Locked<[ContextInbox]>([])
    private let count = Atomic(0)

    /// Costs one look.
    var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

    /// - Parameter isNew: whether it was never added before.
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
    /// Those that merge what is saved.
    var merging: [ContextInbox] { all.filter { $0.merges.load(ordering: .relaxed) } }
    /// Those that merge what batch requests change.
    var mergingBatches: [ContextInbox] { all.filter { $0.mergesBatches.load(ordering: .relaxed) } }
}

extension ChangedIDs {
    fileprivate var count: Int { inserted.count + updated.count + deleted.count + refreshed.count + invalidated.count }
}
