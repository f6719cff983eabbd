import CorestoneValues
import Synchronization

/// A queue of differences for a reader on another thread. Thread-safe.
///
/// Differences that the reader has not taken are combined into one when it takes them. The queue retains at most the
/// first and the last of them.
public final class DifferenceQueue: Sendable {
    fileprivate struct State {
        /// The first waiting difference.
        var first: ResultsDifference?
        /// The last waiting difference if there are several.
        var last: ResultsDifference?
        var updated: Set<ObjectID> = []
        var names: [ObjectID: ObjectID] = [:]
        var isReset = false
        var isEnded = false
    }

    private let state = Locked(State())

    public init() {}

    /// Ends the queue. A waiting difference can still be taken.
    public func end() { state.withLock { $0.isEnded = true } }

    /// Whether the queue has ended and the last difference was taken.
    public var isEnded: Bool { state.withLock { $0.isEnded && $0.first == nil } }

    /// Adds a difference, which must begin at the results of the previous one unless it is a reset.
    public func append(_ difference: ResultsDifference) {
        state.withLock { state in
            guard let first = state.first else { return state.first = difference }
            if state.last == nil { state.note(first) }
            state.note(difference)
            state.last = difference
        }
    }

    /// Removes and returns the waiting differences as one; nil without differences, or if they cancel out.
    public func take() -> ResultsDifference? {
        let taken = state.withLock { state in
            let taken = state
            state = State()
            state.isEnded = taken.isEnded
            return taken
        }
        guard let first = taken.first, let last = taken.last else { return taken.first }
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
