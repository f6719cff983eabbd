import CorestoneValues
import Synchronization

/// Differences that wait for a reader of another thread: those that the reader did not take in time become one, from what it
/// knows to what there is, so that it never has more to read than the results themselves. Any thread.
public final class DifferenceQueue: Sendable {
    fileprivate struct State {
        /// The first that waits alone, or what is to be joined.
        var waiting: ResultsDifference?
        /// The last of several.
        var last: ResultsDifference?
        var updated: Set<ObjectID> = []
        var names: [ObjectID: ObjectID] = [:]
        var isReset = false
        var isEnded = false
    }

    private let state = Locked(State())

    public init() {}

    /// No more will come. What waits can still be taken.
    public func end() { state.withLock { $0.isEnded = true } }

    public var isEnded: Bool { state.withLock { $0.isEnded && $0.waiting == nil } }

    public func append(_ difference: ResultsDifference) {
        state.withLock { state in
            guard let first = state.waiting else { return state.waiting = difference }
            if state.last == nil { state.note(first) }
            state.note(difference)
            state.last = difference
        }
    }

    /// What the reader does not know yet; nil when it knows all.
    public func take() -> ResultsDifference? {
        let taken = state.withLock { state in
            let taken = state
            state = State()
            state.isEnded = taken.isEnded
            return taken
        }
        guard let first = taken.waiting, let last = taken.last else { return taken.waiting }
        let joined = taken.joined(first, last)
        return joined.isEmpty ? nil : joined
    }
}

extension DifferenceQueue.State {
    fileprivate mutating func note(_ difference: ResultsDifference) {
        if difference.isReset {
            isReset = true
            (updated, names) = ([], [:])
        }
        for (former, id) in difference.renamed {
            names[id] = names.removeValue(forKey: former) ?? former
            if updated.remove(former) != nil { updated.insert(id) }
        }
        for change in difference.changes {
            switch change.kind {
            case .update, .move: updated.insert(change.objectID)
            case .delete, .insert: break
            }
        }
    }

    fileprivate func joined(_ first: ResultsDifference, _ last: ResultsDifference) -> ResultsDifference {
        if isReset { return ResultsDifference(inserting: last.snapshot, isReset: true, error: last.error) }
        let (former, new) = (first.former, last.snapshot)
        var known: [ObjectID: ResultsRow] = [:]
        for row in former.rows.all { known[row.id] = row }
        let rows = new.rows.all
        let change = Rearrangement(
            from: former, to: new, before: rows.map { known[names[$0.id] ?? $0.id] },
            isUpdated: rows.map { updated.contains($0.id) })
        let (sections, changes) = change.changes()
        return ResultsDifference(
            from: former, to: new, sections, changes, renamed: names.map { ($0.value, $0.key) }, error: last.error)
    }
}
