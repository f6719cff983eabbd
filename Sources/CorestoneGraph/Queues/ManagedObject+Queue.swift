import CPlatform
import CorestoneValues

extension ManagedObject {
    /// Throws if the calling thread must not use the object.
    ///
    /// The calling thread must own the context's queue. Without a context, it must be the thread that created the
    /// object. If the thread may use the object, the check is a single comparison.
    @inlinable
    package func checkQueue() throws { if !isOnQueue { try refuseThread() } }

    @usableFromInline
    func refuseThread() throws { if let context { try context.checkQueue() } else { try checkCreator() } }

    /// Throws if the calling thread did not create this object, which is not in a context.
    package func checkCreator() throws {
        if platform_is_forked() { throw Context.forked() }
        if isGone { throw detachedError() }
        guard creator == platform_thread_id() else {
            let user = nameOfThread(platform_thread_id())
            let remedy =
                threadIsAlive(creator)
                ? "use the object on \(nameOfThread(creator)) until it is inserted into a context"
                : "create the object on \(user) with cst_object_new (new, ManagedObject)"
            throw CoreError(
                .wrongThread,
                "\(user) used a new \(entity.name) that \(nameOfThread(creator)) created; \(remedy)",
                entity: entity.name, objectURI: objectID.uri)
        }
    }
}
