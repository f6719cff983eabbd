import CPlatform
import CorestoneGraph

/// The objects of a context whose last handles other threads released.
///
/// The context frees them at its next call. The list belongs to the context and not to its box, because a context can
/// have one box after another.
final class PendingReleases {
    /// The head of the list; see `platform_handle_push`.
    private let head = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)

    private init() { head.initialize(to: 0) }
    deinit { head.deallocate() }

    /// Returns the head of a context's list, which is created on first use. It is valid as long as the context exists.
    static func head(of context: Context) -> UnsafeMutablePointer<UInt64> {
        if let known = context.hostSlot.attachment as? PendingReleases { return known.head }
        let list = PendingReleases()
        context.hostSlot.attachment = list
        return list.head
    }

    /// Frees the objects of a context's list.
    static func drain(of context: Context) { HandleTable.drain(head(of: context)) }
}
