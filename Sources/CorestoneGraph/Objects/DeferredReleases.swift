import CPlatform

/// A list that defers the deallocation of objects, to avoid recursion.
///
/// The deallocation of an object releases the objects to which it refers, which may be deallocated in turn. For a chain
/// of a hundred thousand objects, this recursion would exhaust the stack. Released objects are therefore added to a
/// list of the thread, which the outermost deallocation empties.
final class DeferredReleases {
    private var pending: [AnyObject] = []

    /// Runs `body`, which adds the objects to which the deallocated object refers.
    static func run(_ body: (DeferredReleases) -> Void) {
        guard let slot = platform_thread_slot() else { return }
        if let outer = slot.pointee {
            return body(Unmanaged<DeferredReleases>.fromOpaque(outer).takeUnretainedValue())
        }
        let list = DeferredReleases()
        slot.pointee = Unmanaged.passUnretained(list).toOpaque()
        body(list)
        while let last = list.pending.popLast() { _ = last }
        slot.pointee = nil
    }

    func add(_ object: AnyObject) { pending.append(object) }
}
