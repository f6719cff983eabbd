import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension Context {
    /// Whether the context automatically merges saves of other processes. Default: false.
    ///
    /// Saves of other coordinators of this process are included. The changes are merged as by `mergeChanges`: objects
    /// in memory are read again and keep their own changes, and objects of deleted rows are deleted. Can be set on any
    /// thread.
    ///
    /// The merge runs on the context's queue. A context with a private queue or of the main queue merges as soon as the
    /// queue is free. A context that is confined to a thread merges when it next processes pending changes, or when it
    /// fetches without having changes of its own.
    ///
    /// The changes are read from the history of the store. Without a history, or if there are too many changes, the
    /// versions of all registered objects are compared with those in the store. The next fetch then finds the inserted
    /// rows. Saves from before the property was set are not merged.
    ///
    /// The property cannot be set for a nested context. A nested context that merges the saves of its parent also
    /// merges the remote changes that the parent has merged. A context that is pinned to the current state advances to
    /// the newest state with each merge. A context that `setQueryGeneration` pinned to another token does not merge.
    public var automaticallyMergesRemoteChanges: Bool {
        get { links.inbox.mergesRemote.load(ordering: .relaxed) }
        set { try? setMergesRemoteChanges(newValue) }
    }

    /// Sets `automaticallyMergesRemoteChanges`.
    ///
    /// - Throws: `.invalidArgument` for a nested context.
    ///   `.noMemory` or `.storeIO` if a store cannot be watched.
    package func setMergesRemoteChanges(_ merges: Bool) throws {
        guard parent == nil else {
            throw CoreError(
                .invalidArgument,
                "\(label.text) is a nested context, which does not merge remote changes itself; call "
                    + "cst_context_set_merges_remote_changes (automatically_merges_remote_changes) for its outermost "
                    + "parent context, and cst_context_set_automatically_merges (automatically_merges) for each nested "
                    + "context")
        }
        if links.inbox.mergesRemote.exchange(merges, ordering: .relaxed) == merges { return }
        guard merges else { return coordinator.remote.remove(links.inbox, in: coordinator) }
        do { try coordinator.remote.add(links.inbox, in: coordinator) } catch {
            links.inbox.mergesRemote.store(false, ordering: .relaxed)
            throw error
        }
    }
}
