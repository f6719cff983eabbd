import CPlatform
import CorestoneValues

extension ManagedObject {
    /// Throws unless the calling thread may use the object now: the thread of its context's queue, or the one that made it while
    /// it is in no context. One compare.
    @inlinable
    package func checkQueue() throws { if !isOnQueue { try refuseThread() } }

    @usableFromInline
    func refuseThread() throws { if let context { try context.checkQueue() } else { try checkCreator() } }

    /// The same for an object outside of every context.
    package func checkCreator() throws {
        if platform_is_forked() { throw Context.forked() }
        if isGone { throw gone() }
        guard creator == platform_thread_id() else {
            throw CoreError(
                .wrongThread,
                "\(nameOfThread(platform_thread_id())) used a new \(entity.name) that \(nameOfThread(creator)) created; "
                    + "use it on that thread until it is inserted into a context", entity: entity.name)
        }
    }
}
