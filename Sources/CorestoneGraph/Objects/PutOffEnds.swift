import CPlatform

/// Ends of objects one after the other instead of one inside the other.
///
/// An object that ends lets go of those it leads to, which may end and let go of theirs: a list of a hundred thousand
/// objects would exhaust the stack. So what an ending object lets go of is put on a list of its thread, and the outermost
/// end works that list off.
final class PutOffEnds {
    private var waiting: [AnyObject] = []

    /// Runs `letGo`, which hands over what the ending object leads to.
    static func run(_ letGo: (PutOffEnds) -> Void) {
        guard let slot = platform_thread_slot() else { return }
        if let outer = slot.pointee {
            return letGo(Unmanaged<PutOffEnds>.fromOpaque(outer).takeUnretainedValue())
        }
        let list = PutOffEnds()
        slot.pointee = Unmanaged.passUnretained(list).toOpaque()
        letGo(list)
        while let last = list.waiting.popLast() { _ = last }
        slot.pointee = nil
    }

    func take(_ object: AnyObject) { waiting.append(object) }
}
