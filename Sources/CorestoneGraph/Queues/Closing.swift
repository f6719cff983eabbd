import CPlatform
import CorestoneValues
import Glibc

/// The state of closing the stores of a coordinator.
///
/// The state includes the number of blocks that the main queue must still run for the coordinator's contexts. A private
/// queue rejects blocks itself. Contexts of the main queue do not have their own queue.
final class Closing: Sendable {
    private struct State {
        /// The ID of the thread that closes or has closed the stores; 0 if the stores are open.
        var closer: UInt64 = 0
        /// The number of blocks of the main queue that have not ended.
        var blockCount = 0
        /// Whether the stores were closed.
        var hasClosed = false
        /// Whether the main queue rejects new blocks. It accepts blocks while blocks of other queues may wait for it.
        var isMainClosed = false
    }

    private let state = Locked(State())

    /// The ID of the thread that closes or has closed the stores; 0 if the stores are open.
    var closer: UInt64 { state.withLock(\.closer) }
    var isAwaited: Bool { state.withLock { $0.blockCount > 0 } }

    /// Begins to close the stores.
    ///
    /// - Parameters:
    ///   - waits: Whether queued blocks run first. If not, the main queue rejects new blocks immediately.
    ///   - name: The name of the object to be closed, for messages.
    /// - Returns: False if the stores are already closed.
    /// - Throws: `.invalidHandle` while another call closes them.
    func begin(waits: Bool, _ name: String) throws -> Bool {
        try state.withLock { state in
            if state.hasClosed { return false }
            guard state.closer == 0 else {
                throw CoreError(
                    .invalidHandle,
                    "\(name) is already being closed by another call; close it again only if that call fails"
                )
            }
            (state.closer, state.isMainClosed) = (platform_thread_id(), !waits)
            return true
        }
    }
    /// Whether the stores are closed, so that no store can be added.
    var hasClosed: Bool { state.withLock(\.hasClosed) }
    func finish() { state.withLock { $0.hasClosed = true } }
    func closeMain() { state.withLock { $0.isMainClosed = true } }
    func end() { state.withLock { ($0.closer, $0.isMainClosed) = (0, false) } }

    /// Registers a block of the main queue.
    ///
    /// - Throws: `.invalidHandle` if the main queue rejects blocks, except on the thread that closes the stores.
    func enter(_ label: ContextLabel) throws {
        try state.withLock { state in
            if state.isMainClosed, state.closer != platform_thread_id() { throw label.refusal }
            state.blockCount += 1
        }
    }

    func leave() { state.withLock { $0.blockCount -= 1 } }
}

extension ContextLabel {
    var refusal: CoreError {
        CoreError(
            .invalidHandle,
            "\(text) does not accept work: its stores are closed or being closed; use the context before the "
                + "stores are closed, or open them with a new coordinator, container or document (cst_coordinator_new, "
                + "cst_container_new, cst_document_open)"
        )
    }
}

extension Coordinator {
    /// Runs `body`, which closes the stores, after the queues of all contexts have run their blocks.
    ///
    /// In the meantime, private queues accept blocks only from the calling thread; calls on other threads fail. The
    /// main queue accepts blocks until the other queues have finished, because their blocks may wait for the main
    /// queue. If the calling thread is the main thread, it drains the main queue in the meantime. Contexts that are
    /// confined to a thread do not have a queue, and the call does not wait for them.
    ///
    /// - Parameters:
    ///   - waits: Whether queued blocks run first. If not, some may run only after the stores are closed.
    ///   - name: The name of the object to be closed, as the beginning of a sentence.
    /// - Returns: False if the stores were already closed and `body` did not run.
    /// - Throws: The error of `body`.
    ///   `.invalidArgument` if the calling thread owns a queue for which other work waits, because this work could
    ///   never run.
    ///   After these errors, the queues accept blocks again.
    ///   `.invalidHandle` while another call closes the stores.
    package func closeDown(waits: Bool, called name: String, _ body: () throws -> Void) throws -> Bool {
        guard try closing.begin(waits: waits, name) else { return false }
        do {
            try closeQueues(waits)
            try body()
            closing.finish()
            // Wakes waiting readers of the history, which then find the coordinator closed.
            historySignals.send()
            // Removes stores that were added after `body` closed all stores.
            for store in stores { try? remove(store) }
            // The changes of these contexts are discarded, so their deallocation does not log them.
            if !waits { for context in liveContexts { context.allowLoss() } }
            return true
        } catch {
            closing.end()
            for context in liveContexts { context.queue?.open() }
            throw error
        }
    }

    /// Whether the stores are closed or being closed.
    package var isClosing: Bool { closing.closer != 0 }

    /// Closes the stores, as a container does. Idempotent.
    ///
    /// Contexts remain but can neither read stores nor save to them, and their queues reject blocks. No store can be
    /// added afterwards.
    ///
    /// - Parameter unsaved: The treatment of unsaved changes of the coordinator's contexts.
    /// - Throws: `.unsavedChanges` if contexts have changes that are neither saved nor discarded, with a child per
    ///   context that contains its name and its counts by entity.
    ///   Errors of saving.
    ///   `.invalidArgument` on the queue of a context for which other work waits.
    ///   The stores stay open after these errors.
    ///   `.invalidHandle` while another call closes the coordinator.
    public func close(_ unsaved: UnsavedChanges.Policy = .refuse) throws {
        try close(unsaved, called: "the coordinator")
    }

    /// Closes the stores.
    ///
    /// - Parameters:
    ///   - name: The name of the object to be closed, as the beginning of a sentence.
    ///   - willClose: Called when the stores can be closed, or are already closed.
    package func close(_ unsaved: UnsavedChanges.Policy, called name: String, _ willClose: () -> Void = {}) throws {
        let isFirst = try closeDown(waits: unsaved != .discard, called: name) {
            if unsaved == .save { try saveContexts() }
            if unsaved != .discard {
                let held = unsavedChanges
                if !held.isEmpty { throw UnsavedChanges.refusal(name, held) }
            }
            willClose()
            for store in stores { try remove(store) }
        }
        if !isFirst { willClose() }
    }

    private func closeQueues(_ waits: Bool) throws {
        let isMain = MainQueue.boundThread == platform_thread_id()
        // Blocks may create contexts, so the loop repeats until the queues of all contexts are closed.
        while true {
            let open = liveContexts.filter { $0.queue?.isClosed == false }
            if open.isEmpty { break }
            for context in open {
                context.queue?.close(but: closing.closer)
                guard waits else { continue }
                // A wait for a queue that the calling thread owns would be a deadlock.
                try context.refuseWaitInSave()
                if context.isOwn, context.queue?.isAwaited == true {
                    throw CoreError(
                        .invalidArgument,
                        "cannot close the stores on the queue of \(context.label.text) while other work waits for "
                            + "this queue; close the stores on another thread")
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
            // A thread that `enter` has counted queues its block immediately afterwards, so a short wait is enough.
            while closing.isAwaited, try MainQueue.drain(timeoutMilliseconds: 20) > 0 {}
        } else if let context = liveContexts.first(where: { $0.queueType == .main }) {
            try context.waitForQueue()
        }
    }
}
