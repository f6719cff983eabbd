import CPlatform
import CorestoneValues
import Glibc

/// Who closes the stores of a coordinator, and what the main queue has still to do for its contexts.
///
/// A context of a private queue is refused by its queue; those of the main one have no queue of their own.
final class Closing: Sendable {
    private struct State {
        /// The thread that closes; 0 while nobody does.
        var closer: UInt64 = 0
        /// Pieces of work of the main queue.
        var waiting = 0
        /// Whether the stores were closed.
        var hasClosed = false
        /// Whether the main queue takes no more work, which it does for as long as other queues have some that may need it.
        var isMainClosed = false
    }

    private let state = Locked(State())

    /// The thread that closes; 0 while nobody does.
    var closer: UInt64 { state.withLock(\.closer) }
    var isAwaited: Bool { state.withLock { $0.waiting > 0 } }

    /// - Parameter name: what is to be closed.
    /// - Returns: false when it was closed before.
    /// - Throws: `.invalidHandle` while somebody closes it.
    func begin(waits: Bool, _ name: String) throws -> Bool {
        try state.withLock { state in
            if state.hasClosed { return false }
            guard state.closer == 0 else {
                throw CoreError(
                    .invalidHandle,
                    "\(name) is already being closed; wait for that call, and close it again if it stays open"
                )
            }
            (state.closer, state.isMainClosed) = (platform_thread_id(), !waits)
            return true
        }
    }
    /// Whether the stores are closed, and no other ones are taken.
    var hasClosed: Bool { state.withLock(\.hasClosed) }
    func finish() { state.withLock { $0.hasClosed = true } }
    func closeMain() { state.withLock { $0.isMainClosed = true } }
    func end() { state.withLock { ($0.closer, $0.isMainClosed) = (0, false) } }

    /// - Throws: for all but the thread that closes.
    func enter(_ whose: ContextLabel) throws {
        try state.withLock { state in
            if state.isMainClosed, state.closer != platform_thread_id() { throw whose.refusal }
            state.waiting += 1
        }
    }

    func leave() { state.withLock { $0.waiting -= 1 } }
}

extension ContextLabel {
    var refusal: CoreError {
        CoreError(
            .invalidHandle,
            "\(text) accepts no more work: its stores are closed or being closed; queue work before that, or open the stores with a "
                + "new coordinator"
        )
    }
}

extension Coordinator {
    /// Runs `body`, which closes the stores, when the queues of all contexts have done what they were given. From then on they take
    /// nothing but from the calling thread, and tell everybody else; the main queue goes on until the others are done, whose work
    /// may wait for it, and is served meanwhile when the calling thread is the main one. Contexts that are confined to a thread are
    /// none of its business.
    ///
    /// - Parameters:
    ///   - waits: false: what the queues were given finds the stores closed.
    ///   - name: for the beginning of a sentence.
    /// - Returns: false when the stores were closed before, and `body` did not run.
    /// - Throws: what `body` throws, and the queues go on then; `.invalidArgument` when the calling thread has a queue on which work
    ///   waits, since that would never have its turn; `.invalidHandle` while another call closes the stores.
    package func closeDown(waits: Bool, called name: String, _ body: () throws -> Void) throws -> Bool {
        guard try closing.begin(waits: waits, name) else { return false }
        do {
            try closeQueues(waits)
            try body()
            closing.finish()
            // Readers of the history that wait find the coordinator closed.
            historySignals.send()
            // Stores that were added since `body` closed them.
            for store in stores { try? remove(store) }
            // What nobody waited for is not waited for by the end of the contexts either.
            if !waits { for context in liveContexts { context.giveUp() } }
            return true
        } catch {
            closing.end()
            for context in liveContexts { context.queue?.open() }
            throw error
        }
    }

    /// Whether another call closes the stores at the moment, or they are closed.
    package var isClosing: Bool { closing.closer != 0 }

    /// Closes the stores, as a container closes them. Contexts stay, but can read and save nothing any more, and their queues take no
    /// more work. No store can be added afterwards. Closing twice is fine.
    ///
    /// - Throws: `.unsavedChanges` with a child for each context that has some, its name and its counts by entity, unless they are
    ///   to be saved or lost; what a save fails with; `.invalidArgument` on the queue of a context on which other work waits;
    ///   `.invalidHandle` while another call closes it. Nothing is closed then.
    public func close(_ unsaved: UnsavedChanges.Policy = .refuse) throws {
        try close(unsaved, called: "the coordinator")
    }

    /// - Parameters:
    ///   - name: for the beginning of a sentence that says what stays open.
    ///   - isToClose: called when nothing stands in the way any more, or the stores were closed before.
    package func close(_ unsaved: UnsavedChanges.Policy, called name: String, _ isToClose: () -> Void = {}) throws {
        let isFirst = try closeDown(waits: unsaved != .discard, called: name) {
            if unsaved == .save { try saveContexts() }
            if unsaved != .discard {
                let held = unsavedChanges
                if !held.isEmpty { throw UnsavedChanges.refusal(name, held) }
            }
            isToClose()
            for store in stores { try remove(store) }
        }
        if !isFirst { isToClose() }
    }

    private func closeQueues(_ waits: Bool) throws {
        let isMain = MainQueue.boundThread == platform_thread_id()
        // Work may make contexts, too; such a one is closed from the first.
        while true {
            let open = liveContexts.filter { $0.queue?.isClosed == false }
            if open.isEmpty { break }
            for context in open {
                context.queue?.close(but: closing.closer)
                guard waits else { continue }
                // The calling thread may have the queue already, and would wait for itself.
                try context.refuseWaitInSave()
                if context.isOwn, context.queue?.isAwaited == true {
                    throw CoreError(
                        .invalidArgument,
                        "cannot close the stores on the queue of \(context.label.text) while other work waits for it; close them on "
                            + "another thread")
                }
                if isMain, !context.isOwn, let queue = context.queue {
                    try MainQueue.serve(whileWaitingFor: queue, context.label)
                }
                try context.waitForQueue()
            }
        }
        closing.closeMain()
        guard waits, closing.isAwaited else { return }
        if isMain {
            // Who was let in gives its work at once.
            while closing.isAwaited, try MainQueue.drain(timeoutMilliseconds: 20) > 0 {}
        } else if let context = liveContexts.first(where: { $0.queueType == .main }) {
            try context.waitForQueue()
        }
    }
}
